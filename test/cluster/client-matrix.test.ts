/**
 * Unmodified cluster clients while leaders move: none may see an error reply. What a library does
 * with requests on a connection that ended with its process is counted apart. With
 * KVORUM_CLIENTS_DOC=1 the table of docs/clients.md is written anew from what was seen.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { transferLead } from './ask.ts';
import { clientsPage, type Row } from './clients-page.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';
import { type MatrixClient, openClients } from './matrix-clients.ts';

const PARTITIONS = 6;
/** Answers of each client after an event. */
const GOES_ON = 20;
const NODES = ['datanode1', 'datanode2', 'datanode3'];
const run = promisify(execFile);

let cluster: TestCluster;
let clients: MatrixClient[] = [];
const rows: Row[] = [];

beforeAll(async () => {
  cluster = await startCluster({ partitions: PARTITIONS });
  await ledAsWanted();
  clients = await openClients(cluster);
}, 300_000);

afterAll(async () => {
  await Promise.all(clients.map((client) => client.stop()));
  if (process.env['KVORUM_CLIENTS_DOC'] === '1') {
    const tool = (await run('redis-cli', ['--version'])).stdout.trim();
    writeFileSync(new URL('../../docs/clients.md', import.meta.url), clientsPage(rows, tool));
  }
  await cluster?.destroy();
}, 300_000);

/** Every partition is led by the first replica of its record, and all three are there. */
async function ledAsWanted(): Promise<void> {
  await eventually(60_000, 'leaders are where they should be', async () => {
    const { partitions } = await cluster.status();
    return (
      partitions.length === PARTITIONS &&
      partitions.every(({ leader, replicas }) => leader === replicas[0]!.node) &&
      new Set(partitions.map(({ leader }) => leader)).size === NODES.length
    );
  });
}

/** Runs `event` under load; notes what each client of `watched` saw meanwhile, and a while after. */
async function during(
  event: string,
  watched: readonly MatrixClient[],
  happen: () => Promise<void>,
): Promise<void> {
  const before = watched.map(({ tally }) => marksOf(tally));
  await happen();
  await pause(scale.clientMatrixMs);
  const after = watched.map(({ tally }) => marksOf(tally).requests);
  await eventually(60_000, `all clients go on after ${event}`, () =>
    watched.every(({ tally }, at) => marksOf(tally).requests >= after[at]! + GOES_ON),
  );
  for (const [at, { name, door, tally }] of watched.entries()) {
    const from = before[at]!;
    rows.push({
      event,
      ...{ name, door },
      requests: tally.reads + tally.writes - from.requests,
      errors: tally.errors.slice(from.errors),
      unknown: tally.unknown.slice(from.unknown),
      lost: tally.lost.slice(from.lost),
    });
  }
}

function marksOf({ reads, writes, errors, unknown, lost }: MatrixClient['tally']) {
  const counts = { errors: errors.length, unknown: unknown.length, lost: lost.length };
  return { requests: reads + writes, ...counts };
}

/** No client saw an error, or was told of an unknown outcome; those of the gateway lost nothing. */
function expectNoErrors(event: string): void {
  const seen = rows.filter((row) => row.event === event);
  expect(seen.length).toBeGreaterThan(0);
  for (const { name, door, errors, unknown, lost } of seen) {
    const told = { name, door, errors, unknown };
    expect.soft(told).toEqual({ name, door, errors: [], unknown: [] });
    if (door === 'gateway') expect.soft({ name, lost }).toEqual({ name, lost: [] });
  }
}

const transfer = (partition: number, to: string) =>
  transferLead(cluster.ports.http, ['default', partition], to);

/** Ends the process; its supervisor starts it again. */
async function end(name: string, signal: NodeJS.Signals): Promise<void> {
  const pid = cluster.pidOf(name);
  process.kill(pid, signal);
  await eventually(60_000, `${name} is back`, () => cluster.pidOf(name) !== pid);
  await ledAsWanted();
}

test('a leader is transferred under load', async () => {
  const event = 'leader transfers';
  await during(event, clients, async () => {
    const { partitions } = await cluster.status();
    for (const { partition, leader } of partitions) {
      await transfer(partition, NODES[(NODES.indexOf(leader!) + 1) % NODES.length]!);
    }
    await ledAsWanted();
  });
  expectNoErrors(event);
}, 300_000);

test('a leader is killed', async () => {
  const event = 'a leader is killed';
  await during(event, clients, () => end('datanode3', 'SIGKILL'));
  expectNoErrors(event);
}, 300_000);

test('all nodes are restarted, one after the other', async () => {
  const event = 'rolling restart';
  const gateways = clients.filter(({ door }) => door === 'gateway');
  const others = clients.filter(({ door }) => door === 'cluster');
  await during(event, others, async () => {
    // the gateway of these clients is the first node's, which comes last
    await during(event, gateways, async () => {
      await end('datanode2', 'SIGTERM');
      await end('datanode3', 'SIGTERM');
    });
    await Promise.all(gateways.map((client) => client.stop()));
    await end('datanode1', 'SIGTERM');
  });
  expectNoErrors(event);
}, 300_000);

test('redis-cli --cluster is content afterwards', async () => {
  const place = `127.0.0.1:${cluster.clusterPort(0)}`;
  expect((await run('redis-cli', ['--cluster', 'info', place])).stdout).toContain('in 3 masters');
  const { stdout } = await run('redis-cli', ['--cluster', 'check', place]);
  expect(stdout).toContain('[OK] All nodes agree about slots configuration.');
  expect(stdout).toContain('[OK] All 16384 slots covered.');
});

test('clients that read from replicas were answered by followers', async () => {
  let reads = 0;
  for (const node of [0, 1, 2]) {
    const port = String(cluster.followerPort(node));
    const { stdout } = await run('redis-cli', ['-p', port, 'INFO', 'commandstats']);
    reads += Number(/cmdstat_readonly:calls=(\d+)/.exec(stdout)?.[1] ?? 0);
    expect((await run('redis-cli', ['-p', port, 'ROLE'])).stdout).toMatch(/^slave\n/);
  }
  expect(reads).toBeGreaterThan(0);
});
