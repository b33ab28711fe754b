import { expect, test } from 'vitest';
import { runAtOnce } from '../../../src/common/slices.ts';
import type {
  LeaderRecord,
  NamespaceRecord,
  NodeRecord,
  PartitionRecord,
  ReplicaRecord,
} from '../../../src/meta/schema.ts';
import { GroupStates } from '../../../src/placedriver/balance/group-states.ts';
import { planMoves } from '../../../src/placedriver/balance/plan-moves.ts';
import { NO_STALLS } from '../../../src/placedriver/balance/stalls.ts';
import { Tables } from '../../../src/placedriver/balance/tables.ts';
import type { BalanceView } from '../../../src/placedriver/balance/view.ts';
import { withdraw, withdrawalsOf } from '../../../src/placedriver/balance/withdrawals.ts';

const on = (replica: number): ReplicaRecord => ({ replica, node: `n${replica}`, incarnation: 'i' });

const namespace: NamespaceRecord = {
  ...{ version: 1, name: 'default', kind: 'redis', hash: 'slots', expiry: 'consistent' },
  ...{ partitions: 1, replicas: 3, ready: true },
};

interface Situation {
  /** Of the wanted record; replica `n` is on node `n<n>`. */
  readonly replicas: readonly number[];
  readonly voters: readonly number[];
  readonly learners?: readonly number[];
  /** The last move takes this one away. */
  readonly gone?: number;
  readonly birth?: readonly number[];
  /** Nodes that live. */
  readonly alive: readonly number[];
  readonly damaged?: readonly number[];
  readonly stalled?: readonly number[];
  readonly shut?: readonly number[];
}

/** One group of three, and the node `n1` that leads it. */
function viewOf(situation: Situation): BalanceView {
  const { replicas, voters, learners = [], birth = [1, 2, 3], gone } = situation;
  const place = { version: 1, namespace: 'default', partition: 0 };
  const record: PartitionRecord = {
    ...{ ...place, group: 1, firstSlot: 0, lastSlot: 16_383, epoch: 2, fence: 1 },
    ...{ birth: birth.map(on), replicas: replicas.map(on) },
    ...(gone !== undefined && { move: { from: on(gone), why: '', sinceMs: 1 } }),
  };
  const settled = learners.length === 0 && replicas.every((id) => voters.includes(id));
  const leader: LeaderRecord = {
    ...{ ...place, group: 1, node: 'n1', replica: 1, term: 1 },
    membership: { epoch: settled ? 2 : 1, voters, learners, joint: false },
  };
  const node = (id: number) => ({ node: `n${id}`, incarnation: 'i', tags: {}, host: `n${id}` });
  return {
    namespaces: [namespace],
    partitions: [{ record }],
    alive: situation.alive.map((id) => node(id) as unknown as NodeRecord),
    damages: (situation.damaged ?? []).map((replica) => ({ replica })),
    draining: new Set(),
    stability: { leaving: new Set(), frozen: undefined, unbalanced: undefined },
    stalls: {
      ...NO_STALLS,
      stalled: new Set(situation.stalled),
      shut: new Set((situation.shut ?? []).map((id) => `n${id}`)),
    },
    blinking: new Set(),
    levelLeaders: true,
    movesAtOnceMax: 4,
    leader: () => leader,
  } as unknown as BalanceView;
}

/** What is given up, and what is made of it now. */
function given(situation: Situation) {
  const view = viewOf(situation);
  const states = new GroupStates(view);
  const tables = new Tables(view, states);
  return withdrawalsOf(view, tables.namespaces, states).map((one) => ({
    ...one,
    move: withdraw(one, tables, states),
  }));
}

/** `n3` lost its replica; the one that is to be filled there in its place gets on no further. */
const lost = {
  replicas: [1, 2, 3],
  voters: [1, 2, 3],
  damaged: [3],
  shut: [3],
  alive: [1, 2, 3, 4],
} as const;

test('what a node that cannot be filled has lost is made elsewhere', () => {
  expect(given(lost)).toMatchObject([
    { drops: on(3), isStalled: false, move: { drops: on(3), from: on(3), to: { node: 'n4' } } },
  ]);
  expect(given({ ...lost, shut: [] })).toEqual([]);
});

test('not while too few of the others are there', () => {
  expect(given({ ...lost, alive: [1, 3, 4] })).toMatchObject([{ drops: on(3), move: undefined }]);
});

test('nor where no other node could take it: it is not dropped without another', () => {
  expect(given({ ...lost, alive: [1, 2, 3] })).toMatchObject([{ drops: on(3), move: undefined }]);
});

test('nor on the node that it is taken from, though nobody else has said that it is full', () => {
  // it is shut no more, but the replica that came there was filled no further
  const stalled = {
    ...{ replicas: [1, 2, 5], voters: [1, 2, 3], learners: [5], gone: 3, stalled: [5] },
    alive: [1, 2, 5],
  };
  const view = viewOf(stalled);
  const states = new GroupStates(view);
  const tables = new Tables(view, states);
  const one = { namespace, partition: view.partitions[0]!, kind: 'operator' as const };
  const withdrawal = { ...one, drops: on(5), isStalled: true, returns: undefined };
  expect(withdraw(withdrawal, tables, states)).toBeUndefined();
});

test('the move that follows tells of the member that is to go, not of what never came', () => {
  // the place of a member is not told by the record: it cannot return
  const stalled = {
    ...{ replicas: [1, 2, 5], voters: [1, 2, 3], learners: [5], gone: 3, stalled: [5] },
    ...{ alive: [1, 2, 3, 5, 6], birth: [1, 2, 3] },
  };
  const view = viewOf(stalled);
  const states = new GroupStates(view);
  const tables = new Tables(view, states);
  const one = { namespace, partition: view.partitions[0]!, kind: 'operator' as const };
  const withdrawal = { ...one, drops: on(5), isStalled: true, returns: undefined };
  expect(withdraw(withdrawal, tables, states)).toMatchObject({
    ...{ drops: on(5), from: on(3), givesUp: true },
  });
});

test('members return only if the record tells where all of them are', () => {
  const stalled = {
    ...{ replicas: [1, 2, 5], learners: [5], gone: 3, stalled: [5] },
    alive: [1, 2, 3, 5, 6, 7],
  };
  expect(given({ ...stalled, voters: [1, 2, 3] })).toMatchObject([{ returns: [on(3)] }]);
  // 7 is neither of the birth, nor wanted, nor what the last move takes away
  expect(given({ ...stalled, voters: [1, 2, 3, 7] })).toMatchObject([{ returns: undefined }]);
});

test('a replica that was to come is not given up where only the one it replaces has a place', () => {
  // its node is away for good, and the only other one still has the member that was to go
  const situation = { replicas: [1, 2, 4], voters: [1, 2, 3], gone: 3, alive: [1, 2, 3] };
  const view = viewOf(situation);
  const leaving = { leaving: new Set(['n4']), frozen: undefined, unbalanced: undefined };
  const plan = (alive: BalanceView['alive']) =>
    runAtOnce(planMoves({ ...view, alive, stability: leaving } as unknown as BalanceView));
  expect(plan(view.alive).filter(({ move }) => move !== undefined)).toEqual([]);
  const more = viewOf({ ...situation, alive: [1, 2, 3, 5] });
  expect(plan(more.alive)).toMatchObject([{ move: { drops: on(4), to: { node: 'n5' } } }]);
});
