/** What a leader sends: appends, snapshots, heartbeats. */
import { assert } from '../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import { type Core, committedInTerm, send } from './core.ts';
import { leaseHolds, moment } from './lease.ts';
import type { Entry } from './message.ts';
import type { Progress } from './progress.ts';
import { jointVote } from './quorum.ts';
import { type ReadRound, readIndexResponse } from './read-index.ts';

const NO_ENTRIES: readonly Entry[] = [];

/**
 * Sends the next append to `to` unless it is paused; a snapshot when the log no longer reaches
 * back. Without `evenEmpty` only appends that carry entries. Returns whether something was sent.
 */
export function sendAppend(core: Core, to: ReplicaId, evenEmpty: boolean): boolean {
  const progress = core.tracker.member(to);
  if (progress.paused) return false;
  const { log } = core;
  const index = progress.next - 1;
  const logTerm = log.term(index);
  if (typeof logTerm !== 'number') return sendSnapshot(core, to, progress);
  // With a full window only an empty append goes out, so that progress is still possible when all
  // messages of the window were lost.
  const throttled = progress.state === 'replicate' && progress.inflights.full;
  const found = throttled ? NO_ENTRIES : log.entries(progress.next, core.config.messageBytesMax);
  if (found === 'compacted') return sendSnapshot(core, to, progress);
  if (found.length === 0 && !evenEmpty) return false;
  const commit = commitToTell(core, to, index);
  send(core, {
    type: 'append',
    from: core.id,
    to,
    term: core.term,
    index,
    logTerm,
    entries: found,
    commit,
  });
  progress.sentEntries(found.length, dataBytes(found));
  progress.sentCommit(commit);
  return true;
}

/**
 * A follower takes its time to log entries that are committed already. Who is to lead next must not:
 * it hears of their commit when it does.
 *
 * Not where a change of members is among them. Whoever has the entry after such a change durable must
 * have its commit durable, too: a restart goes by the configurations that are committed, and by the
 * one before it might elect with a member that has left, while the others go on without.
 */
function commitToTell(core: Core, to: ReplicaId, index: LogIndex): LogIndex {
  const { log, config, leadTransferee, pendingConfIndex } = core;
  const isHurried = config.appendFanout === 'quorum' && leadTransferee === to;
  return isHurried && pendingConfIndex <= index ? Math.min(log.committed, index) : log.committed;
}

function sendSnapshot(core: Core, to: ReplicaId, progress: Progress): boolean {
  if (!progress.recentActive) {
    core.trace?.({ event: 'snapshotNotSent', to, reason: 'inactive' });
    return false;
  }
  const snapshot = core.log.snapshot();
  if (snapshot === 'unavailable') {
    core.trace?.({ event: 'snapshotNotSent', to, reason: 'unavailable' });
    return false;
  }
  assert(snapshot.index > 0, 'a snapshot to send is not empty');
  core.trace?.({
    event: 'sentSnapshot',
    to,
    firstIndex: core.log.firstIndex(),
    commit: core.log.committed,
    index: snapshot.index,
    term: snapshot.term,
    progress,
  });
  progress.becomeSnapshot(snapshot.index);
  core.trace?.({ event: 'pausedReplication', to, progress });
  send(core, { type: 'snapshot', from: core.id, to, term: core.term, snapshot });
  return true;
}

/**
 * Sends an append to every other member, also empty ones: they carry the commit index. Those who may
 * wait are left to `sendLateAppends`.
 */
export function broadcastAppend(core: Core): void {
  for (const replica of core.tracker.members) {
    if (replica !== core.id && !leaveForLater(core, replica)) sendAppend(core, replica, true);
  }
}

/** True when an append to `to` is left to `sendLateAppends`. */
export function leaveForLater(core: Core, to: ReplicaId): boolean {
  const { fanout, tracker } = core;
  if (!fanout.mayWait(core, to, tracker.member(to))) return false;
  fanout.isLate = true;
  return true;
}

