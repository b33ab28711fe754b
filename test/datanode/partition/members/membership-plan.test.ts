import { describe, expect, test } from 'vitest';
import {
  type MembershipStep,
  planMembership,
} from '../../../../src/datanode/partition/members/membership-plan.ts';
import { changeConf, EMPTY_CONF, leaveJoint } from '../../../../src/datanode/raft/conf-change.ts';
import type { ConfState } from '../../../../src/datanode/raft/message.ts';

interface Situation {
  readonly self?: number;
  readonly away?: readonly number[];
  readonly behind?: readonly number[];
}

function plan(conf: Partial<ConfState>, wanted: number[], situation: Situation = {}) {
  const { self = 1, away = [], behind = [] } = situation;
  return planMembership({
    self,
    conf: { ...EMPTY_CONF, ...conf },
    wanted,
    isActive: (replica) => !away.includes(replica),
    isCaughtUp: (replica) => !behind.includes(replica) && !away.includes(replica),
  });
}

function stepsOf(step: MembershipStep): string[] {
  return step.kind === 'change' ? step.steps.map((s) => `${s.kind} ${s.replica}`) : [step.kind];
}

describe('one step at a time', () => {
  test('nothing to do', () => {
    expect(plan({ voters: [1, 2, 3] }, [3, 1, 2])).toEqual({ kind: 'done' });
  });

  test('a new replica learns before anybody goes', () => {
    expect(stepsOf(plan({ voters: [1, 2, 3] }, [1, 2, 4]))).toEqual(['addLearner 4']);
    const learning = { voters: [1, 2, 3], learners: [4] };
    expect(plan(learning, [1, 2, 4], { behind: [4] }).kind).toBe('wait');
    expect(stepsOf(plan(learning, [1, 2, 4]))).toEqual(['addVoter 4', 'remove 3']);
  });

  test('a joint configuration is left first, whatever is wanted', () => {
    const joint = { voters: [1, 2, 4], votersOutgoing: [1, 2, 3] };
    expect(plan({ ...joint, autoLeave: true }, [5, 6, 7]).kind).toBe('wait');
    expect(plan(joint, [5, 6, 7]).kind).toBe('leaveJoint');
  });

  test('a learner that is wanted no more goes before another comes', () => {
    expect(stepsOf(plan({ voters: [1, 2, 3], learners: [4] }, [1, 2, 5]))).toEqual(['remove 4']);
  });

  test('a leader that is to go hands over first', () => {
    const conf = { voters: [1, 2, 3], learners: [4] };
    expect(plan(conf, [2, 3, 4])).toEqual({ kind: 'transfer', to: 2 });
    expect(plan(conf, [2, 3, 4], { away: [2] })).toEqual({ kind: 'transfer', to: 3 });
  });

  test('a leader whom no wanted voter could follow hands over before the joint configuration ends', () => {
    const step = plan({ voters: [1], learners: [2] }, [2]);
    expect(stepsOf(step)).toEqual(['addVoter 2', 'remove 1']);
    expect(step).toMatchObject({ transition: 'explicit' });
    const joint = { voters: [2, 3], votersOutgoing: [1] };
    expect(plan(joint, [2, 3])).toEqual({ kind: 'transfer', to: 2 });
    expect(plan(joint, [2, 3], { away: [2] })).toEqual({ kind: 'transfer', to: 3 });
    expect(plan(joint, [2, 3], { away: [2, 3] }).kind).toBe('wait');
    expect(plan(joint, [2, 3], { self: 2 })).toEqual({ kind: 'leaveJoint' });
    const stays = plan({ voters: [1, 2], learners: [3] }, [1, 3]);
    expect(stays).toMatchObject({ kind: 'change', transition: 'auto' });
  });

  test('nobody goes while the members to come could not decide', () => {
    const conf = { voters: [1, 2, 3, 4, 5] };
    expect(plan(conf, [1, 2, 3], { away: [2, 3] }).kind).toBe('wait');
    expect(stepsOf(plan(conf, [1, 2, 3], { away: [3] }))).toEqual(['remove 4', 'remove 5']);
  });
});

test('from any members to any others in few steps, each admissible, none without a quorum', () => {
  const sets = [[1], [1, 2], [1, 2, 3], [2, 3, 4], [4, 5, 6], [1, 4, 5], [1, 2, 3, 4, 5], [6]];
  for (const from of sets) {
    for (const wanted of sets) {
      let conf: ConfState = { ...EMPTY_CONF, voters: from };
      let self = from[0]!;
      for (let taken = 0; ; taken++) {
        expect(taken, `${from} to ${wanted}`).toBeLessThan(16);
        const step = plan(conf, wanted, { self });
        if (step.kind === 'done') break;
        if (step.kind === 'transfer') {
          expect(conf.voters).toContain(step.to);
          self = step.to;
        } else if (step.kind === 'change') {
          const { steps, transition } = step;
          const result = changeConf(conf, { transition, steps, context: EMPTY });
          expect(result.ok).toBe(true);
          if (result.ok) conf = result.conf;
        } else {
          const left = leaveJoint(conf);
          if (left.ok) conf = left.conf;
          expect(conf.voters).toContain(self);
        }
      }
      expect(new Set(conf.voters)).toEqual(new Set(wanted));
    }
  }
});

const EMPTY = new Uint8Array(0);
