import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keys, type PartitionRecord } from '../../../src/meta/schema.ts';
import { ApiUnderTest, leaderRecord, namespaceRecord, nodeRecord, partitionRecord } from './api.ts';

let api: ApiUnderTest;

beforeEach(async () => {
  api = await new ApiUnderTest().start();
  await api.fill();
});

afterEach(() => api.stop());

/** The first partition's replica of n3 is to move to n4, and learns there. */
async function beginMove(): Promise<PartitionRecord> {
  const before = partitionRecord('default', 0, ['n1', 'n2', 'n3']);
  const arriving = { replica: 99, node: 'n4', incarnation: 'n4-1' };
  const wanted = { ...before, replicas: [...before.replicas.slice(0, 2), arriving], epoch: 2 };
  await api.put(keys.node('n4'), nodeRecord('n4', { capacity: 8, build: '9' }));
  await api.put(keys.partition('default', 0), wanted);
  const membership = { epoch: 1, voters: [1, 2, 3], learners: [99] };
  await api.put(keys.leader('default', 0), leaderRecord(wanted, 'n1', membership));
  await api.seen();
  return wanted;
}

test('/v1/cluster tells it all in one look', async () => {
  const control = {
    version: 1,
    stableNodes: 3,
    upgradeSinceMs: 77,
    balance: { enabled: false, window: { fromMinute: 1_320, toMinute: 5 } },
  };
  await api.put(keys.control, control);
  await api.put(keys.cluster, { version: 1, clusterId: 'abc', createdMs: 1 });
  await api.seen();
  expect((await api.get('/v1/cluster')).body).toMatchObject({
    clusterId: 'abc',
    placedriver: 'pd1',
    master: null,
    staleMs: null,
    stability: {
      frozen: expect.stringMatching(/^upgrade mode is on; end it/),
      unbalanced: expect.stringMatching(/^upgrade mode is on/),
    },
    nodes: { alive: 3, stable: 3, draining: 0 },
    partitions: { total: 2, led: 2, settled: 2 },
    balance: { enabled: false, window: { from: '22:00', to: '00:05' } },
    upgrade: { on: true, sinceMs: 77 },
  });
});

test('/v1/nodes tells what nodes carry, and of those that are away', async () => {
  await api.put(keys.nodeState('n9'), { version: 1, node: 'n9', firstSeenMs: 1, lostSinceMs: 5 });
  const load = { keys: 7, diskBytes: 8, memoryBytes: 9 };
  await api.put(keys.load('n1'), { version: 1, node: 'n1', replicas: 2, leaders: 2, ...load });
  await api.seen();
  const { nodes } = (await api.get('/v1/nodes')).body;
  expect(nodes.map(({ name }: { name: string }) => name)).toEqual(['n1', 'n2', 'n3', 'n9']);
  expect(nodes[0]).toMatchObject({ alive: true, replicas: 2, leaders: 2, load, draining: null });
  expect(nodes[3]).toMatchObject({ alive: false, lostSinceMs: 5, replicas: 0 });
  expect((await api.get('/v1/nodes/n2')).body).toMatchObject({ name: 'n2', leaders: 0 });
  expect(await api.get('/v1/nodes/n7')).toMatchObject({
    code: 404,
    body: { message: 'no node n7' },
  });
});

test('/v1/namespaces goes through the partitions once, however many namespaces there are', async () => {
  for (const name of ['a', 'b', 'c']) await api.put(keys.namespace(name), namespaceRecord(name));
  await api.put(keys.partition('b', 0), partitionRecord('b', 0, ['n1']));
  await api.seen();
  const looks = vi.spyOn(api.view.picture, 'shownPartitions');
  const { namespaces } = (await api.get('/v1/namespaces')).body;
  expect(looks).toHaveBeenCalledTimes(1);
  const told = namespaces.map(({ name, settled }: Record<string, unknown>) => [name, settled]);
  expect(told).toEqual([...['a', 'b', 'c'].map((name) => [name, 0]), ['default', 2]]);
});

