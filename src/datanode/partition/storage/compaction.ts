/** Which part of a replica's log may go: never beyond what its engine has synced (decision 7). */
import { assert } from '../../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../../common/ids.ts';
import type { ProgressStatus } from '../../raft/ready.ts';
import type { RaftLog, ReplicaLog } from '../../raftlog/raft-log.ts';
import type { PartitionSettings } from '../replica/replica-world.ts';

export interface LogSize {
  readonly first: LogIndex;
  readonly last: LogIndex;
  /** Entry data from `first` to `last`. */
  readonly bytes: number;
}

export type CompactionSettings = Pick<
  PartitionSettings,
  'logKeepEntries' | 'logKeepBytes' | 'logHeldBytes'
>;

export interface LogNeeds {
  readonly peers: readonly ProgressStatus[];
  /** Index of the snapshot that is being sent, or kept to be sent on. */
  readonly snapshotIndex: LogIndex | undefined;
}

/** Of what may be kept, this share must be free to go before a compaction is worth its record. */
const WORTH_SHARE = 1 / 8;

/**
 * The index up to which the log may go; undefined while it is not worth it. A tail is kept by count
 * and bytes for followers that lag a little. What a follower is being sent, and what follows the
 * snapshot kept for sending, stays, too, while the log has at most `logHeldBytes`:
 * else another snapshot would be needed.
 */
export function compactionTarget(
  { first, last, bytes }: LogSize,
  syncedIndex: LogIndex,
  { logKeepEntries, logKeepBytes, logHeldBytes }: CompactionSettings,
  { peers, snapshotIndex }: LogNeeds,
): LogIndex | undefined {
  const count = last - first + 1;
  if (count <= 0) return undefined;
  const average = Math.max(1, bytes / count);
  const kept = Math.min(logKeepEntries, Math.max(1, Math.floor(logKeepBytes / average)));
  let target = Math.min(syncedIndex, last - kept);
  if (bytes < logHeldBytes) {
    for (const peer of peers) {
      // one that is being sent a snapshot may have been silent: its transfer goes on all the same
      const held = peer.heardLately || peer.state === 'snapshot';
      if (held) target = Math.min(target, neededAfter(peer, first));
    }
    target = Math.min(target, snapshotIndex ?? target);
  }
  return target - first + 1 >= Math.max(1, kept * WORTH_SHARE) ? target : undefined;
}

/** A follower on its way needs what follows this index; nothing here if the log begins later. */
function neededAfter(peer: ProgressStatus, first: LogIndex): LogIndex {
  const after = lastHad(peer);
  return after >= first - 1 ? after : Number.POSITIVE_INFINITY;
}

function lastHad({ state, match, next, pendingSnapshot }: ProgressStatus): LogIndex {
  if (state === 'snapshot') return Math.max(match, pendingSnapshot);
  // while it is probed, the place tried now is the best guess: after a snapshot it is its index
  return state === 'replicate' ? match : next - 1;
}

export function compactLog(
  { log, settings }: { readonly log: RaftLog; readonly settings: PartitionSettings },
  replica: ReplicaId,
  own: ReplicaLog,
  syncedIndex: LogIndex,
  needs: LogNeeds,
): void {
  const size = { first: own.firstIndex(), last: own.lastIndex(), bytes: own.dataBytes };
  const target = compactionTarget(size, syncedIndex, settings, needs);
  if (target === undefined) return;
  const term = own.term(target);
  assert(typeof term === 'number', 'an index between first and last has a term');
  log.append({ replica, compact: { index: target, term } }, () => {});
}
