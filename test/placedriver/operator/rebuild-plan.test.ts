import { expect, test } from 'vitest';
import type { LeaderRecord, PartitionRecord } from '../../../src/meta/schema.ts';
import { planRebuild, type RebuildView } from '../../../src/placedriver/operator/rebuild-plan.ts';

const on = (replica: number, node: string, incarnation = 'i') => ({ replica, node, incarnation });
const birth = [on(1, 'n1'), on(2, 'n2'), on(3, 'n3')];
const place = { version: 1, namespace: 'default', partition: 0 };
const record: PartitionRecord = {
  ...place,
  ...{ group: 1, firstSlot: 0, lastSlot: 16_383, birth, replicas: birth, epoch: 4, fence: 1 },
};

function report(voters: number[], learners: number[] = [], joint = false): LeaderRecord {
  const membership = { epoch: 4, voters, learners, joint };
  return { ...place, group: 1, node: 'n1', replica: 1, term: 2, membership };
}

function plan(alive: Record<string, string>, own: Partial<RebuildView> = {}) {
  const view = { record, leader: report([1, 2, 3]), damaged: new Set<number>(), survivor: 'n1' };
  const found = planRebuild({ ...view, alive: new Map(Object.entries(alive)), ...own });
  return found && [found.survivor.replica, found.lost.map(({ replica }) => replica)];
}

test('a voter on a living node survives when a quorum is lost', () => {
  expect(plan({ n1: 'i' })).toEqual([1, [2, 3]]);
  expect(plan({ n1: 'i', n2: 'j' })).toEqual([1, [2, 3]]);
  expect(plan({ n1: 'i', n2: 'i' }, { damaged: new Set([2]) })).toEqual([1, [2, 3]]);
  expect(plan({ n1: 'i' }, { leader: undefined })).toEqual([1, [2, 3]]);
});

test('not while a quorum lives, and of both halves while the members change', () => {
  expect(() => plan({ n1: 'i', n2: 'i' })).toThrow(
    'partition default/0 is not rebuilt: a quorum of its replicas lives (n1, n2): wait',
  );
  const four = { ...record, replicas: [on(1, 'n1'), on(2, 'n2'), on(4, 'n4')] };
  const view = { record: four, leader: report([1, 2, 3, 4], [], true) };
  expect(() => plan({ n1: 'i', n2: 'i' }, view)).toThrow('quorum');
  expect(plan({ n1: 'i' }, view)).toEqual([1, [2, 3, 4]]);
});

test('one of two may be all that is left while the members change', () => {
  const rebuilt = { epoch: 5, formerGroups: [1], lost: [on(2, 'n2'), on(3, 'n3')] };
  const [own, added] = [on(1, 'n1'), on(4, 'n2')];
  const grown = { ...record, group: 2, birth: [own], replicas: [own, added], epoch: 6, rebuilt };
  const leader = { ...report([1, 4], [], true), group: 2 };
  expect(plan({ n1: 'i' }, { record: grown, leader })).toEqual([1, [4]]);
  expect(() => plan({ n1: 'i', n2: 'i' }, { record: grown, leader })).toThrow('lives (n1, n2)');
  // the first one may have decided alone until then, and does when it comes back
  const other = { record: grown, leader, survivor: 'n2' };
  expect(() => plan({ n2: 'i' }, other)).toThrow('lives (n2)');
  // the other may decide alone once this one is let go
  const moving = {
    ...grown,
    replicas: [added],
    move: { from: own, to: added, why: '', sinceMs: 1 },
  };
  expect(() => plan({ n1: 'i' }, { record: moving, leader })).toThrow('lives (n1)');
});

test('what a move takes away votes until it is away', () => {
  // replica 4 came by a move before this one, which makes 5 in its place
  const replicas = [on(1, 'n1'), on(2, 'n2'), on(5, 'n5')];
  const move = { from: on(4, 'n4'), to: on(5, 'n5'), why: 'balance', sinceMs: 1 };
  const moving = { record: { ...record, replicas, move }, leader: report([1, 2, 4], [5]) };
  expect(() => plan({ n1: 'i', n4: 'i', n5: 'i' }, moving)).toThrow('lives (n1, n4)');
  expect(plan({ n4: 'i', n5: 'i' }, { ...moving, survivor: 'n4' })).toEqual([4, [1, 2, 3, 5]]);
  expect(plan({ n1: 'i', n5: 'i' }, moving)).toEqual([1, [2, 3, 4, 5]]);
  const moved = { ...moving, leader: report([1, 2, 5]) };
  expect(() => plan({ n4: 'i' }, { ...moved, survivor: 'n4' })).toThrow('n4 holds no replica');
});

test('only from a node that lives and kept what it held', () => {
  expect(() => plan({ n1: 'i' }, { survivor: 'n9' })).toThrow(
    'node n9 holds no replica of it; those that do: n1, n2, n3',
  );
  expect(() => plan({})).toThrow('node n1 is not alive');
  expect(() => plan({ n1: 'j' })).toThrow('n1 came back as another incarnation');
  expect(() => plan({ n1: 'i' }, { damaged: new Set([1]) })).toThrow('damaged');
});

test('from one that was being filled only when no voter lives', () => {
  const filling = { ...record, replicas: [on(1, 'n1'), on(2, 'n2'), on(4, 'n4')] };
  const view = { record: filling, leader: report([1, 2, 3], [4]), survivor: 'n4' };
  expect(() => plan({ n1: 'i', n4: 'i' }, view)).toThrow('name n1, which voted');
  expect(plan({ n4: 'i' }, view)).toEqual([4, [1, 2, 3]]);
});

test('asked again: nothing to do; another survivor only while nothing was destroyed', () => {
  const rebuilt = { epoch: 5, formerGroups: [1], lost: [on(2, 'n2'), on(3, 'n3')] };
  const own = [on(1, 'n1')];
  const again = { ...record, group: 2, birth: own, replicas: own, epoch: 5, rebuilt };
  const begun = { record: again, leader: undefined };
  expect(plan({ n1: 'i' }, begun)).toBe(undefined);
  expect(() => plan({ n1: 'i', n2: 'i' }, { ...begun, survivor: 'n2' })).toThrow(
    'it is being rebuilt from n1: stop that node',
  );
  expect(plan({ n2: 'i' }, { ...begun, survivor: 'n2' })).toEqual([2, [3, 1]]);
  const led = { record: again, leader: { ...report([1]), group: 2 } };
  expect(() => plan({ n1: 'i' }, led)).toThrow('a quorum of its replicas lives (n1)');
  expect(() => plan({ n2: 'i' }, { ...led, survivor: 'n2' })).toThrow('holds no replica');
});
