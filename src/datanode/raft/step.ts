/** One message, or one tick, in: the terms are compared here, then the role's file takes over. */
import type { ReplicaId, Term } from '../../common/ids.ts';
import {
  campaignIfAllowed,
  commitMark,
  electionOf,
  learnCommit,
  stepCandidate,
} from './candidate.ts';
import { isEmptyConf } from './conf-change.ts';
import {
  becomeFollower,
  type Core,
  promotable,
  send,
  sendAfterAppend,
  sendAppendResponse,
} from './core.ts';
import { stepFollower } from './follower.ts';
import {
  checkQuorumActive,
  leaveJointWhenApplied,
  proposeAsLeader,
  reduceUncommitted,
  stepLeader,
} from './leader.ts';
import { holdsVote } from './lease.ts';
import { type Entry, type Message, NONE, type PeerMessage, type Snapshot } from './message.ts';
import type { ProposeResult, StepResult } from './ready.ts';
import { beat, dataBytes } from './replication.ts';
import { entriesCost } from './unstable.ts';

type VoteRequest = Extract<PeerMessage, { type: 'vote' | 'preVote' }>;
type AppendDone = Extract<Message, { type: 'storageAppendResponse' }>;

/** One unit of logical time. */
export function tick(core: Core): void {
  core.ticks++;
  core.electionElapsed++;
  if (core.role === 'leader') tickLeader(core);
  else tickElection(core);
}

function tickElection(core: Core): void {
  if (core.electionElapsed < core.randomizedElectionTicks) return;
  if (!promotable(core) || holdsVote(core)) return;
  core.electionElapsed = 0;
  campaignIfAllowed(core, electionOf(core));
}

function tickLeader(core: Core): void {
  core.heartbeatElapsed++;
  if (core.electionElapsed >= core.config.electionTicks) {
    core.electionElapsed = 0;
    if (core.config.checkQuorum) checkQuorumActive(core);
    // A transfer that did not succeed in one election timeout is given up.
    if (core.role === 'leader') core.leadTransferee = NONE;
  }
  if (core.role !== 'leader') return;
  if (core.heartbeatElapsed < core.config.heartbeatTicks) return;
  core.heartbeatElapsed = 0;
  beat(core);
}

/** Takes one message; see RaftNode.step. */
export function step(core: Core, message: Message): StepResult {
  switch (message.type) {
    case 'storageAppendResponse':
      stepAppendDone(core, message);
      return 'ok';
    case 'storageApplyResponse':
      stepApplyDone(core, message.entries);
      return 'ok';
    case 'storageAppend':
    case 'storageApply':
      return 'ok';
    case 'propose':
      return proposeMessage(core, message).ok ? 'ok' : 'proposal-dropped';
    case 'vote':
    case 'preVote':
      // Without a configuration there is nothing to vote about (and no vote is ever forgotten).
      if (isEmptyConf(core.tracker.conf)) return 'ok';
      learnCommit(core, message);
      if (reachesTerm(core, message)) stepVoteRequest(core, message);
      return 'ok';
    case 'voteResponse':
    case 'preVoteResponse':
      // Before the terms are compared: a voter of an older term knows no less of the log.
      learnCommit(core, message);
      if (reachesTerm(core, message)) stepByRole(core, message);
      return 'ok';
    default:
      if (reachesTerm(core, message)) stepByRole(core, message);
      return 'ok';
  }
}

function stepByRole(core: Core, message: PeerMessage): void {
  if (core.role === 'leader') stepLeader(core, message);
  else if (core.role === 'follower') stepFollower(core, message);
  else stepCandidate(core, message);
}

/** A proposal by message: a follower forwards it, unless that is disabled. */
function proposeMessage(
  core: Core,
  message: Extract<PeerMessage, { type: 'propose' }>,
): ProposeResult {
  if (core.role === 'leader') return proposeAsLeader(core, message.entries);
  if (core.role !== 'follower' || core.leader === NONE) {
    core.trace?.({ event: 'proposalWithoutLeader', term: core.term });
  } else if (core.config.disableProposalForwarding) {
    core.trace?.({ event: 'proposalNotForwarded', leader: core.leader, term: core.term });
  } else {
    send(core, { ...message, to: core.leader });
    return { ok: true, term: core.term, index: 0 };
  }
  return { ok: false, refusal: 'not-leader' };
}

/**
 * Compares the message's term with ours: a higher one makes us its follower, a lower one is
 * answered or dropped. Returns whether the message is to be handled.
 */
