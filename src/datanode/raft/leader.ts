/** What a leader does with proposals and with its followers' answers. */
import { assert } from '../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import { changeConf, isJoint, leavesJoint } from './conf-change.ts';
import { decodeConfChange } from './conf-change-codec.ts';
import {
  becomeFollower,
  type Core,
  committedInTerm,
  reset,
  send,
  sendAppendResponse,
} from './core.ts';
import {
  type ConfChange,
  type Entry,
  NONE,
  type PeerMessage,
  type ProposedEntry,
} from './message.ts';
import type { Progress } from './progress.ts';
import type { ProposeResult, Refusal } from './ready.ts';
import {
  broadcastAppend,
  dataBytes,
  leaveForLater,
  sendAppend,
  serveReads,
} from './replication.ts';

const NO_DATA = new Uint8Array(0);

type AppendResponse = Extract<PeerMessage, { type: 'appendResponse' }>;
type HeartbeatResponse = Extract<PeerMessage, { type: 'heartbeatResponse' }>;

/** Leads the present term: appends an empty entry, whose commit commits all before it. */
export function becomeLeader(core: Core): void {
  assert(core.role !== 'follower', 'only a candidate becomes leader');
  reset(core, core.term);
  core.leader = core.id;
  core.role = 'leader';
  const own = core.tracker.member(core.id);
  own.becomeReplicate();
  own.recentActive = true;
  // An earlier leader may have left a membership change in the tail: none is proposed before all
  // of the tail is applied (the flaw of single changes found in 2015 is closed by the same wait).
  core.pendingConfIndex = core.log.lastIndex();
  const refusal = appendProposed(core, [{ kind: 'normal', data: NO_DATA }]);
  assert(refusal === undefined, 'an empty entry is never refused');
  core.trace?.({ event: 'becameLeader', term: core.term });
}

/**
 * Appends `proposed` and sends it to the followers. Nothing is appended when the result is a
 * refusal. An inadmissible membership change in it is replaced by an empty entry.
 */
export function proposeAsLeader(core: Core, proposed: readonly ProposedEntry[]): ProposeResult {
  assert(proposed.length > 0, 'a proposal has entries');
  if (core.tracker.progress(core.id) === undefined) return refuse('removed');
  if (core.leadTransferee !== NONE) {
    core.trace?.({
      event: 'proposalDuringTransfer',
      term: core.term,
      transferee: core.leadTransferee,
    });
    return refuse('transferring');
  }
  const index = core.log.lastIndex() + 1;
  const refusal = appendProposed(core, checkConfChanges(core, proposed));
  if (refusal !== undefined) return refuse(refusal);
  core.fanout.onProposed(core);
  broadcastAppend(core);
  return { ok: true, term: core.term, index };
}

/** Why `change` may not be proposed now, or undefined. */
export function confChangeRefusal(core: Core, change: ConfChange): Refusal | undefined {
  if (core.config.disableConfChangeValidation) return undefined;
  if (core.pendingConfIndex > core.log.applied) return 'conf-change-pending';
  const { conf } = core.tracker;
  return changeConf(conf, change).ok ? undefined : 'conf-change-invalid';
}

/** A voter that holds nothing has no configuration and does not vote: it could stop the group. */
export function newVoterRefusal(core: Core, change: ConfChange): Refusal | undefined {
  for (const { kind, replica } of change.steps) {
    if (kind !== 'addVoter' || core.tracker.isVoter(replica)) continue;
    const match = core.tracker.progress(replica)?.match ?? 0;
    if (match === 0) return 'voter-not-ready';
  }
  return undefined;
}

function refuse(refusal: Refusal): ProposeResult {
  return { ok: false, refusal };
}

function checkConfChanges(
  core: Core,
  proposed: readonly ProposedEntry[],
): readonly ProposedEntry[] {
  if (proposed.every((entry) => entry.kind === 'normal')) return proposed;
  const first = core.log.lastIndex() + 1;
  return proposed.map((entry, i) => {
    if (entry.kind === 'normal') return entry;
    const change = decodeConfChange(entry.data);
    const refusal = confChangeRefusal(core, change);
    if (refusal === undefined) {
      core.pendingConfIndex = first + i;
      return entry;
    }
    const { conf } = core.tracker;
    core.trace?.({
      event: 'confChangeIgnored',
      change,
      kind: entry.kind,
      conf,
      refusal,
      pendingIndex: core.pendingConfIndex,
      applied: core.log.applied,
      joint: isJoint(conf),
      leaving: leavesJoint(change),
    });
    return { kind: 'normal', data: NO_DATA };
  });
}

