/**
 * The time of a group (decision 14). It never runs backwards over leaders: a new entry's time is
 * at least the last entry's plus the monotone time since, and follows the wall clock only as far
 * as that stays within `clockSkewMaxMs` of the median of the group's clocks. While fewer than a quorum
 * of those is known, it follows none: one that is wrong would take every deadline along.
 */
import type { Clock } from '../../../common/clock.ts';
import type { ReplicaId } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { Entry } from '../../raft/message.ts';
import type { ReplicaLog } from '../../raftlog/raft-log.ts';
import { envelopeTimeMs } from '../entries/envelope.ts';
import type { ReplicaWorld } from '../replica/replica-world.ts';

/** No-ops and configuration entries have no time: how many are skipped looking for one that has. */
const UNTIMED_ENTRIES_MAX = 64;

export type GroupClocks = Pick<ReplicaWorld, 'clock' | 'wallMs'> & {
  readonly settings: Pick<ReplicaWorld['settings'], 'clockSkewMaxMs'>;
};

export class GroupTime {
  readonly #world: GroupClocks;
  readonly #clock: Clock;
  readonly #own: ReplicaId;
  readonly #voters: () => readonly ReplicaId[];
  #lastMs: number;
  #seenAtMs: number;

  /** `voters` of the group now; `own` may be among them. */
  constructor(world: GroupClocks, own: ReplicaId, voters: () => readonly ReplicaId[]) {
    this.#world = world;
    this.#clock = world.clock;
    this.#own = own;
    this.#voters = voters;
    this.#lastMs = 0;
    this.#seenAtMs = world.clock.monotonicMs();
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

  /**
   * After a restart: a leader's first entry must be older neither than what is applied, which was left
   * at `appliedMs`, nor than the last entry of the log.
   */
  resume(appliedMs: number, log: ReplicaLog): void {
    this.observe(appliedMs);
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
    const known = [own];
    let unknown = 0;
    for (const voter of this.#voters()) {
      if (voter === this.#own) continue;
      const wall = this.#world.wallMs(voter);
      if (wall === undefined) unknown++;
      else insert(known, wall);
    }
    if (known.length <= unknown) return undefined;
    const median = known[(known.length - 1) >> 1]!;
    const { clockSkewMaxMs } = this.#world.settings;
    return Math.round(Math.min(Math.max(own, median - clockSkewMaxMs), median + clockSkewMaxMs));
  }
}

/** Into numbers in ascending order, of which there are few: a general sort costs every read a µs. */
function insert(ascending: number[], value: number): void {
  let at = ascending.length;
  for (; at > 0 && ascending[at - 1]! > value; at--) ascending[at] = ascending[at - 1]!;
  ascending[at] = value;
}