function reachesTerm(core: Core, message: PeerMessage): boolean {
  if (message.term === 0 || message.term === core.term) return true;
  if (message.term < core.term) {
    stepLowerTerm(core, message);
    return false;
  }
  const { type } = message;
  if ((type === 'vote' || type === 'preVote') && refusesByLease(core, message)) return false;
  // Nobody's term changes by a pre-vote; a granted one comes back with the term it was asked for.
  if (type === 'preVote' || (type === 'preVoteResponse' && !message.reject)) return true;
  core.trace?.({
    event: 'higherTerm',
    ours: core.term,
    type,
    from: message.from,
    term: message.term,
  });
  const fromLeader = type === 'append' || type === 'heartbeat' || type === 'snapshot';
  becomeFollower(core, message.term, fromLeader ? message.from : NONE);
  return true;
}

/** Within an election timeout of hearing from a leader no other is helped (thesis 4.2.3, 6.4.1). */
function refusesByLease(core: Core, message: VoteRequest): boolean {
  if (message.transfer) return false;
  const { electionTicks, checkQuorum } = core.config;
  const heard = checkQuorum && core.leader !== NONE && core.electionElapsed < electionTicks;
  if (!heard && !holdsVote(core)) return false;
  traceVote(core, 'ignoredVote', message, { remaining: electionTicks - core.electionElapsed });
  return true;
}

function stepLowerTerm(core: Core, message: PeerMessage): void {
  const { from, type } = message;
  const { checkQuorum, preVote } = core.config;
  if ((checkQuorum || preVote) && (type === 'heartbeat' || type === 'append')) {
    // A leader of the past that we cannot outvote (it ignores our votes by its lease): our term
    // tells it to step down.
    sendAppendResponse(core, from, 0);
  } else if (message.type === 'preVote') {
    traceVote(core, 'rejectedVote', message, {});
    answerVote(core, from, 'preVoteResponse', core.term, true);
  } else {
    core.trace?.({ event: 'lowerTerm', ours: core.term, type, from, term: message.term });
  }
}

function stepVoteRequest(core: Core, message: VoteRequest): void {
  const { from, term, index, logTerm, type } = message;
  const pre = type === 'preVote';
  if (!message.transfer && holdsVote(core)) return;
  const mayVote =
    core.vote === from || (core.vote === NONE && core.leader === NONE) || (pre && term > core.term);
  const response = pre ? 'preVoteResponse' : 'voteResponse';
  // Learners vote, too: the candidate may know of a promotion that has not reached us.
  if (!mayVote || !core.log.isUpToDate(index, logTerm)) {
    traceVote(core, 'rejectedVote', message, {});
    answerVote(core, from, response, core.term, true);
    return;
  }
  traceVote(core, 'castVote', message, {});
  // The term of the request: that of a pre-vote is ahead of ours.
  answerVote(core, from, response, term, false);
  if (!pre) {
    core.electionElapsed = 0;
    core.vote = from;
  }
}

function answerVote(
  core: Core,
  to: ReplicaId,
  type: 'voteResponse' | 'preVoteResponse',
  term: Term,
  reject: boolean,
): void {
  sendAfterAppend(core, { type, from: core.id, to, term, reject, ...commitMark(core) });
}

function traceVote(
  core: Core,
  event: 'ignoredVote' | 'rejectedVote' | 'castVote',
  message: VoteRequest,
  more: { readonly remaining?: number },
): void {
  core.trace?.({
    event,
    lastTerm: core.log.lastTerm(),
    lastIndex: core.log.lastIndex(),
    vote: core.vote,
    type: message.type,
    from: message.from,
    logTerm: message.logTerm,
    index: message.index,
    term: core.term,
    ...more,
  });
}

/**
 * Entries or a snapshot are durable. An answer given under an older term says nothing about the
 * entries: they may have been replaced since, by a write that is still on its way (A, B, A again).
 */
function stepAppendDone(core: Core, message: AppendDone): void {
  const { index, logTerm, snapshot, term } = message;
  if (index !== 0) {
    if (term < core.term) core.trace?.({ event: 'oldAppendDone', ours: core.term, term });
    else core.log.unstable.stableTo(index, logTerm);
  }
  if (snapshot !== undefined) stepSnapshotDone(core, snapshot);
}

function stepSnapshotDone(core: Core, snapshot: Snapshot): void {
  core.log.unstable.stableSnapshotTo(snapshot.index);
  if (!core.log.hasPendingSnapshot()) core.confBeforeSnapshot = undefined;
  core.log.appliedTo(Math.max(snapshot.index, core.log.applied), 0);
  leaveJointWhenApplied(core);
}

function stepApplyDone(core: Core, entries: readonly Entry[]): void {
  if (entries.length === 0) return;
  const last = entries[entries.length - 1]!.index;
  core.log.appliedTo(Math.max(last, core.log.applied), entriesCost(entries));
  leaveJointWhenApplied(core);
  reduceUncommitted(core, dataBytes(entries));
}

/** It only answers: from who is no member it counts for nothing. */
export function isResponse(message: Message): boolean {
  switch (message.type) {
    case 'appendResponse':
    case 'heartbeatResponse':
    case 'voteResponse':
    case 'preVoteResponse':
    case 'readIndexResponse':
      return true;
    default:
      return false;
  }
}
