/**
 * One replica's log: what storage holds, then the unstable tail; and the three marks
 * applied <= applying <= committed <= last index.
 *
 * `applying` runs ahead of `applied` by the committed entries handed out and not yet reported as
 * applied; their size is bounded (`committedBytesMax`), after which handing out pauses.
 */
import { assert } from '../../common/assert.ts';
import type { LogIndex, Term } from '../../common/ids.ts';
import type { RaftTrace } from './config.ts';
import type { Entry, Snapshot } from './message.ts';
import type { RaftStorage } from './storage.ts';
import { entriesCost, fitting, Unstable } from './unstable.ts';

/** Bytes of unapplied entries looked through at a time for a membership change. */
const SCAN_BYTES = 1_048_576;

export class RaftLog {
  readonly unstable: Unstable;
  readonly #storage: RaftStorage;
  readonly #trace: ((event: RaftTrace) => void) | undefined;
  readonly #applyingBytesMax: number;
  #committed: LogIndex;
  #applying: LogIndex;
  #applied: LogIndex;
  #applyingBytes = 0;
  #applyingPaused = false;
  /** The newest membership change that was found among committed entries. */
  #confChange: LogIndex = 0;
  /** Committed entries up to here are looked through, or were applied before they were. */
  #lookedTo: LogIndex = 0;

  constructor(
    storage: RaftStorage,
    applyingBytesMax: number,
    trace: ((event: RaftTrace) => void) | undefined,
  ) {
    assert(applyingBytesMax > 0, 'committed entries are handed out at least one by one');
    this.#storage = storage;
    this.#trace = trace;
    this.#applyingBytesMax = applyingBytesMax;
    this.unstable = new Unstable(storage.lastIndex() + 1, trace);
    this.#committed = storage.firstIndex() - 1;
    this.#applying = this.#committed;
    this.#applied = this.#committed;
  }

  get committed(): LogIndex {
    return this.#committed;
  }

  get applying(): LogIndex {
    return this.#applying;
  }

  get applied(): LogIndex {
    return this.#applied;
  }

  firstIndex(): LogIndex {
    const snapshot = this.unstable.snapshot;
    return snapshot === undefined ? this.#storage.firstIndex() : snapshot.index + 1;
  }

  lastIndex(): LogIndex {
    return this.unstable.lastIndex() ?? this.#storage.lastIndex();
  }

  lastTerm(): Term {
    const term = this.term(this.lastIndex());
    assert(typeof term === 'number', 'the last term of a log is always known');
    return term;
  }

  /** The term of the entry at `index`, or why it is not known. */
  term(index: LogIndex): Term | 'compacted' | 'unavailable' {
    const unstable = this.unstable.term(index);
    if (unstable !== undefined) return unstable;
    if (index + 1 < this.firstIndex()) return 'compacted';
    if (index > this.lastIndex()) return 'unavailable';
    return this.#storage.term(index);
  }

  /** The term at `index`, 0 when it is not known. */
  termOrZero(index: LogIndex): Term {
    const term = this.term(index);
    return typeof term === 'number' ? term : 0;
  }

  /** True when the entry at `index` exists with `term`. */
  matches(index: LogIndex, term: Term): boolean {
    return this.term(index) === term;
  }

  /** True when a log that ends with (`index`, `term`) is at least as complete (paper 5.4.1). */
  isUpToDate(index: LogIndex, term: Term): boolean {
    const last = this.lastTerm();
    return term > last || (term === last && index >= this.lastIndex());
  }

  /** Entries from `from` on, at most `bytesMax` but at least one when there is one. */
  entries(from: LogIndex, bytesMax: number): readonly Entry[] | 'compacted' {
    const last = this.lastIndex();
    if (from > last) return [];
    return this.slice(from, last + 1, bytesMax);
  }

  /** Entries of [from, to), at most `bytesMax` but at least one when from < to. */
  slice(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] | 'compacted' {
    if (from >= to) return [];
    if (from < this.firstIndex()) return 'compacted';
    assert(to <= this.lastIndex() + 1, () => `slice to ${to} ends behind the log`);
    const offset = this.unstable.offset;
    if (from >= offset) return this.unstable.slice(from, to, bytesMax);
    const cut = Math.min(to, offset);
    const held = this.#storage.entries(from, cut, bytesMax);
    if (held === 'compacted') return held;
    assert(held.length > 0 && held[0]!.index === from, () => `storage gave entry ${from}`);
    const fits = fitting(held, 0, held.length, bytesMax);
    const stable = fits === held.length ? held : held.slice(0, fits);
    if (to <= offset || stable.length < cut - from) return stable;
    const left = bytesMax - entriesCost(stable);
    if (left <= 0) return stable;
    const tail = this.unstable.slice(offset, to, left);
    if (tail.length === 1 && entriesCost(tail) > left) return stable;
    return [...stable, ...tail];
  }

  /** The newest snapshot that can be sent. */
  snapshot(): Snapshot | 'unavailable' {
    return this.unstable.snapshot ?? this.#storage.snapshot();
  }