/** Appends to the own log, or says why not; the acknowledgement follows when it is durable. */
function appendProposed(core: Core, proposed: readonly ProposedEntry[]): Refusal | undefined {
  const bytes = dataBytes(proposed);
  const { uncommittedBytes } = core;
  // Empty proposals always pass, and so does any when nothing is outstanding: else an entry
  // larger than the limit could never be written.
  if (uncommittedBytes > 0 && bytes > 0) {
    if (uncommittedBytes + bytes > core.config.uncommittedBytesMax) {
      core.trace?.({ event: 'proposalOverLimit' });
      return 'uncommitted-limit';
    }
  }
  core.uncommittedBytes += bytes;
  const first = core.log.lastIndex() + 1;
  const entries: Entry[] = [];
  for (let i = 0; i < proposed.length; i++) {
    const { kind, data } = proposed[i]!;
    entries.push({ term: core.term, index: first + i, kind, data });
  }
  sendAppendResponse(core, core.id, core.log.append(entries));
  return undefined;
}

/** Entries of `bytes` data are applied: so much more may be proposed. */
export function reduceUncommitted(core: Core, bytes: number): void {
  core.uncommittedBytes = Math.max(0, core.uncommittedBytes - bytes);
}

/** Leaves a joint configuration that wants to be left, once it and all before it is applied. */
export function leaveJointWhenApplied(core: Core): void {
  const { conf } = core.tracker;
  if (!conf.autoLeave || core.role !== 'leader') return;
  if (core.log.applied < core.pendingConfIndex) return;
  // Refused during a transfer; then the next applied entry, or the next leader, tries again.
  const result = proposeAsLeader(core, [{ kind: 'confChangeV2', data: NO_DATA }]);
  core.trace?.({ event: result.ok ? 'autoLeave' : 'autoLeaveRefused', conf });
}

/** Counts what is durable on a quorum. Returns whether more is committed. */
export function maybeCommit(core: Core): boolean {
  return core.log.maybeCommit(core.tracker.committed(), core.term);
}

/** Steps down unless a quorum was heard from since the last time; once per election timeout. */
export function checkQuorumActive(core: Core): void {
  if (!core.tracker.quorumActive()) {
    core.trace?.({ event: 'quorumLost' });
    becomeFollower(core, core.term, NONE);
  }
  for (const replica of core.tracker.members) {
    if (replica !== core.id) core.tracker.member(replica).beginCheck();
  }
}

export function stepLeader(core: Core, message: PeerMessage): void {
  if (message.type === 'readIndex') {
    core.reads.requestFor(message.from, message.readContext);
    return;
  }
  const progress = core.tracker.progress(message.from);
  if (progress === undefined) {
    core.trace?.({ event: 'noProgress', from: message.from });
    return;
  }
  // Everything else is for other roles, or was handled before.
  if (message.type === 'appendResponse') stepAppendResponse(core, message, progress);
  else if (message.type === 'heartbeatResponse') stepHeartbeatResponse(core, message, progress);
  else if (message.type === 'transferLeader') transferTo(core, message.from, progress);
}

function stepAppendResponse(core: Core, message: AppendResponse, progress: Progress): void {
  progress.heard();
  if (message.reject) stepRejection(core, message, progress);
  else stepAcknowledgement(core, message.from, message.index, progress);
}

/**
 * The follower refused: it named the last place where the logs may agree. Our own terms may show
 * that they agree only earlier, so at most one probe per term is spent.
 */
function stepRejection(core: Core, message: AppendResponse, progress: Progress): void {
  const { from, index, rejectHint, logTerm } = message;
  core.trace?.({ event: 'appendRejected', from, index, hint: rejectHint, term: logTerm });
  const hint = logTerm > 0 ? core.log.findConflictByTerm(rejectHint, logTerm).index : rejectHint;
  if (!progress.maybeDecrease(index, hint)) return;
  core.trace?.({ event: 'progressDecreased', from, progress });
  if (progress.state === 'replicate') progress.becomeProbe();
  sendAppend(core, from, true);
}

