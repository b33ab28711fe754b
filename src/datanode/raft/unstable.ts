/**
 * The tail of the log that storage has not confirmed yet: entries (and at most one snapshot) that
 * wait to be handed out or are being written. Reads of the tail come from here until the write is
 * known to be durable.
 *
 * Invariants: entries[i] has index offset + i; offset <= handedOut <= offset + entries.length.
 * `offset` may lie below storage's last index: the next write then truncates storage.
 */
import { assert } from '../../common/assert.ts';
import type { LogIndex, Term } from '../../common/ids.ts';
import type { RaftTrace } from './config.ts';
import type { Entry, Snapshot } from './message.ts';

/** Every entry costs this much beside its data where sizes are bounded: empty ones count too. */
const ENTRY_COST_BYTES = 16;

function entryCost(entry: Entry): number {
  return entry.data.length + ENTRY_COST_BYTES;
}

export function entriesCost(entries: readonly Entry[]): number {
  let bytes = 0;
  for (let i = 0; i < entries.length; i++) bytes += entryCost(entries[i]!);
  return bytes;
}

/** How many of `entries` from `from` to `to` fit into `bytesMax`; at least one when from < to. */
export function fitting(
  entries: readonly Entry[],
  from: number,
  to: number,
  bytesMax: number,
): number {
  if (from >= to) return 0;
  let bytes = entryCost(entries[from]!);
  let at = from + 1;
  while (at < to) {
    bytes += entryCost(entries[at]!);
    if (bytes > bytesMax) break;
    at++;
  }
  return at - from;
}

export class Unstable {
  readonly #trace: ((event: RaftTrace) => void) | undefined;
  #snapshot: Snapshot | undefined;
  #snapshotHandedOut = false;
  #entries: Entry[] = [];
  #offset: LogIndex;
  #handedOut: LogIndex;

  constructor(offset: LogIndex, trace: ((event: RaftTrace) => void) | undefined) {
    this.#offset = offset;
    this.#handedOut = offset;
    this.#trace = trace;
  }

  get offset(): LogIndex {
    return this.#offset;
  }

  get handedOut(): LogIndex {
    return this.#handedOut;
  }

  get length(): number {
    return this.#entries.length;
  }

  /** The snapshot that storage has not confirmed, handed out or not. */
  get snapshot(): Snapshot | undefined {
    return this.#snapshot;
  }

  /** The last index of entries or snapshot, or undefined when both are missing. */
  lastIndex(): LogIndex | undefined {
    if (this.#entries.length > 0) return this.#offset + this.#entries.length - 1;
    return this.#snapshot?.index;
  }

  /** The term of the entry or snapshot at `index`, or undefined when it is not here. */
  term(index: LogIndex): Term | undefined {
    if (index >= this.#offset) return this.#entries[index - this.#offset]?.term;
    return this.#snapshot?.index === index ? this.#snapshot.term : undefined;
  }

  /** The entries of [from, to) that fit into `bytesMax`; both must lie inside. */
  slice(from: LogIndex, to: LogIndex, bytesMax: number): Entry[] {
    const start = from - this.#offset;
    const end = to - this.#offset;
    assert(start >= 0 && start <= end && end <= this.#entries.length, 'a slice of the tail');
    return this.#entries.slice(start, start + fitting(this.#entries, start, end, bytesMax));
  }

  hasNextEntries(): boolean {
    return this.#handedOut < this.#offset + this.#entries.length;
  }

  /** The entries not handed out yet. */
  nextEntries(): readonly Entry[] {
    if (!this.hasNextEntries()) return [];
    return this.#entries.slice(this.#handedOut - this.#offset);
  }

  /** The snapshot, unless it was handed out. */
  nextSnapshot(): Snapshot | undefined {
    return this.#snapshotHandedOut ? undefined : this.#snapshot;
  }

  /** All that is here has been handed to storage. */
  acceptHandedOut(): void {
    this.#handedOut = this.#offset + this.#entries.length;
    if (this.#snapshot !== undefined) this.#snapshotHandedOut = true;
  }

  /**
   * Storage holds the entry (`index`, `term`) and all before it, and no write on its way can
   * replace them.
   */
  stableTo(index: LogIndex, term: Term): void {
    const ours = this.term(index);
    if (ours === undefined) {
      this.#trace?.({ event: 'stableMissing', index });
      return;
    }
    if (index < this.#offset) {
      this.#trace?.({ event: 'stableIsSnapshot', index });
      return;
    }
    if (ours !== term) {
      this.#trace?.({ event: 'stableMismatch', index, term, ours });
      return;
    }
    const count = index + 1 - this.#offset;
    if (count === this.#entries.length) this.#entries = [];
    else this.#entries = this.#entries.slice(count);
    this.#offset = index + 1;
    this.#handedOut = Math.max(this.#handedOut, this.#offset);
  }

  stableSnapshotTo(index: LogIndex): void {
    if (this.#snapshot?.index !== index) return;
    this.#snapshot = undefined;
    this.#snapshotHandedOut = false;
  }

  /** Replaces everything by a snapshot. */
  restore(snapshot: Snapshot): void {
    this.#offset = snapshot.index + 1;
    this.#handedOut = this.#offset;
    this.#entries = [];
    this.#snapshot = snapshot;
    this.#snapshotHandedOut = false;
  }

  /** Appends `entries`, after cutting off what they replace. */
  truncateAndAppend(entries: readonly Entry[]): void {
    const from = entries[0]!.index;
    const end = this.#offset + this.#entries.length;
    assert(from <= end, () => `entry ${from} leaves a gap after ${end - 1}`);
    if (from < end || from < this.#offset) this.#truncate(from);
    for (let i = 0; i < entries.length; i++) this.#entries.push(entries[i]!);
  }

  #truncate(from: LogIndex): void {
    if (from <= this.#offset) {
      this.#trace?.({ event: 'tailReplaced', index: from });
      this.#entries = [];
      this.#offset = from;
      this.#handedOut = from;
    } else {
      this.#trace?.({ event: 'tailTruncated', index: from });
      this.#entries = this.#entries.slice(0, from - this.#offset);
      this.#handedOut = Math.min(this.#handedOut, from);
    }
  }
}
