/**
 * From the members a group has to those it should have (decision 17), one safe step at a time:
 * a new replica learns first, becomes a voter in the same joint change in which the old one goes,
 * and nothing is changed while the members to come could not decide without help. Pure.
 */
import type { ReplicaId } from '../../../common/ids.ts';
import type { ConfChange, ConfChangeStep, ConfState } from '../../raft/message.ts';

export interface MembershipView {
  readonly self: ReplicaId;
  readonly conf: ConfState;
  readonly wanted: readonly ReplicaId[];
  /** Heard from lately, itself included. */
  isActive(replica: ReplicaId): boolean;
  /** A learner that would keep up as a voter. */
  isCaughtUp(replica: ReplicaId): boolean;
}

export type MembershipStep =
  /** The configuration is the wanted one. */
  | { readonly kind: 'done' }
  /** Something must happen first: a learner catches up, members come back. */
  | { readonly kind: 'wait'; readonly why: string }
  | {
      readonly kind: 'change';
      readonly steps: readonly ConfChangeStep[];
      /** `explicit`: somebody else leads before the joint configuration is left. */
      readonly transition: Exclude<ConfChange['transition'], 'implicit'>;
    }
  | { readonly kind: 'leaveJoint' }
  /**
   * This leader is to go: another leads what removes it (thesis 4.2.2). While it is a member, it
   * hears what becomes of the entries that it has appended, and clients wait for.
   */
  | { readonly kind: 'transfer'; readonly to: ReplicaId };

export function planMembership(view: MembershipView): MembershipStep {
  const { conf, wanted } = view;
  if (conf.votersOutgoing.length > 0) return planLeave(view);
  const stray = conf.learners.find((replica) => !wanted.includes(replica));
  if (stray !== undefined) return change([{ kind: 'remove', replica: stray }]);
  const missing = wanted.find(
    (replica) => !conf.voters.includes(replica) && !conf.learners.includes(replica),
  );
  if (missing !== undefined) return change([{ kind: 'addLearner', replica: missing }]);
  const late = conf.learners.find((replica) => !view.isCaughtUp(replica));
  if (late !== undefined) return wait(`replica ${late} catches up`);
  return planVoters(view);
}

const LEAVE: MembershipStep = { kind: 'leaveJoint' };

/** Everybody wanted is a voter, or a learner that has caught up: one change makes the rest. */
function planVoters({ self, conf, wanted, isActive }: MembershipView): MembershipStep {
  const removed = conf.voters.filter((replica) => !wanted.includes(replica));
  if (removed.length === 0 && conf.learners.length === 0) return { kind: 'done' };
  const active = wanted.filter(isActive);
  if (active.length < Math.floor(wanted.length / 2) + 1) return wait('the wanted members are away');
  if (removed.includes(self)) {
    const to = active.find((replica) => conf.voters.includes(replica));
    if (to !== undefined) return { kind: 'transfer', to };
  }
  const steps = [
    ...conf.learners.map((replica) => ({ kind: 'addVoter', replica }) as const),
    ...removed.map((replica) => ({ kind: 'remove', replica }) as const),
  ];
  return change(steps, removed.includes(self) ? 'explicit' : 'auto');
}

/** Whom the joint configuration lets go does not lead its end: it would hear nothing after it. */
function planLeave({ self, conf, isActive }: MembershipView): MembershipStep {
  if (conf.autoLeave) return wait('the joint configuration is left by itself');
  if (conf.voters.includes(self)) return LEAVE;
  const to = conf.voters.find(isActive);
  return to === undefined ? wait('the members to come are away') : { kind: 'transfer', to };
}

function wait(why: string): MembershipStep {
  return { kind: 'wait', why };
}

function change(
  steps: readonly ConfChangeStep[],
  transition: 'auto' | 'explicit' = 'auto',
): MembershipStep {
  return { kind: 'change', steps, transition };
}
