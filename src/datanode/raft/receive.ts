/** What a follower does with its leader's messages: append, heartbeat, snapshot. */
import { assert } from '../../common/assert.ts';
import { KvorumError } from '../../common/errors.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import { becomeFollower, type Core, send, sendAppendResponse } from './core.ts';
import { promise } from './lease.ts';
import { switchConf } from './membership.ts';
import { NONE, type PeerMessage, type Snapshot } from './message.ts';

type Append = Extract<PeerMessage, { type: 'append' }>;
type Heartbeat = Extract<PeerMessage, { type: 'heartbeat' }>;
type SnapshotMessage = Extract<PeerMessage, { type: 'snapshot' }>;
/** The messages that only the leader of their term sends. */
export type LeaderMessage = Append | Heartbeat | SnapshotMessage;

export function receiveFromLeader(core: Core, message: LeaderMessage): void {
  assert(message.term === core.term, 'a leader message was brought to its own term before');
  const promised = promise(core);
  if (message.type === 'append') receiveAppend(core, message);
  else if (message.type === 'heartbeat') receiveHeartbeat(core, message, promised);
  else receiveSnapshot(core, message.from, message.snapshot);
}

function receiveAppend(core: Core, message: Append): void {
  const { log } = core;
  const { from, index, logTerm, entries, commit } = message;
  if (index < log.committed) {
    sendAppendResponse(core, from, log.committed);
    return;
  }
  const last = log.maybeAppend(index, logTerm, entries, commit);
  if (last !== undefined) {
    sendAppendResponse(core, from, last);
    return;
  }
  core.trace?.({ event: 'rejectedAppend', from, index, logTerm, ours: log.termOrZero(index) });
  // The leader has only terms up to logTerm before `index`: so the logs can agree at the earliest
  // where ours has such a term, too.
  const hint = log.findConflictByTerm(Math.min(index, log.lastIndex()), logTerm);
  sendAppendResponse(core, from, index, { hint: hint.index, term: hint.term });
}

function receiveHeartbeat(core: Core, message: Heartbeat, promised: boolean): void {
  const { from, commit, readContext } = message;
  if (commit > core.log.lastIndex()) throw lostEntries(core, commit);
  core.log.commitTo(commit);
  send(core, {
    type: 'heartbeatResponse',
    from: core.id,
    to: from,
    term: core.term,
    readContext,
    ...(promised && { promised }),
  });
}

function receiveSnapshot(core: Core, from: ReplicaId, snapshot: Snapshot): void {
  const { log } = core;
  const { index, term } = snapshot;
  const restored = restore(core, snapshot);
  core.trace?.({
    event: restored ? 'snapshotTaken' : 'snapshotIgnored',
    commit: log.committed,
    index,
    term,
  });
  sendAppendResponse(core, from, restored ? log.lastIndex() : log.committed);
}

/** Replaces log and configuration by the snapshot's, unless this replica needs or wants it not. */
function restore(core: Core, snapshot: Snapshot): boolean {
  const { log } = core;
  const { index, term, confState } = snapshot;
  if (index <= log.committed) return false;
  if (core.role !== 'follower') {
    core.trace?.({ event: 'snapshotAsLeader' });
    becomeFollower(core, core.term + 1, NONE);
    return false;
  }
  const { voters, learners, votersOutgoing } = confState;
  if (![voters, learners, votersOutgoing].some((ids) => ids.includes(core.id))) {
    core.trace?.({ event: 'snapshotWithoutSelf', confState });
    return false;
  }
  const marks = () => ({
    commit: log.committed,
    lastIndex: log.lastIndex(),
    lastTerm: log.lastTerm(),
    index,
    term,
  });
  if (log.matches(index, term)) {
    core.trace?.({ event: 'snapshotNotNeeded', ...marks() });
    log.commitTo(index);
    return false;
  }
  log.restore(snapshot);
  core.confBeforeSnapshot ??= core.tracker.conf;
  core.tracker.clear();
  switchConf(core, confState);
  core.trace?.({ event: 'restored', ...marks() });
  return true;
}

/** A leader tells nobody a commit beyond what it has acknowledged: so its log was longer once. */
function lostEntries(core: Core, commit: LogIndex): KvorumError {
  return new KvorumError(
    'CORRUPT',
    `replica ${core.id}: its raft log ends at ${core.log.lastIndex()}, but it has acknowledged ` +
      `entries up to ${commit}: an older copy of the data directory was put back, or the disk lost ` +
      'what it had synced; this replica must not vote any more, and is rebuilt from the others',
  );
}