test('where clients are told to go is told, and where /query sends them', async () => {
  const announce = { host: 'kv.example.org', gatewayPort: 17, followerPort: 19 };
  await api.put(keys.node('n1'), nodeRecord('n1', { announce }));
  await api.seen();
  const announced = { ...announce, clusterPort: 7_001 };
  const { address } = (await api.get('/v1/nodes/n1')).body;
  expect(address).toMatchObject({ host: '10.0.0.1', followerPort: 8_001, announced });
  const [node] = (await api.get('/datanodes')).body.nodes;
  const zan = { broadcast_address: 'kv.example.org', redis_port: '17', follower_port: '19' };
  expect(node).toMatchObject(zan);
});

test('a drain shows how far it is and when it ends', async () => {
  const nowMs = Date.now();
  const draining = { sinceMs: nowMs - 10_000, replicas: 8 };
  await api.put(keys.nodeState('n2'), { version: 1, node: 'n2', firstSeenMs: 1, draining });
  await api.seen();
  const shown = (await api.get('/v1/nodes/n2')).body.draining;
  expect(shown).toMatchObject({ replicas: 8, left: 2, progress: 0.75 });
  expect(shown.etaMs).toBeGreaterThan(3_000); // six in ten seconds: two in a good three
  expect(shown.etaMs).toBeLessThan(6_000);
  const [operation] = (await api.get('/v1/operations')).body.operations;
  expect(operation).toMatchObject({ kind: 'drain', node: 'n2', progress: 0.75 });
  expect((await api.get('/v1/cluster')).body.nodes.draining).toBe(1);
});

test('a drain is not over while a group still counts on what the node holds', async () => {
  const draining = { sinceMs: 1, replicas: 1 };
  await api.put(keys.nodeState('n3'), { version: 1, node: 'n3', firstSeenMs: 1, draining });
  const record = partitionRecord('default', 1, ['n1', 'n2', 'n4']);
  await api.put(keys.partition('default', 1), record);
  await api.put(keys.leader('default', 1), leaderRecord(record));
  await beginMove(); // of the only replica on n3 that is left
  const shown = async () => (await api.get('/v1/nodes/n3')).body;
  expect(await shown()).toMatchObject({ replicas: 0, draining: { left: 1, progress: 0 } });
  const operations = async () => (await api.get('/v1/operations')).body.operations;
  expect(await operations()).toMatchObject([{ kind: 'drain', node: 'n3' }, { kind: 'move' }]);
  const moved = JSON.parse((await api.store.get(keys.partition('default', 0)))!.value);
  await api.put(keys.leader('default', 0), leaderRecord(moved));
  await api.seen();
  expect(await shown()).toMatchObject({ draining: { left: 0, progress: 1, etaMs: 0 } });
  expect(await operations()).toEqual([]);
});

test('a drain tells which groups cannot do without the node, and what to do about it', async () => {
  const draining = { sinceMs: 1, replicas: 2 };
  await api.put(keys.nodeState('n3'), { version: 1, node: 'n3', firstSeenMs: 1, draining });
  await api.seen();
  const waitsFor = async () => (await api.get('/v1/nodes/n3')).body.draining.waitsFor;
  expect(await waitsFor()).toBeNull(); // it only has nowhere to go yet
  await api.store.transaction([], [{ type: 'delete', key: keys.node('n2') }]);
  await api.seen();
  expect(await waitsFor()).toBe(
    'default/0, default/1 cannot move: too few of its other replicas are on living nodes; start n2',
  );
  const record = partitionRecord('default', 1, ['n1', 'n2', 'n3']);
  await api.put(keys.leader('default', 1), { ...leaderRecord(record), resigned: true });
  await api.seen();
  expect(await waitsFor()).toMatch(
    /living nodes; start n2; default\/1 cannot move: nobody leads; /,
  );
  await api.store.transaction([], [{ type: 'delete', key: keys.node('n1') }]);
  await api.seen();
  const told = 'default/0, default/1 cannot move: nobody leads; start n1, n2';
  expect(await waitsFor()).toBe(told);
  const { nodes } = (await api.get('/v1/nodes')).body;
  expect(nodes.at(-1)).toMatchObject({ name: 'n3', draining: { waitsFor: told } });
});

