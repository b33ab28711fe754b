/** Which part of a replica's log may go: never beyond what its engine has synced (decision 7). */
import { assert } from '../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import type { RaftLog, ReplicaLog } from '../raftlog/raft-log.ts';
import type { PartitionSettings } from './replica-world.ts';

/** Keeps some entries, by count and bytes, for followers that lag a little. */
export function compactLog(
  log: RaftLog,
  replica: ReplicaId,
  own: ReplicaLog,
  syncedIndex: LogIndex,
  { logKeepEntries, logKeepBytes }: PartitionSettings,
): void {
  const target = syncedIndex - logKeepEntries;
  if (target < own.firstIndex() || own.dataBytes < logKeepBytes) return;
  const term = own.term(target);
  assert(typeof term === 'number', 'an index between first and last has a term');
  log.append({ replica, compact: { index: target, term } }, () => {});
}
