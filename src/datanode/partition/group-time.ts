/**
 * The time of a group (decision 14). It never runs backwards over leaders: a new entry's time is
 * at least the last entry's plus the monotone time since, and follows the wall clock only as far
 * as that stays within `skewMaxMs` of the median of the group's clocks.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import type { Entry } from '../raft/message.ts';
import type { ReplicaLog } from '../raftlog/raft-log.ts';
import { envelopeTimeMs } from './envelope.ts';

/** No-ops and configuration entries have no time: how many are skipped looking for one that has. */
const UNTIMED_ENTRIES_MAX = 64;

export class GroupTime {
  readonly #clock: Clock;
  readonly #skewMaxMs: number;
  readonly #peerOffsetsMs: () => readonly number[];
  #lastMs: number;
  #seenAtMs: number;

  /**
   * `peerOffsetsMs`: wall clock of each other voter's node minus ours, as last reported.
   */
  constructor(clock: Clock, skewMaxMs: number, peerOffsetsMs: () => readonly number[]) {
    this.#clock = clock;
    this.#skewMaxMs = skewMaxMs;
    this.#peerOffsetsMs = peerOffsetsMs;
    this.#lastMs = 0;
    this.#seenAtMs = clock.monotonicMs();
  }

  /** An entry with this time was appended to (or found in) the log. */
  observe(timeMs: number): void {
    if (timeMs < this.#lastMs) return;
    this.#lastMs = timeMs;
    this.#seenAtMs = this.#clock.monotonicMs();
  }

  /** Observes the newest timed entry; false when none is timed. */
  observeEntries(entries: readonly Entry[]): boolean {
    for (let at = entries.length - 1; at >= 0; at--) {
      const entry = entries[at]!;
      if (entry.kind !== 'normal' || entry.data.length === 0) continue;
      this.observe(envelopeTimeMs(entry.data));
      return true;
    }
    return false;
  }

  /** After a restart: a leader's first entry must not be older than the log's last. */
  observeLog(log: ReplicaLog): void {
    const last = log.lastIndex();
    const lowest = Math.max(log.firstIndex(), last - UNTIMED_ENTRIES_MAX);
    for (let index = last; index >= lowest; index--) {
      const entries = log.entries(index, index + 1, limits.entryBytesHardMax);
      if (entries === 'compacted' || this.observeEntries(entries)) return;
    }
  }

  /** Whole milliseconds since 1970. */
  nowMs(): number {
    const since = Math.max(0, this.#clock.monotonicMs() - this.#seenAtMs);
    const carried = this.#lastMs === 0 ? 0 : this.#lastMs + Math.floor(since);
    return Math.max(carried, this.#boundedWallMs());
  }

  #boundedWallMs(): number {
    const offsets = [...this.#peerOffsetsMs(), 0].sort((a, b) => a - b);
    const median = offsets[Math.floor((offsets.length - 1) / 2)] ?? 0;
    const held = Math.min(Math.max(0, median - this.#skewMaxMs), median + this.#skewMaxMs);
    return this.#clock.wallMs() + Math.round(held);
  }
}
