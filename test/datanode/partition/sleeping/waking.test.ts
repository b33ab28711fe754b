/** Who else wakes when one of a sleeping group does. */
import { describe, expect, test } from 'vitest';
import { Sleep } from '../../../../src/datanode/partition/sleeping/sleep.ts';
import type { PeerMessage, SleepMessage } from '../../../../src/datanode/raft/message.ts';
import type { RaftNode } from '../../../../src/datanode/raft/ready.ts';

const LEADER = 1;
const TERM = 7;
const PLACE = { term: TERM, index: 5 } as const;

/** Replica 1 leads replicas 2 and 3 in term 7, and everything is applied up to index 5. */
function sleeping(self: number) {
  const sent: SleepMessage[] = [];
  const progress = [1, 2, 3].map((replica) => ({
    ...{ replica, match: PLACE.index, state: 'replicate', learner: false },
  }));
  const status = {
    ...{ lastIndex: PLACE.index, applied: PLACE.index, leadTransferee: 0, progress },
    hardState: { commit: PLACE.index },
    confState: { voters: [1, 2, 3], votersOutgoing: [] },
  };
  const raft = {
    ...{ role: self === LEADER ? 'leader' : 'follower', term: TERM, leader: LEADER },
    ...{ committed: PLACE.index, status: () => status, restartTimers: () => {} },
  } as unknown as RaftNode;
  const sleep = new Sleep({
    ...{ self, raft, afterTicks: 1, isIdle: () => true, isReachable: () => true },
    send: (message) => sent.push(message),
  });
  if (self === LEADER) {
    for (let tick = 0; tick < 3; tick++) sleep.tick();
    for (const from of [2, 3]) sleep.onSleepMessage(answer(from, false));
  } else {
    sleep.onSleepMessage({ type: 'sleep', from: LEADER, to: self, ...PLACE, commit: PLACE.index });
  }
  expect(sleep.asleep).toBe(true);
  sent.length = 0;
  return { sleep, sent };
}

const answer = (from: number, reject: boolean, term = TERM) =>
  ({ type: 'asleep', from, to: LEADER, ...PLACE, term, reject }) as const;

const from = (replica: number) => ({ type: 'heartbeat', from: replica }) as PeerMessage;

describe('a follower that wakes', () => {
  test('by itself wakes its leader', () => {
    const { sleep, sent } = sleeping(2);
    sleep.wake();
    sleep.wake();
    expect(sent).toEqual([{ ...answer(2, true), index: 0 }]);
  });

  test('by another than its leader does, too', () => {
    const { sleep, sent } = sleeping(2);
    sleep.onMessage(from(3));
    expect(sent.length).toBe(1);
  });

  test('by its leader does not', () => {
    const { sleep, sent } = sleeping(2);
    sleep.onMessage(from(LEADER));
    expect(sleep.asleep).toBe(false);
    expect(sent).toEqual([]);
  });
});

test('a leader that offers sleep to a follower that has agreed, and was woken since, does not sleep', () => {
  const { sleep } = sleeping(LEADER);
  sleep.wake();
  for (let tick = 0; tick < 3; tick++) sleep.tick();
  sleep.onSleepMessage(answer(2, false));
  sleep.onSleepMessage({ ...answer(2, true), index: 0 });
  sleep.onSleepMessage(answer(3, false));
  expect(sleep.asleep).toBe(false);
});

describe('a leader that sleeps', () => {
  test('wakes for a follower that does not', () => {
    const { sleep, sent } = sleeping(LEADER);
    sleep.onSleepMessage(answer(2, true));
    expect(sleep.asleep).toBe(false);
    expect(sent).toEqual([]);
  });

  test('sleeps on when that is of another term, or late', () => {
    const { sleep } = sleeping(LEADER);
    sleep.onSleepMessage(answer(2, true, TERM - 1));
    sleep.onSleepMessage(answer(2, false));
    expect(sleep.asleep).toBe(true);
  });
});
