/**
 * One replica's log: its state, an index from entry to place on disk, and the tail in memory. The
 * same object is built by appends and by replay. Entries live in arrays of numbers (32 bytes per
 * entry); the newest ones also as objects, which only leave memory once their bytes are in a file.
 */
import { assert, must } from '../../common/assert.ts';
import type { LogIndex, ReplicaId, Term } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { type Entry, type HardState, NONE } from '../raft/message.ts';
import { ENTRY_HEADER_BYTES, type ReplicaCheckpoint } from './format.ts';
import type { LogBase, ReplicaLog } from './raft-log.ts';
import type { RecordPlace } from './segment.ts';

/** Segment number of an entry whose file was not found (yet) on replay. */
export const NOWHERE = 0;

/** What a replica needs of the log it is part of. */
export interface ReplicaHost {
  /** Entry data that one replica may keep in memory. */
  cacheBytes(): number;
  /** An entry's record is now, or no longer, needed in a segment. */
  added(segment: number, bytes: number): void;
  removed(segment: number, bytes: number): void;
  /** The bytes at this place were given to the file (synced or not). */
  isWritten(segment: number, offset: number): boolean;
  /** Reads consecutive records of one segment. Throws KvorumError CORRUPT. */
  read(replica: ReplicaId, places: readonly RecordPlace[], from: LogIndex): Entry[];
}

/** Dead slots at the front of the arrays are dropped when they are this many and half of all. */
const TRIM_SLOTS = 1024;

export class ReplicaState implements ReplicaLog {
  readonly replica: ReplicaId;
  readonly #host: ReplicaHost;
  #generation = 0;
  #hardState: HardState = { term: 0, vote: NONE, commit: 0 };
  #base: LogBase = { index: 0, term: 0 };
  #dataBytes = 0;

  /** Slot of the first entry; the slots before it are dead. */
  #head = 0;
  #segments: number[] = [];
  #offsets: number[] = [];
  #lengths: number[] = [];
  #terms: number[] = [];

  /** The newest entries, ending with the last one; slots before `#cacheHead` are dead. */
  #cache: (Entry | undefined)[] = [];
  #cacheHead = 0;
  #cacheBytes = 0;

  constructor(replica: ReplicaId, host: ReplicaHost) {
    this.replica = replica;
    this.#host = host;
  }

  get generation(): number {
    return this.#generation;
  }

  get hardState(): HardState {
    return this.#hardState;
  }

  get base(): LogBase {
    return this.#base;
  }

  get dataBytes(): number {
    return this.#dataBytes;
  }

  firstIndex(): LogIndex {
    return this.#base.index + 1;
  }

  lastIndex(): LogIndex {
    return this.#base.index + this.#segments.length - this.#head;
  }

