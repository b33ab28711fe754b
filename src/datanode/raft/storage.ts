/**
 * What the core reads of its log. Synchronous: the log keeps the tail in memory and reads older
 * entries from the page cache. `compacted` and `unavailable` are values, not exceptions.
 */
import type { LogIndex, Term } from '../../common/ids.ts';
import type { ConfState, Entry, HardState, Snapshot } from './message.ts';

export interface RaftStorage {
  initialState(): { readonly hardState: HardState; readonly confState: ConfState };
  /** Index of the first entry held; lastIndex + 1 when there is none. */
  firstIndex(): LogIndex;
  lastIndex(): LogIndex;
  /** Term of the entry at `index` in [firstIndex - 1, lastIndex]; `compacted` below. */
  term(index: LogIndex): Term | 'compacted' | 'unavailable';
  /** Entries in [from, to), at least one when from < to, else cut at `bytesMax` of data. */
  entries(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] | 'compacted';
  /**
   * The newest snapshot to send a follower, or `unavailable`: the core asks again later. Also
   * called from within RaftNode.applyConfChange: index and configuration must fit each other then,
   * that is, both be from before the entry that is being applied.
   */
  snapshot(): Snapshot | 'unavailable';
}
