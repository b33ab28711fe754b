/** A leader that has to go asks another to take over: nobody who votes waits for its lease then. */
import { expect, test } from 'vitest';
import { Leadership } from '../../../../src/datanode/partition/leading/leadership.ts';
import type { ReplicaWorld } from '../../../../src/datanode/partition/replica/replica-world.ts';
import type { RaftNode, RaftStatus } from '../../../../src/datanode/raft/ready.ts';

const member = (replica: number, match: number, learner = false) => ({ replica, match, learner });

/** Replica 1, which leads in term 4 when it has `progress`; what it does, in order. */
function scene(progress: readonly ReturnType<typeof member>[]) {
  const done: string[] = [];
  const status = { progress, hardState: { term: 4 } } as unknown as RaftStatus;
  const raft = {
    status: () => status,
    banLease: () => done.push('no lease'),
    transferLeader: (to: number) => done.push(`transfer to ${to}`),
  };
  const world = {
    settings: { electionTicks: 10 },
    send: ({ type, to, term }: { type: string; to: number; term: number }) =>
      done.push(`${type} ${to} in ${term}`),
  };
  const own = { state: () => expect.unreachable('not asked for'), tell: () => {} };
  const leadership = new Leadership(
    world as unknown as ReplicaWorld,
    1,
    raft as unknown as RaftNode,
    own,
  );
  return { leadership, done };
}

test('it reads under no lease any more before it asks the voter that holds most', () => {
  const { leadership, done } = scene([
    member(1, 9),
    member(2, 7),
    member(3, 8),
    member(4, 9, true),
  ]);
  leadership.handOver();
  expect(done).toEqual(['no lease', 'timeoutNow 3 in 4']);
});

test('one that stays for a moment takes no more writes', () => {
  const { leadership, done } = scene([member(1, 9), member(2, 9)]);
  leadership.handOver('takes no more');
  expect(done).toEqual(['no lease', 'timeoutNow 2 in 4', 'transfer to 2']);
});

test('who leads no more, or alone, asks nobody', () => {
  for (const progress of [[], [member(1, 9)], [member(1, 9), member(4, 9, true)]]) {
    const { leadership, done } = scene(progress);
    leadership.handOver();
    expect(done).toEqual([]);
  }
});
