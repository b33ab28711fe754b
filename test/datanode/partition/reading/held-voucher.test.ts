/** A replica that is held acknowledges nothing: its node vouches for no leader, nor answers from it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { decodeBatch, encodeResults } from '../../../../src/datanode/routing/request-codec.ts';
import { MutableRouteTable } from '../../../../src/datanode/routing/route-table.ts';
import { Router } from '../../../../src/datanode/routing/router.ts';
import { company } from '../../routing/company.ts';
import { batchOf, Trio } from '../trio.ts';

let trio: Trio;

beforeEach(async () => {
  // so slow that who is cut off leads on for as long as a test takes
  trio = new Trio({ tickMs: 300 });
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
});

afterEach(async () => {
  await trio.destroy();
});

const former = () => trio.hosts.get('n3')!.local('default', 0, 1);

/** Of n3, whose table names `leader` as that of group 1; `vouched` is who vouched for its reads. */
function routerOf(leader: { readonly node: string; readonly term: number }) {
  const vouched: (number | undefined)[] = [];
  const routes = new MutableRouteTable();
  routes.setPartitions([trio.offline.get('n3') ?? trio.record]);
  routes.setLeader(1, leader.node, leader.term);
  const router = new Router({
    ...{ node: 'n3', bootId: 'b', clock: systemClock, routes },
    ...company(),
    local: former,
    holds: (group) => trio.hosts.get('n3')!.hold.holds(group),
    transport: () => ({
      isReachable: () => true,
      request: async (node, body) => {
        const batch = decodeBatch(body, systemClock.monotonicMs());
        vouched.push(batch.vouchedBy);
        const leading = trio.hosts.get(node)!.local('default', 0)!;
        return encodeResults(await leading.execute(batch), batch.protocol);
      },
    }),
  });
  return { router, vouched };
}

const read = (forMs: number) => ({
  ...batchOf('read', ['GET k']),
  group: 1,
  deadlineMs: systemClock.monotonicMs() + forMs,
});

test('a leader whose group was given up meanwhile answers no read of a node that comes back', async () => {
  expect(await trio.run('write', 'SET k old')).toEqual(['+OK']);
  const leader = await trio.leader();
  expect(leader.id).toBe(1);
  for (const node of ['n2', 'n3']) await trio.caughtUp(node, leader.appliedIndex);
  const given = trio.record;
  await trio.stop('n3');
  for (const pair of ['n1>n2', 'n2>n1', 'n3>n2', 'n2>n3']) trio.cut.add(pair);
  for (const node of ['n1', 'n3']) trio.offline.set(node, given);
  await trio.rebuild({ replica: 2, node: 'n2', incarnation: 'i' });
  const survivor = () => trio.hosts.get('n2')!.local('default', 0, 2);
  await expect.poll(() => survivor()?.isLeader, { timeout: 20_000 }).toBe(true);
  expect(await survivor()!.execute(batchOf('write', ['SET k new']))).toMatchObject([{ ok: true }]);
  await trio.start('n3');
  expect([leader.isLeader, former()!.term]).toEqual([true, leader.term]);
  const { router, vouched } = routerOf({ node: 'n1', term: leader.term });
  expect(await router.execute(read(500))).toMatchObject([{ ok: false }]);
  expect(vouched).toEqual([undefined]);
});

/** n3 comes back while the store is away, and reaches nobody. Resolves with the leader. */
async function comeBackHeld(): Promise<Replica> {
  await trio.run('write', 'SET k v');
  const leader = await trio.leader();
  await trio.caughtUp('n3', leader.appliedIndex);
  await trio.stop('n3');
  trio.offline.set('n3', trio.record);
  trio.cut.add('n3>n1').add('n3>n2');
  await trio.start('n3');
  expect(trio.hosts.get('n3')!.hold.holds(1)).toBe(true);
  return leader;
}

test('what its follower would have answered is read from the leader', async () => {
  const leader = await comeBackHeld();
  const { router, vouched } = routerOf({ node: 'n1', term: leader.term });
  const stale = { ...read(10_000), maxStalenessMs: 60_000 };
  expect(await router.execute(stale)).toMatchObject([{ ok: true }]);
  expect(vouched).toEqual([undefined]);
});

test('once it is not held any more its node vouches again', async () => {
  const leader = await comeBackHeld();
  const { router, vouched } = routerOf({ node: 'n1', term: leader.term });
  expect(await router.execute(read(10_000))).toMatchObject([{ ok: true }]);
  trio.cut.clear();
  await trio.online('n3');
  await expect.poll(() => trio.hosts.get('n3')!.hold.holds(1)).toBe(false);
  expect(former()!.term).toBe(leader.term);
  expect(await router.execute(read(10_000))).toMatchObject([{ ok: true }]);
  expect(vouched).toEqual([undefined, 3]);
});
