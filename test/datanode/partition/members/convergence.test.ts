/** When a change of members counts: once a quorum knows for good that they decide. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../../src/common/log.ts';
import { Convergence } from '../../../../src/datanode/partition/members/convergence.ts';
import type { ReplicaState } from '../../../../src/datanode/partition/storage/state.ts';
import { EMPTY_CONF } from '../../../../src/datanode/raft/conf-change.ts';
import type { ConfState } from '../../../../src/datanode/raft/message.ts';
import type { ProposeResult, RaftStatus } from '../../../../src/datanode/raft/ready.ts';

const confOf = (...voters: number[]): ConfState => ({ ...EMPTY_CONF, voters });

/** Replica 1 leads, has the members that are wanted, and 20 entries in its log. */
function scene(epoch: number, confState = confOf(1, 2, 3)) {
  let state: ReplicaState = { index: 20, term: 2, timeMs: 0, epoch, confState };
  let refuses = false;
  const proposed: number[] = [];
  let told = 0;
  const convergence = new Convergence({
    ...{ self: 1, electionTicks: 10, logger: silentLogger },
    wanted: () => ({ epoch: state.epoch, replicas: state.confState.voters }),
    state: () => state,
    status: () => ({ progress: [], lastIndex: 20 }) as unknown as RaftStatus,
    propose: () => expect.unreachable('nothing is to be changed'),
    proposeNothing: (): ProposeResult => {
      if (refuses) return { ok: false, refusal: 'transferring' };
      const index = state.index + 1;
      proposed.push(index);
      return { ok: true, term: 2, index };
    },
    onConfirmed: () => told++,
    transfer: () => {},
    begin: () => true,
    end: () => {},
  });
  return {
    convergence,
    proposed,
    told: () => told,
    become: (now: Partial<ReplicaState>) => {
      state = { ...state, ...now };
    },
    refuse: (now: boolean) => {
      refuses = now;
    },
  };
}

test('members are confirmed by an entry behind their change, once it is applied', () => {
  const { convergence, proposed, told, become, refuse } = scene(2);
  expect([convergence.confirmed, convergence.finished]).toEqual([false, false]);
  refuse(true);
  convergence.tick();
  expect([convergence.confirmed, proposed]).toEqual([false, []]);
  refuse(false);
  for (let tick = 0; tick < 3; tick++) convergence.tick();
  expect([convergence.confirmed, told(), proposed]).toEqual([false, 0, [21]]);
  become({ index: 21 });
  expect(convergence.confirmed).toBe(true);
  for (let tick = 0; tick < 3; tick++) convergence.tick();
  expect([convergence.finished, told(), proposed]).toEqual([true, 1, [21]]);
});

test('others are confirmed anew, and so are the same by another leader', () => {
  const { convergence, proposed, become } = scene(2);
  convergence.tick();
  become({ index: 21 });
  expect(convergence.confirmed).toBe(true);
  become({ index: 30, epoch: 3, confState: confOf(1, 2, 4) });
  expect(convergence.confirmed).toBe(false);
  convergence.tick();
  become({ index: 31 });
  expect(convergence.confirmed).toBe(true);
  convergence.stepDown();
  expect(convergence.confirmed).toBe(false);
  convergence.tick();
  expect(convergence.confirmed).toBe(false);
  become({ index: 32 });
  expect([convergence.confirmed, proposed]).toEqual([true, [21, 31, 32]]);
});

test('a joint configuration is never what is confirmed', () => {
  const joint = { ...confOf(1, 2, 4), votersOutgoing: [1, 2, 3], autoLeave: true };
  const { convergence, proposed } = scene(2, joint);
  convergence.tick();
  expect([convergence.confirmed, proposed]).toEqual([false, []]);
});

test('members that never changed need no confirmation', () => {
  const { convergence, proposed } = scene(1);
  convergence.tick();
  expect([convergence.confirmed, convergence.finished, proposed]).toEqual([true, true, []]);
});
