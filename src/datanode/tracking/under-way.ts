/**
 * Commands of a tracking client that are not answered yet, at one partition. What changes under them is
 * told behind their replies: of what is read, if the value in the reply may be the old one; of what they
 * write themselves, as Redis does.
 */
import type { Witness } from '../commands/server/witness.ts';
import type { LineResult } from '../partition/entries/batch.ts';
import type { ChangedKeys } from '../partition/entries/changes.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { NamedKey, NamedKeys } from './line-keys.ts';

/** An entry's, from the next before it. */
const HALF = 0.5;

/** When a key changed. */
type Note = Pick<ChangedKeys, 'index' | 'alone'>;

export interface KeyUnderWay extends NamedKey {
  /** The client had it before, and was not told yet that this is over. */
  isCached: boolean;
  /** Changes since it was asked for. */
  readonly notes: Note[];
  /** Of those, what ended the value that it had: told with the reply. */
  owed: Note | undefined;
}

/** Beyond so many changes of one key it has changed, whenever it was read. */
const NOTES_MAX = 16;
const ANY_TIME: Note = { index: Number.MAX_SAFE_INTEGER, alone: false };

export class UnderWay {
  readonly feed: ChangeFeed;
  readonly keys = new Map<string, KeyUnderWay>();
  readonly sinceMs: number;
  /** What is read may change without a word: it is not to be kept. */
  isForgotten = false;
  /** Entries of its writes. */
  readonly own: number[] = [];
  #kind: 'read' | 'write';
  /** The last entry that all of it has seen for certain. */
  #seen = Number.MAX_SAFE_INTEGER;

  constructor(feed: ChangeFeed, kind: 'read' | 'write', nowMs: number) {
    this.feed = feed;
    this.#kind = kind;
    this.sinceMs = nowMs;
  }

  /** More of the same command. */
  add(named: NamedKeys, kind: 'read' | 'write'): void {
    if (kind === 'write') this.#kind = kind;
    for (const [name, key] of named) {
      if (this.keys.has(name)) continue;
      const { isRead, isWritten, isWrittenLast } = key;
      const fresh = { isCached: false, notes: [], owed: undefined };
      this.keys.set(name, { isRead, isWritten, isWrittenLast, ...fresh });
    }
  }

  get seen(): number {
    return this.#seen === Number.MAX_SAFE_INTEGER ? 0 : this.#seen;
  }

  answered(results: readonly LineResult[]): void {
    for (const result of results) {
      const witness = result.ok ? result.witness : undefined;
      if (witness === undefined) this.#seen = 0;
      else this.#see(witness);
    }
  }

  /** Nobody knows what it has seen. */
  sawNothing(): void {
    this.#seen = 0;
  }

  #see({ index, at }: Witness): void {
    this.#seen = Math.min(this.#seen, index);
    if (at >= 0) this.own.push(index);
  }

  note(key: KeyUnderWay, { index, alone }: ChangedKeys): Note {
    const note = { index, alone };
    if (key.notes.length < NOTES_MAX) key.notes.push(note);
    else key.notes[0] = ANY_TIME;
    return note;
  }

  /**
   * Up to where what was read of the key has seen the log. Of its own entry a transaction has seen what was
   * before it, half of it: others' commands may be behind it, or its own.
   */
  seenOf({ isWrittenLast }: KeyUnderWay): number {
    if (this.#kind === 'read' || this.seen === 0) return this.seen;
    return this.seen - (isWrittenLast ? 1 : HALF);
  }

  /** Whether what was read of the key may be older than what it is now. */
  isStale(key: KeyUnderWay, isOwn: (note: Note) => boolean): boolean {
    const seen = this.seenOf(key);
    return this.isForgotten || key.notes.some((note) => !hasSeen(seen, note) && !isOwn(note));
  }
}

/** Whether who has `seen` so much knows of the change: of half an entry, if that is one command. */
export function hasSeen(seen: number, { index, alone }: Note): boolean {
  return index <= seen || (alone && index === seen + HALF);
}
