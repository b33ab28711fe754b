/** Streams and kept scripts on a cluster of real processes: a replica filled anew, and restarts. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { areSettled, transferLead } from './ask.ts';
import { allLed, eventually, startCluster, type TestCluster } from './cluster.ts';

const ENTRIES = 3_000;
const BODY = "return redis.call('XLEN', KEYS[1])";
const NODES = ['datanode1', 'datanode2', 'datanode3'];

let cluster: TestCluster;
let sha = '';
const clients: Redis[] = [];

beforeAll(async () => {
  cluster = await startCluster({ partitions: 1, flags: ['--no-restart'] });
  await allLed(cluster, 1);
}, 300_000);

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await cluster?.destroy();
}, 300_000);

function connect(node: number): Redis {
  const port = cluster.gatewayPort(node);
  const client = new Redis({ port, retryStrategy: () => 100, maxRetriesPerRequest: null });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

/** Entries, some removed, and two groups of which one has read and acknowledged some. */
async function fill(client: Redis): Promise<void> {
  const adds = client.pipeline();
  for (let at = 1; at <= ENTRIES; at++) adds.xadd('s', `${at}-0`, 'at', at, 'text', `no ${at}`);
  await adds.exec();
  await client.xgroup('CREATE', 's', 'workers', '0');
  await client.xgroup('CREATE', 's', 'idle', '$');
  for (const name of ['ann', 'bob']) {
    await client.xreadgroup('GROUP', 'workers', name, 'COUNT', 400, 'STREAMS', 's', '>');
  }
  await client.xack('s', 'workers', '1-0', '2-0', '500-0');
  await client.xdel('s', '1-0', '700-0', '2000-0');
  await client.xtrim('s', 'MAXLEN', '2500');
  await client.xclaim('s', 'workers', 'cid', 0, '600-0', '700-0');
  await client.xgroup('CREATE', 'empty', 'nobody', '0', 'MKSTREAM');
  sha = (await client.script('LOAD', BODY)) as string;
}

async function stateAt(client: Redis): Promise<unknown> {
  const full = (key: string) => client.call('XINFO', 'STREAM', key, 'FULL', 'COUNT', '0');
  return [await full('s'), await full('empty'), await client.script('EXISTS', sha)];
}

async function idsOn(node: string): Promise<number[]> {
  const [partition] = (await cluster.status()).partitions;
  return partition!.replicas.filter((replica) => replica.node === node).map(({ id }) => id);
}

test('a replica that is filled anew has streams, groups and scripts as they were', async () => {
  const client = connect(0);
  await fill(client);
  const before = await stateAt(client);
  expect(JSON.stringify(before)).toContain('"cid"');
  const old = await idsOn('datanode3');
  await cluster.killAndWait('datanode3');
  rmSync(join(cluster.data, 'datanode3'), { recursive: true });
  cluster.startByHand('datanode3');
  await eventually(120_000, 'datanode3 has a new replica', async () => {
    const [partition] = (await cluster.status()).partitions;
    const own = partition?.replicas.find(({ node }) => node === 'datanode3');
    const isNew = own !== undefined && !old.includes(own.id) && own.role !== 'learner';
    return isNew && own.state === 'running' && (await areSettled(cluster.ports.http));
  });
  expect(readFileSync(join(cluster.data, 'log', 'datanode3.log'), 'utf8')).toContain(
    'snapshot installed',
  );
  await eventually(60_000, 'datanode3 leads', async () => {
    const [partition] = (await cluster.status()).partitions;
    if (partition?.leader === 'datanode3') return true;
    await transferLead(cluster.ports.http, ['default', 0], 'datanode3').catch(() => {});
    return false;
  });
  const other = connect(2);
  expect(await stateAt(other)).toEqual(before);
  expect(await other.evalsha(sha, 1, 's')).toBe(2_500);
  // it goes on where it was
  expect(await other.xadd('s', `${ENTRIES}-*`, 'a', 'b')).toBe(`${ENTRIES}-1`);
  const next = await other.xreadgroup('GROUP', 'workers', 'ann', 'COUNT', 1, 'STREAMS', 's', '>');
  expect(JSON.stringify(next)).toContain('"801-0"');
}, 300_000);

test('all of it is there after all nodes were killed', async () => {
  const before = await stateAt(connect(1));
  await cluster.killAndWait(...NODES);
  for (const node of NODES) cluster.startByHand(node);
  await allLed(cluster, 1);
  const client = connect(1);
  expect(await stateAt(client)).toEqual(before);
  expect(await client.evalsha(sha, 1, 's')).toBe(2_501);
}, 300_000);

test('every command of streams, from a client of a gateway', async () => {
  const client = connect(0);
  const ask = (line: string) => {
    const [name, ...rest] = line.split(' ') as [string, ...string[]];
    return client.call(name, ...rest);
  };
  const day: readonly (readonly [string, unknown])[] = [
    ['XADD d 1-1 a b', '1-1'],
    ['XADD d 1-* c d', '1-2'],
    ['XADD d MAXLEN ~ 1000 2-1 e f', '2-1'],
    ['XLEN d', 3],
    [
      'XRANGE d (1-1 +',
      [
        ['1-2', ['c', 'd']],
        ['2-1', ['e', 'f']],
      ],
    ],
    ['XREVRANGE d + - COUNT 1', [['2-1', ['e', 'f']]]],
    ['XGROUP CREATE d g 0', 'OK'],
    ['XGROUP CREATECONSUMER d g ann', 1],
    ['XACK d g 1-1', 0],
    ['XCLAIM d g bob 0 1-1 JUSTID', []],
    ['XAUTOCLAIM d g bob 0 - COUNT 1', ['0-0', [], []]],
    ['XPENDING d g', [0, null, null, null]],
    ['XGROUP SETID d g 1-1', 'OK'],
    ['XGROUP DELCONSUMER d g ann', 0],
    ['XDEL d 1-1', 1],
    ['XTRIM d MAXLEN 1', 1],
    ['XSETID d 9-9', 'OK'],
    ['XGROUP DESTROY d g', 1],
  ];
  for (const [line, reply] of day) expect([line, await ask(line)]).toEqual([line, reply]);
  await ask('XGROUP CREATE d again 0');
  const done = await client
    .multi()
    .xread('COUNT', 1, 'STREAMS', 'd', '0')
    .xreadgroup('GROUP', 'again', 'ann', 'STREAMS', 'd', '>')
    .exec();
  expect(done!.map(([failure]) => failure)).toEqual([null, null]);
  expect(JSON.stringify(done![1])).toContain('"2-1"');
  expect(JSON.stringify(await ask('XINFO GROUPS d'))).toContain('"again"');
  expect(JSON.stringify(await ask('XINFO CONSUMERS d again'))).toContain('"ann"');
  expect(JSON.stringify(await ask('XINFO STREAM d'))).toContain('"9-9"');
  for (const name of ['XINFO', 'XGROUP']) expect(await ask(`${name} HELP`)).not.toEqual([]);
}, 60_000);
