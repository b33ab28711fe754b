/** A cluster that goes over to TLS between its nodes while it serves, node by node, step by step. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isAlive } from '../../src/cli/run-file.ts';
import { issued, newAuthority, writeFiles } from '../common/tls/made-certificates.ts';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';
import { connect } from './load.ts';

const PARTITIONS = 2;
const NODES = [0, 1, 2];

let running: TestCluster;

beforeAll(async () => {
  running = await startCluster({ partitions: PARTITIONS, flags: ['--no-restart'] });
  const tls = join(running.data, 'tls');
  const authority = newAuthority();
  writeFiles(tls, 'ca', authority);
  writeFiles(tls, 'stranger', issued({ by: newAuthority() }));
  for (const node of NODES) {
    writeFiles(tls, nameOf(node), issued({ name: nameOf(node), by: authority }));
  }
}, 300_000);

afterAll(() => running?.destroy(), 300_000);

function nameOf(node: number): string {
  return `datanode${node + 1}`;
}

/** Stops a node as an operator would, and starts it with another setting. */
async function restart(node: number, mode: string, pair = nameOf(node)): Promise<void> {
  const name = nameOf(node);
  const pid = running.pidOf(name);
  process.kill(pid, 'SIGTERM');
  await eventually(60_000, `${name} ends`, () => !isAlive(pid));
  const file = join(running.data, `${name}.yaml`);
  const [before = ''] = readFileSync(file, 'utf8').split('\ntls:');
  const files = `cert-file: tls/${pair}.crt, key-file: tls/${pair}.key, ca-file: tls/ca.crt`;
  writeFileSync(file, `${before}\ntls: { ${files}, nodes: ${mode} }\n`);
  running.startByHand(name);
}

/** Raises counters of every partition through one node, without haste. */
function countThrough(node: number, prefix: string) {
  const client = connect(running.gatewayPort(node));
  const keys = Array.from({ length: 8 }, (_, at) => `${prefix} ${at}`);
  const counted = keys.map(() => 0);
  const failures: unknown[] = [];
  let counting = true;
  const counts = (async () => {
    for (let at = 0; counting; at = (at + 1) % keys.length) {
      await client.incr(keys[at]!).then(
        (value) => (counted[at] = value),
        (failure) => failures.push(failure),
      );
      await pause(5);
    }
  })();
  return {
    /** What another node has of them, once some more were counted. */
    async end(other: number) {
      const before = counted[0]!;
      await eventually(60_000, 'it goes on', () => counted[0]! > before + 2 || failures.length > 0);
      counting = false;
      await counts;
      client.disconnect();
      const reader = connect(running.gatewayPort(other));
      const found = (await reader.mget(keys)).map(Number);
      reader.disconnect();
      return { failures, found, counted };
    },
  };
}

/** All replicas run, are led, and have what was committed at the first look: counting goes on meanwhile. */
async function whole(): Promise<void> {
  const first = new Map<number, number>();
  await eventually(60_000, 'all replicas are led and caught up', async () => {
    const { partitions } = await running.status();
    return (
      partitions.length === PARTITIONS &&
      partitions.every(({ partition, leader, commit, replicas }) => {
        const wanted = first.get(partition) ?? commit;
        if (leader === null || wanted === undefined) return false;
        first.set(partition, wanted);
        return replicas.every(({ state, match = 0 }) => state === 'running' && match >= wanted);
      })
    );
  });
}

async function metric(node: number, name: string): Promise<number> {
  const run = JSON.parse(readFileSync(join(running.data, 'run', `${nameOf(node)}.json`), 'utf8'));
  const page = await fetch(`http://127.0.0.1:${run.ports.http}/metrics`);
  const line = (await page.text()).split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}

/** All steps of all nodes, in order; nodes of two steps talk to each other on the way. */
const restarts = ['accept', 'dial', 'required']
  .flatMap((mode) => NODES.map((node) => ({ mode, node })))
  .slice(0, scale.tlsRestarts);

test('nobody notices more than a node that restarts, and nothing is lost', async () => {
  for (const [at, { mode, node }] of restarts.entries()) {
    const counter = countThrough((node + 1) % 3, `tls ${at}`);
    await restart(node, mode);
    await whole();
    const { failures, found, counted } = await counter.end((node + 2) % 3);
    expect(failures).toEqual([]);
    expect(found).toEqual(counted);
    expect(await metric(node, 'kvorum_peer_tls_refused_total')).toBe(0);
    // of the transport alone: clients come plain
    const left = await metric(node, 'kvorum_tls_certificate_days_left{file="cert-file"}');
    expect(left).toBeGreaterThan(80);
  }
}, 600_000);

test('a node with a certificate of another authority is kept out and told, and the others serve', async () => {
  // whichever the last step was, nodes dial TLS to others that take it
  await restart(2, 'required', 'stranger');
  await eventually(60_000, 'it is refused', async () => {
    return (await metric(0, 'kvorum_peer_tls_refused_total')) > 0;
  });
  const log = readFileSync(join(running.data, 'log', 'datanode1.log'), 'utf8');
  const told = log.split('\n').filter((line) => line.includes('from a peer is refused'));
  expect(told.length).toBe(1);
  expect(told[0]).toContain('not signed by an authority of tls.ca-file');
  const { failures, found, counted } = await countThrough(0, 'without the third').end(1);
  expect(failures).toEqual([]);
  expect(found).toEqual(counted);
}, 300_000);