  /**
   * Takes a leader's entries that follow (`index`, `term`), and its commit index. Returns the last
   * index that is now known to match the leader's log, or undefined when (`index`, `term`) is not
   * in this log. Throws when an entry contradicts a committed one.
   */
  maybeAppend(
    index: LogIndex,
    term: Term,
    entries: readonly Entry[],
    commit: LogIndex,
  ): LogIndex | undefined {
    if (!this.matches(index, term)) return undefined;
    const conflict = this.#firstConflict(entries);
    if (conflict > 0) {
      assert(conflict > this.#committed, () => `entry ${conflict} contradicts a committed entry`);
      const known = conflict - (index + 1);
      this.append(known === 0 ? entries : entries.slice(known));
    }
    const last = index + entries.length;
    this.commitTo(Math.min(commit, last));
    return last;
  }

  /** Appends `entries`, replacing what stands at their indexes. Returns the new last index. */
  append(entries: readonly Entry[]): LogIndex {
    if (entries.length > 0) {
      assert(entries[0]!.index > this.#committed, 'committed entries are never replaced');
      this.unstable.truncateAndAppend(entries);
    }
    return this.lastIndex();
  }

  /**
   * The largest index at or before `index` whose term is at most `term` or not known: where this
   * log may end to match one that has (`index`, `term`). The term there, 0 when it is not known.
   */
  findConflictByTerm(index: LogIndex, term: Term): { index: LogIndex; term: Term } {
    for (let at = index; at > 0; at--) {
      const ours = this.term(at);
      if (typeof ours !== 'number') return { index: at, term: 0 };
      if (ours <= term) return { index: at, term: ours };
    }
    return { index: 0, term: 0 };
  }

  /** Commits up to `index` if that is an entry of `term` (paper 5.4.2). Returns whether it was news. */
  maybeCommit(index: LogIndex, term: Term): boolean {
    if (index <= this.#committed || index > this.lastIndex()) return false;
    if (term === 0 || this.termOrZero(index) !== term) return false;
    this.commitTo(index);
    return true;
  }

  /** Moves the commit index forward, never back. */
  commitTo(index: LogIndex): void {
    if (index <= this.#committed) return;
    assert(
      index <= this.lastIndex(),
      () => `commit ${index} is behind the last index ${this.lastIndex()}: this log lost entries`,
    );
    this.#committed = index;
  }

  /** Replaces the log by a snapshot that is newer than everything committed. */
  restore(snapshot: Snapshot): void {
    this.#trace?.({ event: 'logRestores', snapshot, log: this });
    this.#committed = snapshot.index;
    this.unstable.restore(snapshot);
  }

  /** True while a snapshot waits for storage: nothing is applied before it. */
  hasPendingSnapshot(): boolean {
    return this.unstable.snapshot !== undefined;
  }

  hasNextCommitted(allowUnstable: boolean): boolean {
    if (this.#applyingPaused || this.hasPendingSnapshot()) return false;
    return this.#applying < this.#appliable(allowUnstable);
  }

  /** The next committed entries to apply; without `allowUnstable` only locally durable ones. */
  nextCommitted(allowUnstable: boolean): readonly Entry[] {
    if (!this.hasNextCommitted(allowUnstable)) return [];
    const bytesMax = this.#applyingBytesMax - this.#applyingBytes;
    assert(bytesMax > 0, 'handing out pauses before the bound is reached');
    const entries = this.slice(this.#applying + 1, this.#appliable(allowUnstable) + 1, bytesMax);
    assert(
      entries !== 'compacted',
      () => `entry ${this.#applying + 1} was compacted before it was applied`,
    );
    return entries;
  }

  /** `entries` were handed out to be applied. */
  acceptApplying(entries: readonly Entry[], allowUnstable: boolean): void {
    const last = entries[entries.length - 1]!.index;
    assert(last <= this.#committed && last > this.#applying, 'only committed entries are applied');
    this.#applying = last;
    this.#applyingBytes += entriesCost(entries);
    this.#applyingPaused =
      this.#applyingBytes >= this.#applyingBytesMax || last < this.#appliable(allowUnstable);
  }

  /**
   * A committed change that is not applied: this replica would count votes by an old configuration.
   * What is committed stays as it is, so no entry is looked at twice.
   */
  hasUnappliedConfChange(): boolean {
    if (this.#confChange > this.#applied) return true;
    this.#lookedTo = Math.max(this.#lookedTo, this.#applied);
    while (this.#lookedTo < this.#committed) {
      const entries = this.slice(this.#lookedTo + 1, this.#committed + 1, SCAN_BYTES);
      if (entries === 'compacted') return false;
      const change = entries.find(({ kind }) => kind !== 'normal');
      this.#lookedTo = change?.index ?? this.#lookedTo + entries.length;
      if (change === undefined) continue;
      this.#confChange = change.index;
      return true;
    }
    return false;
  }

  /** Everything up to `index` is applied; `bytes` is the cost of the entries that were. */
  appliedTo(index: LogIndex, bytes: number): void {
    assert(
      index <= this.#committed && index >= this.#applied,
      () => `applied ${index} is out of range`,
    );
    this.#applied = index;
    this.#applying = Math.max(this.#applying, index);
    this.#applyingBytes = Math.max(0, this.#applyingBytes - bytes);
    this.#applyingPaused = this.#applyingBytes >= this.#applyingBytesMax;
  }

  #appliable(allowUnstable: boolean): LogIndex {
    if (allowUnstable) return this.#committed;
    return Math.min(this.#committed, this.unstable.offset - 1);
  }

  /** Index of the first of `entries` that this log lacks or contradicts; 0: it has them all. */
  #firstConflict(entries: readonly Entry[]): LogIndex {
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i]!;
      const ours = this.term(entry.index);
      if (ours === entry.term) continue;
      if (entry.index <= this.lastIndex()) {
        this.#trace?.({
          event: 'conflict',
          index: entry.index,
          existing: typeof ours === 'number' ? ours : 0,
          conflicting: entry.term,
        });
      }
      return entry.index;
    }
    return 0;
  }
}