function stepAcknowledgement(
  core: Core,
  from: ReplicaId,
  index: LogIndex,
  progress: Progress,
): void {
  const news = progress.maybeUpdate(index);
  // Also an old acknowledgement ends the probing of a follower that is caught up.
  if (!news && !(progress.match === index && progress.state === 'probe')) return;
  if (progress.state === 'probe') {
    progress.becomeReplicate();
  } else if (progress.state === 'snapshot') {
    recoverFromSnapshot(core, from, progress);
  } else {
    progress.inflights.freeUpTo(index);
  }
  core.fanout.onAcknowledged(core, from, progress.match);
  if (maybeCommit(core)) {
    broadcastAppend(core);
  } else if (from !== core.id && progress.canBumpCommit(core.log.committed)) {
    if (!leaveForLater(core, from)) sendAppend(core, from, true);
  }
  if (from !== core.id && progress.next <= core.log.lastIndex() && !leaveForLater(core, from)) {
    // The window may have room for several messages now.
    while (sendAppend(core, from, false));
  }
  if (from === core.leadTransferee && progress.match === core.log.lastIndex()) {
    core.trace?.({ event: 'timeoutNowAfterCatchUp', to: from });
    sendTimeoutNow(core, from);
  }
}

/** Wherever a follower got its state from: if the log reaches back to it, the log goes on. */
function recoverFromSnapshot(core: Core, from: ReplicaId, progress: Progress): void {
  if (progress.match + 1 >= core.log.firstIndex()) {
    core.trace?.({ event: 'recoveredFromSnapshot', from, progress });
    progress.becomeProbe();
    progress.becomeReplicate();
  } else if (progress.match >= progress.pendingSnapshot) {
    // It has the snapshot, but the log was compacted meanwhile: the next append sends a newer one.
    progress.becomeProbe();
  }
}

function stepHeartbeatResponse(core: Core, message: HeartbeatResponse, progress: Progress): void {
  const { from, readContext, promised = false } = message;
  progress.heard();
  progress.flowPaused = false;
  // A full window gets an empty append, so that lost messages are noticed; a caught-up follower in
  // state probe gets one to return to replicate.
  if (progress.match < core.log.lastIndex() || progress.state === 'probe') {
    const isBehind = progress.next <= core.log.lastIndex();
    if (!isBehind || !leaveForLater(core, from)) sendAppend(core, from, true);
  }
  if (readContext === 0) return;
  const confirmed = core.reads.answer(core.id, core.tracker.conf, { from, readContext, promised });
  if (confirmed.length > 0) {
    assert(committedInTerm(core) || confirmed.every((round) => !round.hasReads), 'reads wait');
    serveReads(core, confirmed);
  }
}

/** Hands leadership to `to`, at once or when it has caught up (thesis 3.10). */
export function transferTo(core: Core, to: ReplicaId, progress: Progress): void {
  if (progress.learner) {
    core.trace?.({ event: 'transferToLearner' });
    return;
  }
  const former = core.leadTransferee;
  if (former !== NONE) {
    if (former === to) {
      core.trace?.({ event: 'transferRepeated', term: core.term, to });
      return;
    }
    core.leadTransferee = NONE;
    core.trace?.({ event: 'transferAborted', term: core.term, to: former });
  }
  if (to === core.id) {
    core.trace?.({ event: 'transferToSelf' });
    return;
  }
  core.trace?.({ event: 'transferStarted', term: core.term, to });
  // It has one election timeout.
  core.electionElapsed = 0;
  core.leadTransferee = to;
  if (progress.match === core.log.lastIndex()) {
    sendTimeoutNow(core, to);
    core.trace?.({ event: 'timeoutNowAtOnce', to });
  } else {
    sendAppend(core, to, true);
  }
}

function sendTimeoutNow(core: Core, to: ReplicaId): void {
  // From now on voters may elect it without waiting for the lease to end, however late it arrives.
  core.reads.banLease();
  send(core, { type: 'timeoutNow', from: core.id, to, term: core.term });
}

/** The transport could not deliver to `replica`: its in-flight appends may be lost. */
export function reportUnreachable(core: Core, replica: ReplicaId): void {
  const progress = core.tracker.progress(replica);
  if (core.role !== 'leader' || progress === undefined) return;
  if (progress.state === 'replicate') progress.becomeProbe();
  core.trace?.({ event: 'unreachable', replica, progress });
}

/** The snapshot for `replica` was delivered or not; appends resume at its next sign of life. */
export function reportSnapshot(core: Core, replica: ReplicaId, outcome: 'sent' | 'failed'): void {
  const progress = core.tracker.progress(replica);
  if (core.role !== 'leader' || progress?.state !== 'snapshot') return;
  // A failed snapshot must not move the probe behind what the follower has.
  if (outcome === 'failed') progress.pendingSnapshot = 0;
  progress.becomeProbe();
  core.trace?.({ event: 'snapshotReported', replica, outcome, progress });
  progress.flowPaused = true;
}