test('a drain waits for no group that nobody leads and that has left the node', async () => {
  const draining = { sinceMs: 1, replicas: 2 };
  await api.put(keys.nodeState('n4'), { version: 1, node: 'n4', firstSeenMs: 1, draining });
  const wanted = await beginMove();
  const leader = leaderRecord(wanted, 'n1', { epoch: 1, voters: [1, 2, 3], learners: [99] });
  const waitsFor = async () => (await api.get('/v1/nodes/n4')).body.draining.waitsFor;
  expect(await waitsFor()).toBeNull(); // it is under way
  await api.put(keys.leader('default', 0), { ...leader, resigned: true });
  await api.put(keys.leader('default', 1), { ...leader, partition: 1, resigned: true });
  await api.seen();
  expect(await waitsFor()).toBe('default/0 cannot move: nobody leads');
});

test('a partition shows what is wanted, what is, and whether that is the same', async () => {
  await beginMove();
  const { body } = await api.get('/v1/namespaces/default/partitions/0');
  expect(body).toMatchObject({
    slots: [0, 8_191],
    epoch: 2,
    leader: { node: 'n1', replica: 1, term: 2 },
    actual: { epoch: 1, voters: [1, 2, 3], learners: [99], joint: false },
    settled: false,
  });
  expect(body.wanted.map(({ node }: { node: string }) => node)).toEqual(['n1', 'n2', 'n4']);
  const all = (await api.get('/v1/namespaces/default/partitions')).body.partitions;
  expect(all.map(({ settled }: { settled: boolean }) => settled)).toEqual([false, true]);
  const missing = await api.get('/v1/namespaces/default/partitions/2');
  expect(missing).toMatchObject({ code: 404, body: { message: 'no partition default/2' } });
});

test.each([
  ['lost its quorum', true],
  ['is on a node that is away', false],
])('a partition whose leader %s has none, and is not settled', async (_what, resigned) => {
  const record = partitionRecord('default', 0, ['n1', 'n2', 'n3']);
  const other = partitionRecord('default', 1, ['n1', 'n2', 'n3']);
  await api.put(keys.leader('default', 1), leaderRecord(other, 'n2'));
  if (resigned) {
    await api.put(keys.leader('default', 0), { ...leaderRecord(record), resigned: true as const });
  } else await api.store.transaction([], [{ type: 'delete', key: keys.node('n1') }]);
  await api.seen();
  const { body } = await api.get('/v1/namespaces/default/partitions/0');
  expect(body).toMatchObject({ leader: null, settled: false, actual: { voters: [1, 2, 3] } });
  expect((await api.get('/v1/namespaces/default')).body).toMatchObject({ led: 1, settled: 1 });
  const { partitions } = (await api.get('/v1/cluster')).body;
  expect(partitions).toEqual({ total: 2, led: 1, settled: 1 });
  expect((await api.get('/cluster/stats')).body).toMatchObject({ stable: false });
  const routed = (await api.get('/query/default')).body.partitions;
  expect(routed['0'].leader.node_id).toBe('');
  expect((await api.get('/v1/nodes')).body.nodes).toMatchObject(
    resigned ? [{ leaders: 0 }, { leaders: 1 }, { leaders: 0 }] : [{}, { leaders: 1 }, {}],
  );
});

test('a replica that stopped after a fault is shown at its partition and its node', async () => {
  const load = { replicas: 2, leaders: 0, keys: 0, diskBytes: 1, memoryBytes: 1, stopped: [13] };
  await api.put(keys.load('n3'), { version: 1, node: 'n3', ...load });
  await api.seen();
  const { partitions } = (await api.get('/v1/namespaces/default/partitions')).body;
  expect(partitions).toMatchObject([
    { settled: true, stopped: [] },
    { settled: true, stopped: [{ node: 'n3', replica: 13 }] },
  ]);
  const { nodes } = (await api.get('/v1/nodes')).body;
  expect(nodes).toMatchObject([{ stopped: 0 }, { stopped: 0 }, { replicas: 2, stopped: 1 }]);
});

