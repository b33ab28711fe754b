import { expect, test } from 'vitest';
import type { LeaderRecord, PartitionRecord, ReplicaRecord } from '../../../src/meta/schema.ts';
import { GroupStates, isSettled } from '../../../src/placedriver/balance/group-states.ts';
import { NO_STALLS } from '../../../src/placedriver/balance/stalls.ts';
import type { BalanceView } from '../../../src/placedriver/balance/view.ts';

const on = (replica: number): ReplicaRecord => ({ replica, node: `n${replica}`, incarnation: 'i' });

interface Situation {
  readonly replicas: readonly number[];
  readonly voters?: readonly number[];
  readonly learners?: readonly number[];
  readonly joint?: boolean;
  readonly served?: number;
  readonly group?: number;
  readonly alive: readonly number[];
  readonly damaged?: readonly number[];
  readonly leaving?: readonly number[];
  readonly gone?: number;
}

function ground(situation: Situation) {
  const { replicas, voters = replicas, learners = [], alive, damaged = [] } = situation;
  const place = { version: 1, namespace: 'default', partition: 0 };
  const record: PartitionRecord = {
    ...{ ...place, group: 1, firstSlot: 0, lastSlot: 1, epoch: 2, fence: 1 },
    ...{ birth: [1, 2, 3].map(on), replicas: replicas.map(on) },
    ...(situation.gone && { move: { from: on(situation.gone), why: '', sinceMs: 1 } }),
  };
  const membership = { epoch: situation.served ?? 2, voters, learners, joint: !!situation.joint };
  const who = { group: situation.group ?? 1, node: 'n1', replica: 1, term: 1 };
  const leader: LeaderRecord = { ...place, ...who, membership };
  const states = new GroupStates({
    alive: alive.map((id) => ({ node: `n${id}`, incarnation: 'i' })),
    damages: damaged.map((id) => ({ replica: id })),
    draining: new Set(),
    stability: { leaving: new Set((situation.leaving ?? []).map((id) => `n${id}`)) },
    stalls: NO_STALLS,
    leader: () => leader,
  } as unknown as BalanceView);
  return { record, leader, states };
}

function whyNot(situation: Situation, from: number | undefined, adds = true): string | undefined {
  const { record, states } = ground(situation);
  return states.whyNot(record, { from: from === undefined ? undefined : on(from), adds });
}

test('a group is settled when it serves its own record and nobody learns', () => {
  const settled = (situation: Partial<Situation>) => {
    const { record, leader } = ground({ replicas: [1, 2, 3], alive: [1, 2, 3], ...situation });
    return isSettled(record, leader);
  };
  expect(settled({})).toBe(true);
  expect(settled({ served: 1 })).toBe(false);
  expect(settled({ joint: true })).toBe(false);
  expect(settled({ learners: [4] })).toBe(false);
  expect(settled({ group: 7 })).toBe(false);
});

const three = { replicas: [1, 2, 3], alive: [1, 2, 3] };
const FEW = 'too few of its other replicas are on living nodes';

test('a replica is replaced while a quorum does without it', () => {
  expect(whyNot(three, 3)).toBeUndefined();
  expect(whyNot({ ...three, alive: [1, 2] }, 3)).toBeUndefined();
  expect(whyNot({ ...three, alive: [1, 3] }, 3)).toBe(FEW);
  expect(whyNot({ ...three, alive: [1] }, 3)).toBe(FEW);
  expect(whyNot({ ...three, damaged: [2] }, 3)).toBe(FEW);
});

test('one or two replicas move while all are there', () => {
  expect(whyNot({ replicas: [1], alive: [1] }, 1)).toBeUndefined();
  expect(whyNot({ replicas: [1], alive: [] }, 1)).toBe(FEW);
  expect(whyNot({ replicas: [1, 2], alive: [1, 2] }, 2)).toBeUndefined();
  expect(whyNot({ replicas: [1, 2], alive: [1] }, 2)).toBe(FEW);
  expect(whyNot({ replicas: [1, 2, 3, 4], alive: [1, 2] }, 4)).toBe(FEW);
});

test('the last replica is not given up, and a second is added to it', () => {
  expect(whyNot({ replicas: [1], alive: [1] }, 1, false)).toBe(FEW);
  expect(whyNot({ replicas: [1], alive: [1] }, undefined)).toBeUndefined();
  expect(whyNot({ ...three, alive: [1] }, undefined)).toBe(FEW);
});

test('made anew where it is, a replica is away until it is filled', () => {
  const inPlace = (situation: Situation, from: number) => {
    const { record, states } = ground(situation);
    return states.whyNot(record, { from: on(from), adds: true, inPlace: true });
  };
  expect(inPlace(three, 3)).toBeUndefined();
  expect(inPlace({ ...three, alive: [1, 3] }, 3)).toBe(FEW);
  expect(inPlace({ replicas: [1, 2], alive: [1, 2] }, 2)).toBe(FEW);
  expect(inPlace({ replicas: [1], alive: [1] }, 1)).toBe(FEW);
});

test('the next change waits for the last, but for one to a node that is lost', () => {
  const learning = { replicas: [1, 2, 4], voters: [1, 2, 3], learners: [4], gone: 3, served: 1 };
  expect(whyNot({ ...learning, alive: [1, 2, 3, 4] }, 2)).toBe('its last change is not finished');
  expect(whyNot({ ...learning, alive: [1, 2, 3] }, 4)).toBe('its last change is not finished');
  const lost = { ...learning, alive: [1, 2, 3], leaving: [4] };
  expect(whyNot(lost, 4)).toBeUndefined();
  expect(whyNot({ ...lost, joint: true }, 4)).toBe('the members of its group are changing');
  const { record, states } = ground(lost);
  expect(states.givenUp(record)?.node).toBe('n3');
  expect(states.isMoving(record)).toBe(false);
  expect(ground({ ...lost, alive: [1, 2, 3, 4] }).states.isMoving(record)).toBe(true);
});