/** Sends what was left for later to all who lack entries or news of commits. */
export function sendLateAppends(core: Core): void {
  core.fanout.isLate = false;
  if (core.role !== 'leader') return;
  for (const replica of core.tracker.members) {
    const progress = core.tracker.member(replica);
    if (replica === core.id || progress.state !== 'replicate') continue;
    const lacks = progress.next <= core.log.lastIndex();
    if (!lacks && !progress.canBumpCommit(core.log.committed)) continue;
    sendAppend(core, replica, true);
    while (sendAppend(core, replica, false));
  }
}

/** Sends a heartbeat with `readContext` to every other member. */
function broadcastHeartbeat(core: Core, readContext: number): void {
  for (const replica of core.tracker.members) {
    if (replica !== core.id) sendHeartbeat(core, replica, readContext);
  }
}

function sendHeartbeat(core: Core, to: ReplicaId, readContext: number): void {
  const progress = core.tracker.member(to);
  // Never the commit of entries the follower may not have.
  const commit = Math.min(progress.match, core.log.committed);
  send(core, { type: 'heartbeat', from: core.id, to, term: core.term, commit, readContext });
  progress.sentCommit(commit);
}

/** The periodic heartbeat. With leases every one is a numbered round. */
export function beat(core: Core): void {
  const sentAt = moment(core);
  if (sentAt !== undefined) core.reads.renew(core.log.committed, core.ticks, sentAt);
  broadcastHeartbeat(core, core.reads.lastWaiting());
}

/** True when reads wait for a round and the commit index is current. */
export function readsReady(core: Core): boolean {
  return core.role === 'leader' && core.reads.hasOpen() && committedInTerm(core);
}

/**
 * Opens one round for all reads gathered since the last: answered at once when this replica alone
 * decides or its lease holds, else by the heartbeat sent here.
 */
export function flushReads(core: Core): void {
  if (!readsReady(core)) return;
  const round = core.reads.close(core.log.committed, core.ticks, moment(core));
  if (core.tracker.isSingleton(core.id) || leaseHolds(core)) {
    serveReads(core, [round]);
    return;
  }
  // A round of an earlier tick has no answer: whoever was asked may never give one.
  const overdue = core.reads.isOverdue(core.ticks);
  core.reads.wait(round);
  if (core.config.readFanout !== 'quorum' || overdue) broadcastHeartbeat(core, round.number);
  else askQuorum(core, round.number);
}

/**
 * The index at which a read may be served that `voter` sent on, having this leader's term when it did:
 * its word stands for the answer of a round, if with this replica it makes a quorum. Neither of the two
 * had voted for a later leader by then, so none had been elected, and all that had been acknowledged
 * before the read was sent on is committed here. When the word arrives does not matter.
 */
export function vouchedReadIndex(core: Core, voter: ReplicaId): LogIndex | undefined {
  if (core.role !== 'leader' || !committedInTerm(core)) return undefined;
  const answered = new Map([core.id, voter].map((replica) => [replica, true]));
  return jointVote(core.tracker.conf, answered) === 'won' ? core.log.committed : undefined;
}

/**
 * A quorum's answers confirm a round, so only those are asked who were the quickest so far. Should
 * one of them not answer, the next periodic heartbeat asks everybody.
 */
function askQuorum(core: Core, readContext: number): void {
  for (const voter of core.reads.quickest(core.id, core.tracker.conf)) {
    sendHeartbeat(core, voter, readContext);
  }
}

/** A quorum has confirmed `rounds`, oldest first: their reads may be served. */
export function serveReads(core: Core, rounds: readonly ReadRound[]): void {
  for (const round of rounds) {
    if (round.hasReads) core.readStates.push({ readContext: round.number, index: round.index });
    for (const read of round.forwarded) {
      send(core, readIndexResponse(core.id, core.term, round.index, read));
    }
  }
}

export function dataBytes(entries: readonly { readonly data: Uint8Array }[]): number {
  let bytes = 0;
  for (let i = 0; i < entries.length; i++) bytes += entries[i]!.data.length;
  return bytes;
}
