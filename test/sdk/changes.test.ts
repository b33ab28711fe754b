/** What tells the state of a client: changes as an iterable and as events, and its batches. */
import { tracingChannel } from 'node:diagnostics_channel';
import { afterEach, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { ChangeFeed } from '../../src/sdk/changes.ts';
import { Client, type ClientChange, type ClientOptions } from '../../src/sdk/index.ts';
import { bulk, Peer, type ScriptedTable, scriptedPlacedriver } from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function scene(options: ClientOptions = {}) {
  const peers: Peer[] = [];
  for (let at = 0; at < 2; at++) {
    const peer = await Peer.start(([name]) => (name === 'GET' ? bulk('x') : undefined));
    ends.push(() => peer.stop());
    peers.push(peer);
  }
  const table: ScriptedTable = {
    epoch: 1,
    nodes: peers.map(({ port }, at) => ({ name: `n${at}`, port })),
    partitions: [
      { leader: 'n0', replicas: ['n0', 'n1'] },
      { leader: 'n1', replicas: ['n0', 'n1'] },
    ],
  };
  const { get } = scriptedPlacedriver(table);
  const client = new Client(
    { placedrivers: ['p:1'], sessions: false, lookupMs: 20, lazyConnect: true, ...options },
    { get },
  );
  client.on('error', () => {});
  ends.push(() => client.disconnect());
  return { client, peers, table };
}

test('a walk tells what the client goes through, from the present to the end', async () => {
  const { client, peers, table } = await scene();
  const told: ClientChange[] = [];
  const events: ClientChange[] = [];
  client.on('change', (change) => events.push(change));
  const walk = (async () => {
    for await (const change of client.changes()) told.push(change);
  })();
  await client.get('k');
  const { port } = peers[client.partitionOf('k')!]!;
  table.partitions[0]!.leader = 'n1';
  table.nodes.shift();
  table.epoch = 2;
  await expect.poll(() => told.some(({ kind }) => kind === 'leader')).toBe(true);
  await client.get('k');
  for (const socket of peers[1]!.sockets) socket.destroy();
  await expect.poll(() => client.status).toBe('reconnecting');
  await client.close();
  await walk;
  const node = (at: number) => ({ name: `n${at}`, host: '127.0.0.1', port: peers[at]!.port });
  expect(told.slice(0, 7)).toEqual([
    { kind: 'status', status: 'wait' },
    { kind: 'status', status: 'connecting' },
    { kind: 'table', epoch: 1, partitions: 2 },
    { kind: 'node', state: 'added', node: node(0) },
    { kind: 'node', state: 'added', node: node(1) },
    { kind: 'status', status: 'ready' },
    { kind: 'connection', state: 'connected', host: '127.0.0.1', port },
  ]);
  expect(told).toContainEqual({ kind: 'table', epoch: 2, partitions: 2 });
  expect(told).toContainEqual({ kind: 'node', state: 'removed', node: node(0) });
  expect(told).toContainEqual({ kind: 'leader', partition: 0, from: 'n0', to: 'n1' });
  expect(told).toContainEqual(expect.objectContaining({ kind: 'connection', state: 'lost' }));
  expect(told).toContainEqual({ kind: 'status', status: 'reconnecting' });
  expect(told.at(-1)).toEqual({ kind: 'status', status: 'end' });
  expect(events).toEqual(told.slice(1));
  // One that begins late is told the present, and that it is over.
  const late: ClientChange[] = [];
  for await (const change of client.changes()) late.push(change);
  expect(late.map(({ kind }) => kind)).toEqual(['status', 'table', 'node']);
});

test('a signal ends a walk, and so does leaving it', async () => {
  const { client } = await scene();
  const abort = new AbortController();
  let count = 0;
  const walk = (async () => {
    for await (const _ of client.changes({ signal: abort.signal })) count++;
  })();
  await client.connect();
  await expect.poll(() => count).toBeGreaterThan(3);
  abort.abort();
  await walk;
  for await (const change of client.changes()) {
    expect(change).toEqual({ kind: 'status', status: 'ready' });
    break;
  }
});

test('a reader that lags costs so much and no more, and is told what it lost', async () => {
  const feed = new ChangeFeed();
  const walk = feed.read(() => [], undefined);
  const table = (epoch: number): ClientChange => ({ kind: 'table', epoch, partitions: 1 });
  const first = walk.next();
  feed.tell(table(0));
  expect((await first).value).toEqual(table(0));
  const many = limits.sdkChangesMax + 500;
  for (let epoch = 1; epoch <= many; epoch++) feed.tell(table(epoch));
  expect((await walk.next()).value).toEqual({ kind: 'dropped', count: 500 });
  expect((await walk.next()).value).toEqual(table(501));
  feed.end();
  let rest = 0;
  for await (const change of walk) {
    rest++;
    if (rest === limits.sdkChangesMax - 1) expect(change).toEqual(table(many));
  }
  expect(rest).toBe(limits.sdkChangesMax - 1);
  expect(feed.readers).toBe(0);
});

test('the batch channel: how many, where, how long, how many failed', async () => {
  const { client } = await scene();
  const told: unknown[] = [];
  const hear = (message: unknown) => void told.push(message);
  const channel = tracingChannel('kvorum:batch');
  channel.asyncEnd.subscribe(hear);
  await client.pipeline().get('a').get('{a}b').call('GET', null).exec();
  await client.pipeline().get('a').get('b').get('c').get('d').exec();
  await client
    .multi()
    .get('a')
    .exec()
    .catch(() => {});
  channel.asyncEnd.unsubscribe(hear);
  const common = { namespace: 'default', durationMs: expect.any(Number) };
  const partition = client.partitionOf('a');
  expect(told).toEqual([
    { ...common, kind: 'pipeline', commands: 3, failed: 1, partition, result: expect.anything() },
    { ...common, kind: 'pipeline', commands: 4, failed: 0, result: expect.anything() },
    {
      ...common,
      kind: 'transaction',
      commands: 1,
      partition,
      attempts: 1,
      error: expect.anything(),
    },
  ]);
});