  term(index: LogIndex): Term | 'compacted' | 'unavailable' {
    if (index < this.#base.index) return 'compacted';
    if (index === this.#base.index) return this.#base.term;
    if (index > this.lastIndex()) return 'unavailable';
    return this.#terms[this.#slot(index)]!;
  }

  entries(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] | 'compacted' {
    if (from <= this.#base.index) return 'compacted';
    assert(
      to <= this.lastIndex() + 1,
      () => `entries up to ${to} of a log ending at ${this.lastIndex()}`,
    );
    const end = this.#cut(from, to, bytesMax);
    const cachedFrom = this.#cachedFrom();
    const result: Entry[] = [];
    for (let index = from; index < Math.min(end, cachedFrom); ) {
      const run = this.#run(index, Math.min(end, cachedFrom));
      for (const entry of this.#host.read(this.replica, run, index)) result.push(entry);
      index += run.length;
    }
    for (let index = Math.max(from, cachedFrom); index < end; index++) {
      result.push(this.#cached(index));
    }
    return result;
  }

  /** End of the entries from `from` that fit `bytesMax` of data; at least one. */
  #cut(from: LogIndex, to: LogIndex, bytesMax: number): LogIndex {
    let bytes = 0;
    for (let index = from; index < to; index++) {
      bytes += this.#lengths[this.#slot(index)]! - ENTRY_HEADER_BYTES;
      if (bytes > bytesMax && index > from) return index;
    }
    return to;
  }

  /** Places from `index` on that lie one after the other in one segment. */
  #run(index: LogIndex, end: LogIndex): RecordPlace[] {
    const places: RecordPlace[] = [];
    let bytes = 0;
    for (let next = index; next < end; next++) {
      const place = this.place(next);
      const previous = places.at(-1);
      if (previous !== undefined) {
        if (place.segment !== previous.segment) break;
        if (place.offset !== previous.offset + previous.bytes) break;
        if (bytes + place.bytes > limits.logReadBytes) break;
      }
      places.push(place);
      bytes += place.bytes;
    }
    return places;
  }

  #slot(index: LogIndex): number {
    return this.#head + (index - this.#base.index - 1);
  }

  /** Where the entry's record lies; segment NOWHERE if its file was not found. */
  place(index: LogIndex): RecordPlace {
    const slot = this.#slot(index);
    return {
      segment: this.#segments[slot]!,
      offset: this.#offsets[slot]!,
      bytes: this.#lengths[slot]!,
    };
  }

  /** Whether it holds the entry, and the record lies there. */
  isAt(index: LogIndex, { segment, offset }: RecordPlace): boolean {
    if (index < this.firstIndex() || index > this.lastIndex()) return false;
    const slot = this.#slot(index);
    return this.#segments[slot] === segment && this.#offsets[slot] === offset;
  }

  isIn(index: LogIndex, segment: number): boolean {
    return this.#segments[this.#slot(index)] === segment;
  }

  checkpoint(): ReplicaCheckpoint {
    return {
      replica: this.replica,
      hardState: this.#hardState,
      baseIndex: this.#base.index,
      baseTerm: this.#base.term,
      firstIndex: this.firstIndex(),
      lastIndex: this.lastIndex(),
      generation: this.#generation,
    };
  }

  /** Becomes what a checkpoint says; its entries are NOWHERE until replay finds them. */
  restore(checkpoint: ReplicaCheckpoint): void {
    this.#hardState = checkpoint.hardState;
    this.#base = { index: checkpoint.baseIndex, term: checkpoint.baseTerm };
    this.#generation = checkpoint.generation;
    for (let i = checkpoint.baseIndex + 1; i <= checkpoint.lastIndex; i++) {
      this.#push({ segment: NOWHERE, offset: 0, bytes: ENTRY_HEADER_BYTES }, 0);
    }
  }

  setHardState(next: HardState): void {
    this.#hardState = next;
  }

  /** Drops every entry and starts at `base`; term and vote stay, commit does not go back. */
  reset(base: LogBase, generation: number): void {
    this.truncate(this.#base.index);
    this.#base = base;
    this.#generation = generation;
    const commit = Math.max(this.#hardState.commit, base.index);
    const { term, vote } = this.#hardState;
    this.#hardState = { term, vote, commit };
  }

  /** Drops every entry after `last`. */
  truncate(last: LogIndex): void {
    while (this.lastIndex() > last) {
      const cached = this.#cache.pop();
      if (cached !== undefined) this.#cacheBytes -= cached.data.length;
      this.#release(this.#segments.pop()!, this.#lengths.pop()!);
      this.#offsets.pop();
      this.#terms.pop();
    }
    if (this.#cacheHead >= this.#cache.length) this.#clearCache();
  }

  /** Adds the next entry. `entry` keeps it in memory; replay passes only where it lies. */
  append(term: Term, place: RecordPlace, entry?: Entry): void {
    this.#push(place, term);
    if (entry === undefined) {
      if (this.#cache.length > 0) this.#clearCache();
      return;
    }
    this.#cache.push(entry);
    this.#cacheBytes += entry.data.length;
  }

  #push(place: RecordPlace, term: Term): void {
    this.#segments.push(place.segment);
    this.#offsets.push(place.offset);
    this.#lengths.push(place.bytes);
    this.#terms.push(term);
    this.#dataBytes += place.bytes - ENTRY_HEADER_BYTES;
    if (place.segment !== NOWHERE) this.#host.added(place.segment, place.bytes);
  }

  /** The entry's record now lies elsewhere too, and is needed only there. */
  move(index: LogIndex, term: Term, place: RecordPlace): void {
    const slot = this.#slot(index);
    this.#release(this.#segments[slot]!, this.#lengths[slot]!);
    this.#segments[slot] = place.segment;
    this.#offsets[slot] = place.offset;
    this.#lengths[slot] = place.bytes;
    this.#terms[slot] = term;
    this.#dataBytes += place.bytes - ENTRY_HEADER_BYTES;
    this.#host.added(place.segment, place.bytes);
  }

  #release(segment: number, bytes: number): void {
    this.#dataBytes -= bytes - ENTRY_HEADER_BYTES;
    if (segment !== NOWHERE) this.#host.removed(segment, bytes);
  }

  /** Everything up to `base` goes. */
  compact(base: LogBase): void {
    const end = this.#slot(base.index) + 1;
    for (let slot = this.#head; slot < end; slot++) {
      this.#release(this.#segments[slot]!, this.#lengths[slot]!);
    }
    this.#dropCachedBefore(base.index + 1);
    this.#head = end;
    this.#base = base;
    if (this.#head < TRIM_SLOTS || this.#head * 2 < this.#segments.length) return;
    for (const array of [this.#segments, this.#offsets, this.#lengths, this.#terms]) {
      array.splice(0, this.#head);
    }
    this.#head = 0;
  }

  /**
   * Lets the oldest cached entries go while they are too many bytes and can be read back, but not
   * the last `spared`.
   */
  evict(spared = 0): void {
    const cacheBytes = this.#host.cacheBytes();
    let index = this.#cachedFrom();
    const last = this.lastIndex() - spared;
    while (this.#cacheBytes > cacheBytes && index <= last) {
      const slot = this.#slot(index);
      if (!this.#host.isWritten(this.#segments[slot]!, this.#offsets[slot]!)) return;
      index++;
      this.#dropCachedBefore(index);
    }
  }

  /** Index of the oldest entry in memory; lastIndex + 1 when there is none. */
  #cachedFrom(): LogIndex {
    return this.lastIndex() + 1 - (this.#cache.length - this.#cacheHead);
  }

  #cached(index: LogIndex): Entry {
    const entry = this.#cache[this.#cacheHead + index - this.#cachedFrom()];
    return must(entry, `entry ${index} is in memory`);
  }

  #dropCachedBefore(index: LogIndex): void {
    for (let next = this.#cachedFrom(); next < index && this.#cacheHead < this.#cache.length; ) {
      this.#cacheBytes -= this.#cache[this.#cacheHead]!.data.length;
      this.#cache[this.#cacheHead] = undefined;
      this.#cacheHead++;
      next++;
    }
    if (this.#cacheHead >= this.#cache.length) {
      this.#clearCache();
    } else if (this.#cacheHead >= TRIM_SLOTS && this.#cacheHead * 2 >= this.#cache.length) {
      this.#cache.splice(0, this.#cacheHead);
      this.#cacheHead = 0;
    }
  }

  #clearCache(): void {
    this.#cache = [];
    this.#cacheHead = 0;
    this.#cacheBytes = 0;
  }
}
