/**
 * The time of a group (decision 14). It never runs backwards over leaders: a new entry's time is
 * at least the last entry's plus the monotone time since, and follows the wall clock only as far
 * as that stays within `skewMaxMs` of the median of the group's clocks. While fewer than a quorum
 * of those is known, it follows none: one that is wrong would take every deadline along.
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
  readonly #peerWallsMs: () => readonly (number | undefined)[];
  #lastMs: number;
  #seenAtMs: number;

  /**
   * `peerWallsMs`: the wall clock of each other member's node now, undefined while not known.
   */
  constructor(clock: Clock, skewMaxMs: number, peerWallsMs: () => readonly (number | undefined)[]) {
    this.#clock = clock;
    this.#skewMaxMs = skewMaxMs;
    this.#peerWallsMs = peerWallsMs;
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
    const wall = this.#boundedWallMs();
    if (this.#lastMs === 0) return wall ?? this.#clock.wallMs();
    const carried = this.#lastMs + Math.floor(since);
    return wall === undefined ? carried : Math.max(carried, wall);
  }

  /** Undefined when too few clocks are known. */
  #boundedWallMs(): number | undefined {
    const own = this.#clock.wallMs();
    const peers = this.#peerWallsMs();
    const known = [own];
    for (const wall of peers) if (wall !== undefined) known.push(wall);
    if (known.length * 2 <= peers.length + 1) return undefined;
    known.sort((a, b) => a - b);
    const median = known[(known.length - 1) >> 1]!;
    return Math.round(Math.min(Math.max(own, median - this.#skewMaxMs), median + this.#skewMaxMs));
  }
}
