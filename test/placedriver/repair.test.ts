import { expect, test } from 'vitest';
import type { LeaderRecord, NodeRecord, PartitionRecord } from '../../src/meta/schema.ts';
import { planRepairs } from '../../src/placedriver/repair.ts';

const on = (replica: number, node: string, incarnation = 'i') => ({ replica, node, incarnation });
const birth = [on(1, 'n1'), on(2, 'n2'), on(3, 'n3')];
const place = { version: 1, namespace: 'default', partition: 0 };

interface Situation {
  /** Node and incarnation of those that are registered. */
  readonly alive?: Readonly<Record<string, string>>;
  readonly damaged?: readonly number[];
  readonly replicas?: PartitionRecord['replicas'];
  readonly move?: PartitionRecord['move'];
  readonly epoch?: number;
  readonly served?: number;
  readonly voters?: readonly number[];
  readonly learners?: readonly number[];
  readonly joint?: boolean;
  readonly leader?: boolean;
}

function repairs(situation: Situation): string[] {
  const { alive = { n1: 'i', n2: 'i', n3: 'i' }, damaged = [], replicas = birth } = situation;
  const { epoch = 1, served = epoch, voters = [1, 2, 3], learners = [] } = situation;
  const record: PartitionRecord = {
    ...place,
    ...{ group: 1, firstSlot: 0, lastSlot: 16_383, birth, replicas, epoch, fence: 1 },
    ...(situation.move && { move: situation.move }),
  };
  const membership = { epoch: served, voters, learners, joint: situation.joint ?? false };
  const leader: LeaderRecord = { ...place, node: 'n1', replica: 1, term: 2, membership };
  const planned = planRepairs({
    partitions: [{ record }],
    alive: Object.entries(alive).map(
      ([node, incarnation]) => ({ node, incarnation }) as NodeRecord,
    ),
    damages: damaged.map((replica) => ({
      ...place,
      ...{ replica, node: 'n', incarnation: 'i', reason: 'file:1: bad checksum' },
    })),
    atOnceMax: 8,
    leader: () => (situation.leader === false ? undefined : leader),
  });
  return planned.map(({ lost, node, incarnation }) => `${lost.replica} ${node} ${incarnation}`);
}

test('a node that came back as another incarnation gets a new replica', () => {
  expect(repairs({})).toEqual([]);
  expect(repairs({ alive: { n1: 'i', n2: 'i', n3: 'j' } })).toEqual(['3 n3 j']);
});

test('a node that is away may come back with its data', () => {
  expect(repairs({ alive: { n1: 'i', n2: 'i' } })).toEqual([]);
});

test('a damaged replica is replaced on its node', () => {
  expect(repairs({ damaged: [2] })).toEqual(['2 n2 i']);
  expect(repairs({ damaged: [9] })).toEqual([]);
});

test('one per group at a time, and only what the others can decide without', () => {
  expect(repairs({ damaged: [2, 3] })).toEqual([]);
  expect(repairs({ damaged: [2], alive: { n1: 'i', n2: 'i', n3: 'j' } })).toEqual([]);
  expect(repairs({ damaged: [2], alive: { n1: 'i', n2: 'i' } })).toEqual([]);
  expect(repairs({ damaged: [2], leader: false })).toEqual([]);
});

test('not while the change before is under way', () => {
  const replicas = [on(1, 'n1'), on(2, 'n2'), on(4, 'n3', 'j')];
  const alive = { n1: 'i', n2: 'i', n3: 'j' };
  const underWay = { replicas, alive, epoch: 2, served: 1, damaged: [2] };
  expect(repairs(underWay)).toEqual([]);
  expect(repairs({ ...underWay, served: 2, learners: [4] })).toEqual([]);
  expect(repairs({ ...underWay, served: 2, voters: [1, 2, 3, 4], joint: true })).toEqual([]);
  expect(repairs({ ...underWay, served: 2, voters: [1, 2, 4] })).toEqual(['2 n2 i']);
});

test('nor of one that was to come, while the members are changing', () => {
  const replicas = [on(1, 'n1'), on(2, 'n2'), on(4, 'n3', 'j')];
  const alive = { n1: 'i', n2: 'i', n3: 'k' };
  const underWay = { replicas, alive, epoch: 2, served: 2, learners: [4] };
  expect(repairs(underWay)).toEqual(['4 n3 k']);
  expect(repairs({ ...underWay, joint: true })).toEqual([]);
});

