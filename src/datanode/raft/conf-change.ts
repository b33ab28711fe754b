/**
 * From one configuration to the next: single changes, entering and leaving a joint configuration
 * (thesis chapter 4). Pure: a configuration in, a configuration or a refusal out; ids ascend.
 *
 * A voter of the outgoing half that shall become a learner waits in `learnersNext`, because it
 * still votes; it becomes a learner when the joint configuration is left.
 */
import { assert } from '../../common/assert.ts';
import type { ReplicaId } from '../../common/ids.ts';
import type { ConfChange, ConfChangeStep, ConfState } from './message.ts';

export type ConfChangeError =
  | 'already-joint'
  | 'not-joint'
  | 'no-voters-to-join'
  | 'simple-in-joint'
  | 'removes-all-voters'
  | 'several-voters';

export type ConfChangeResult =
  | { readonly ok: true; readonly conf: ConfState }
  | { readonly ok: false; readonly error: ConfChangeError };

/** The configuration of a replica that was not given one yet: it neither campaigns nor votes. */
export const EMPTY_CONF: ConfState = {
  voters: [],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

export function isJoint(conf: ConfState): boolean {
  return conf.votersOutgoing.length > 0;
}

/** True when nothing is in it. */
export function isEmptyConf(conf: ConfState): boolean {
  return conf.voters.length === 0 && conf.votersOutgoing.length === 0 && conf.learners.length === 0;
}

/** Everybody who takes part, ascending: the replicas whose progress a leader tracks. */
export function members(conf: ConfState): ReplicaId[] {
  return ascending(new Set([...conf.voters, ...conf.votersOutgoing, ...conf.learners]));
}

/** No steps and no wish for a joint configuration: leave the present one. */
export function leavesJoint(change: ConfChange): boolean {
  return change.transition === 'auto' && change.steps.length === 0;
}

/** Applies `change` by its transition: leave, enter, or the simple single step. */
export function changeConf(conf: ConfState, change: ConfChange): ConfChangeResult {
  if (leavesJoint(change)) return leaveJoint(conf);
  if (change.transition === 'auto' && change.steps.length === 1) return simple(conf, change.steps);
  return enterJoint(conf, change.transition !== 'explicit', change.steps);
}

/** Applies steps that change at most one voter. */
export function simple(conf: ConfState, steps: readonly ConfChangeStep[]): ConfChangeResult {
  if (isJoint(conf)) return refuse('simple-in-joint');
  const draft = applySteps(openDraft(conf), steps);
  if (draft.voters.size === 0) return refuse('removes-all-voters');
  let differences = 0;
  for (const voter of draft.voters) if (!conf.voters.includes(voter)) differences++;
  for (const voter of conf.voters) if (!draft.voters.has(voter)) differences++;
  if (differences > 1) return refuse('several-voters');
  return accept(draft);
}

/** The present voters become the outgoing half; `steps` form the incoming one. */
export function enterJoint(
  conf: ConfState,
  autoLeave: boolean,
  steps: readonly ConfChangeStep[],
): ConfChangeResult {
  if (isJoint(conf)) return refuse('already-joint');
  if (conf.voters.length === 0) return refuse('no-voters-to-join');
  const draft = openDraft(conf);
  for (const voter of conf.voters) draft.outgoing.add(voter);
  applySteps(draft, steps);
  if (draft.voters.size === 0) return refuse('removes-all-voters');
  draft.autoLeave = autoLeave;
  return accept(draft);
}

/** Drops the outgoing half; those that waited in learnersNext become learners. */
export function leaveJoint(conf: ConfState): ConfChangeResult {
  if (!isJoint(conf)) return refuse('not-joint');
  const draft = openDraft(conf);
  for (const learner of draft.learnersNext) draft.learners.add(learner);
  draft.learnersNext.clear();
  draft.outgoing.clear();
  draft.autoLeave = false;
  return accept(draft);
}

/** A configuration read from a disk or a peer: checked, ids ascending. */
export function checkedConf(conf: ConfState): ConfState {
  return acceptDraft(openDraft(conf));
}

interface Draft {
  readonly voters: Set<ReplicaId>;
  readonly outgoing: Set<ReplicaId>;
  readonly learners: Set<ReplicaId>;
  readonly learnersNext: Set<ReplicaId>;
  autoLeave: boolean;
}

function openDraft(conf: ConfState): Draft {
  return {
    voters: new Set(conf.voters),
    outgoing: new Set(conf.votersOutgoing),
    learners: new Set(conf.learners),
    learnersNext: new Set(conf.learnersNext),
    autoLeave: conf.autoLeave,
  };
}

function applySteps(draft: Draft, steps: readonly ConfChangeStep[]): Draft {
  for (const step of steps) {
    if (step.replica === 0) continue;
    if (step.kind === 'addVoter') addVoter(draft, step.replica);
    else if (step.kind === 'addLearner') addLearner(draft, step.replica);
    else if (step.kind === 'remove') forget(draft, step.replica);
  }
  return draft;
}

function addVoter(draft: Draft, replica: ReplicaId): void {
  forget(draft, replica);
  draft.voters.add(replica);
}

function addLearner(draft: Draft, replica: ReplicaId): void {
  if (draft.learners.has(replica)) return;
  forget(draft, replica);
  if (draft.outgoing.has(replica)) draft.learnersNext.add(replica);
  else draft.learners.add(replica);
}

function forget(draft: Draft, replica: ReplicaId): void {
  draft.voters.delete(replica);
  draft.learners.delete(replica);
  draft.learnersNext.delete(replica);
}

function accept(draft: Draft): ConfChangeResult {
  return { ok: true, conf: acceptDraft(draft) };
}

function acceptDraft(draft: Draft): ConfState {
  for (const learner of draft.learners) {
    assert(
      !draft.voters.has(learner) && !draft.outgoing.has(learner),
      () => `replica ${learner} both votes and learns`,
    );
  }
  for (const learner of draft.learnersNext) {
    assert(
      draft.outgoing.has(learner),
      () => `replica ${learner} waits to learn but does not vote`,
    );
  }
  assert(
    draft.outgoing.size > 0 || !draft.autoLeave,
    'only a joint configuration is left by itself',
  );
  return {
    voters: ascending(draft.voters),
    votersOutgoing: ascending(draft.outgoing),
    learners: ascending(draft.learners),
    learnersNext: ascending(draft.learnersNext),
    autoLeave: draft.autoLeave,
  };
}

function refuse(error: ConfChangeError): ConfChangeResult {
  return { ok: false, error };
}

function ascending(ids: Iterable<ReplicaId>): ReplicaId[] {
  return [...ids].sort((a, b) => a - b);
}
