/** Which part of a replica's log may go: never beyond what its engine has synced (decision 7). */
import { assert } from '../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { ProgressStatus } from '../raft/ready.ts';
import type { RaftLog, ReplicaLog } from '../raftlog/raft-log.ts';
import type { PartitionSettings } from './replica-world.ts';

export interface LogSize {
  readonly first: LogIndex;
  readonly last: LogIndex;
  /** Entry data from `first` to `last`. */
  readonly bytes: number;
}

/** Of what may be kept, this share must be free to go before a compaction is worth its record. */
const WORTH_SHARE = 1 / 8;

/**
 * The index up to which the log may go; undefined while it is not worth it. A tail is kept by count
 * and bytes for followers that lag a little. What a follower is being sent (or the snapshot it is
 * being sent leaves out) is kept, too, up to `logHeldBytes`: else it would need another snapshot.
 */
export function compactionTarget(
  { first, last, bytes }: LogSize,
  syncedIndex: LogIndex,
  { logKeepEntries, logKeepBytes }: Pick<PartitionSettings, 'logKeepEntries' | 'logKeepBytes'>,
  peers: readonly ProgressStatus[],
): LogIndex | undefined {
  const count = last - first + 1;
  if (count <= 0) return undefined;
  const average = Math.max(1, bytes / count);
  const kept = Math.min(logKeepEntries, Math.max(1, Math.floor(logKeepBytes / average)));
  let target = Math.min(syncedIndex, last - kept);
  if (bytes < limits.logHeldBytes) {
    for (const peer of peers) {
      // one that is being sent a snapshot may have been silent: its transfer goes on all the same
      const held = peer.recentActive || peer.state === 'snapshot';
      if (held) target = Math.min(target, neededAfter(peer));
    }
  }
  return target - first + 1 >= Math.max(1, kept * WORTH_SHARE) ? target : undefined;
}

/** A follower on its way needs what follows this index. */
function neededAfter({ state, match, pendingSnapshot }: ProgressStatus): LogIndex {
  if (state === 'snapshot') return Math.max(match, pendingSnapshot);
  return state === 'replicate' ? match : Number.POSITIVE_INFINITY;
}

export function compactLog(
  { log, settings }: { readonly log: RaftLog; readonly settings: PartitionSettings },
  replica: ReplicaId,
  own: ReplicaLog,
  syncedIndex: LogIndex,
  peers: readonly ProgressStatus[],
): void {
  const size = { first: own.firstIndex(), last: own.lastIndex(), bytes: own.dataBytes };
  const target = compactionTarget(size, syncedIndex, settings, peers);
  if (target === undefined) return;
  const term = own.term(target);
  assert(typeof term === 'number', 'an index between first and last has a term');
  log.append({ replica, compact: { index: target, term } }, () => {});
}