test('half of the members are too few to decide without the lost one', () => {
  const two = [on(1, 'n1'), on(2, 'n2')];
  expect(repairs({ replicas: two, voters: [1, 2], damaged: [2] })).toEqual([]);
  const four = [...birth, on(4, 'n4')];
  const alive = { n1: 'i', n2: 'i', n3: 'i', n4: 'i' };
  const all = { replicas: four, voters: [1, 2, 3, 4], alive, damaged: [2] };
  expect(repairs(all)).toEqual(['2 n2 i']);
  expect(repairs({ ...all, damaged: [2, 3] })).toEqual([]);
});

test('the change before is done only when the group serves its epoch', () => {
  // all that are wanted are members, and a fourth has to go
  const move = { from: on(4, 'n4'), why: 'balance', sinceMs: 1 };
  const alive = { n1: 'i', n2: 'i', n3: 'i', n4: 'i' };
  const leaving = { move, alive, epoch: 3, voters: [1, 2, 3, 4], damaged: [2] };
  expect(repairs({ ...leaving, served: 2 })).toEqual([]);
  expect(repairs({ ...leaving, served: 3 })).toEqual(['2 n2 i']);
});

test('a lost one is replaced while another only has to go, and waits for it', () => {
  const replicas = [on(1, 'n1'), on(2, 'n2')];
  const move = { from: on(3, 'n3'), why: 'the namespace wants 2 replicas', sinceMs: 1 };
  const waiting = { replicas, move, epoch: 2, served: 1, damaged: [2] };
  expect(repairs(waiting)).toEqual(['2 n2 i']);
  expect(repairs({ ...waiting, joint: true })).toEqual([]);
  expect(repairs({ ...waiting, damaged: [2, 3] })).toEqual([]);
});

test('a replica that was to come and is lost before it votes is replaced at once', () => {
  const replicas = [on(1, 'n1'), on(2, 'n2'), on(4, 'n3', 'j')];
  const alive = { n1: 'i', n2: 'i', n3: 'k' };
  expect(repairs({ replicas, alive, epoch: 2, served: 1 })).toEqual(['4 n3 k']);
  expect(repairs({ replicas, alive, epoch: 2, served: 2, learners: [4] })).toEqual(['4 n3 k']);
});

test('one that was to come is replaced while what it was to take the place of decides with others', () => {
  // replica 4 came by a move before this one, which makes 5 in its place; n1 is away
  const replicas = [on(1, 'n1'), on(2, 'n2'), on(5, 'n5')];
  const move = { from: on(4, 'n4'), to: on(5, 'n5'), why: 'balance', sinceMs: 1 };
  const underWay = { replicas, move, epoch: 3, served: 2, voters: [1, 2, 4], learners: [5] };
  expect(repairs({ ...underWay, alive: { n2: 'i', n4: 'i', n5: 'j' } })).toEqual(['5 n5 j']);
  expect(repairs({ ...underWay, alive: { n2: 'i', n5: 'j' } })).toEqual([]);
});

test('a few at a time on each node, those with the fewest living members first', () => {
  const nodes = ['n1', 'n2', 'n3', 'n4', 'n5'];
  const five = nodes.map((node, at) => on(at + 1, node));
  const group = (partition: number, members: number, replicas = five.slice(0, members)) => ({
    record: {
      ...{ ...place, partition, group: partition, firstSlot: 0, lastSlot: 1 },
      ...{ birth: five.slice(0, members), replicas, epoch: 1, fence: 1 },
    } as PartitionRecord,
  });
  const leader = ({ birth, epoch }: PartitionRecord): LeaderRecord => {
    const voters = birth.map(({ replica }) => replica);
    const membership = { epoch, voters, learners: [], joint: false };
    return { ...place, node: 'n2', replica: 2, term: 1, membership };
  };
  const view = {
    partitions: [group(0, 5), group(1, 5), group(2, 3), group(3, 5), group(4, 3)],
    alive: nodes.map((node) => ({ node, incarnation: node === 'n1' ? 'j' : 'i' }) as NodeRecord),
    damages: [],
    leader,
  };
  const begun = (atOnceMax: number, partitions = view.partitions) =>
    planRepairs({ ...view, partitions, atOnceMax }).map((one) => one.partition.record.partition);
  expect(begun(3)).toEqual([2, 4, 0]);
  // one is under way
  const [, ...rest] = five.slice(0, 3);
  // of one whose node has lost it again nothing is under way: it is begun anew
  const lostAgain = group(5, 3, [on(9, 'n1', 'i'), ...rest]);
  expect(begun(3, [...view.partitions, lostAgain])).toEqual([2, 4, 5]);
  expect(begun(3, [...view.partitions, group(5, 3, [on(9, 'n1', 'j'), ...rest])])).toEqual([2, 4]);
});