test('/v1/operations tells moves, creations and deletions', async () => {
  expect((await api.get('/v1/operations')).body).toEqual({ operations: [] });
  await beginMove();
  await api.put(keys.namespace('a'), namespaceRecord('a', { ready: false }));
  await api.put(keys.partition('a', 0), partitionRecord('a', 0, ['n1']));
  const deleting = { ready: false, deleting: true };
  await api.put(keys.namespace('b'), namespaceRecord('b', deleting));
  await api.seen();
  const { operations } = (await api.get('/v1/operations')).body;
  expect(operations).toMatchObject([
    { kind: 'creation', namespace: 'a', progress: 0.5 },
    { kind: 'deletion', namespace: 'b', progress: 1 },
    { kind: 'move', namespace: 'default', partition: 0, from: 'n3', to: 'n4', phase: 'learning' },
  ]);
  const { namespaces } = (await api.get('/v1/namespaces')).body;
  expect(namespaces).toMatchObject([
    { name: 'a', state: 'creating' },
    { name: 'b', state: 'deleting' },
    { name: 'default', state: 'ready', led: 2, settled: 1 },
  ]);
  expect((await api.get('/v1/namespaces/c')).code).toBe(404);
});

test('/v1/operations tells how far a snapshot is, and when it will be there', async () => {
  const wanted = await beginMove();
  const membership = { epoch: 1, voters: [1, 2, 3], learners: [99] };
  const record = leaderRecord(wanted, 'n1', membership);
  const catchingUp = [{ replica: 99, match: 0, last: 50, snapshot: 0.25 }];
  await api.put(keys.leader('default', 0), { ...record, catchingUp });
  await api.seen();
  const [operation] = (await api.get('/v1/operations')).body.operations;
  expect(operation).toMatchObject({ kind: 'move', phase: 'learning', progress: 0.25 });
});

test('/v1/moves/planned tells what would move before it does', async () => {
  expect((await api.get('/v1/moves/planned')).body.moves).toEqual([]);
  const draining = { sinceMs: 1, replicas: 2 };
  await api.put(keys.nodeState('n2'), { version: 1, node: 'n2', firstSeenMs: 1, draining });
  await api.put(keys.node('n4'), nodeRecord('n4'));
  await api.put(keys.control, { version: 1, stableNodes: 3, balance: { enabled: true } } as never);
  await api.seen();
  const moves = [0, 1].map((partition) => ({
    ...{ namespace: 'default', partition, from: 'n2', to: 'n4', kind: 'drain' },
    ...{ why: 'node n2 is drained', waitsFor: null },
  }));
  // on a busy machine the first plan may have been long enough to be told once more
  await expect
    .poll(async () => (await api.get('/v1/moves/planned')).body)
    .toEqual({ frozen: null, unbalanced: expect.stringMatching(/drained: n2/), moves });
});

test('/v1/events tells what happened since, in order', async () => {
  await expect
    .poll(async () => (await api.get('/v1/events')).body.revision)
    .toBe(api.view.revision);
  const { body: before } = await api.get('/v1/events');
  const events = async (since: number) => (await api.get(`/v1/events?since=${since}`)).body.events;
  await beginMove();
  const types = async () =>
    (await events(before.revision)).map(({ type }: { type: string }) => type);
  await expect.poll(types).toEqual(['node-came', 'move-began']);
  const told = (await api.get('/v1/events')).body;
  expect(told.completeSince).toBeLessThanOrEqual(before.revision);
  await api.store.delete(keys.node('n4'));
  await expect
    .poll(async () => events(told.revision))
    .toMatchObject([{ type: 'node-went', node: 'n4' }]);
  expect(await events(Number.MAX_SAFE_INTEGER)).toEqual([]);
});
