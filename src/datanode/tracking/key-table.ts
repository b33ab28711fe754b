/**
 * Which clients of this node may have cached which keys of one partition. A key is told of once: whoever
 * is told is forgotten, until it reads again.
 */
import type { ChangedKeys } from '../partition/entries/changes.ts';
import type { TrackedClient } from './tracked-client.ts';

/** A client that read a key. */
export interface Reader {
  readonly client: TrackedClient;
  /** Of the client, when it read: see `TrackedClient.epoch`. */
  epoch: number;
  /** What it read has seen all entries up to there. */
  seen: number;
  next: Reader | undefined;
}

/** Of all tables of a node. */
export interface KeyCounts {
  keys: number;
  items: number;
}

/** A change of a key for one who may have it; false: that one is told, and forgotten. */
export type OnChanged = (reader: Reader, name: string, change: ChangedKeys) => boolean;

export class KeyTable {
  readonly #readers = new Map<string, Reader>();
  readonly #counts: KeyCounts;

  constructor(counts: KeyCounts) {
    this.#counts = counts;
  }

  get size(): number {
    return this.#readers.size;
  }

  /** Those that have gone are dropped on the way: of a key that never changes nobody else would. */
  find(name: string, client: TrackedClient): Reader | undefined {
    let hasGone = false;
    for (let one = this.#readers.get(name); one !== undefined; one = one.next) {
      if (one.client === client) return one;
      hasGone ||= !one.client.isOn;
    }
    if (hasGone) this.#keep(name, (reader) => reader.client.isOn);
    return undefined;
  }

  add(name: string, client: TrackedClient, seen: number): Reader {
    const next = this.#readers.get(name);
    if (next === undefined) this.#counts.keys++;
    this.#counts.items++;
    const reader = { client, epoch: client.epoch, seen, next };
    this.#readers.set(name, reader);
    return reader;
  }

  remove(name: string, client: TrackedClient): void {
    this.#keep(name, (reader) => reader.client !== client);
  }

  changed(name: string, change: ChangedKeys, onChanged: OnChanged): void {
    this.#keep(name, (reader) => reader.client.isOn && onChanged(reader, name, change));
  }

  /** The key that was read first of those that are there. */
  oldest(): string | undefined {
    return this.#readers.keys().next().value;
  }

  clear(): void {
    for (let first of this.#readers.values()) {
      this.#counts.items--;
      while (first.next !== undefined) {
        first = first.next;
        this.#counts.items--;
      }
    }
    this.#counts.keys -= this.#readers.size;
    this.#readers.clear();
  }

  #keep(name: string, isKept: (reader: Reader) => boolean): void {
    let kept: Reader | undefined;
    const first = this.#readers.get(name);
    for (let one = first; one !== undefined; ) {
      const { next } = one;
      if (isKept(one)) {
        one.next = kept;
        kept = one;
      } else this.#counts.items--;
      one = next;
    }
    if (kept !== undefined) this.#readers.set(name, kept);
    else if (first !== undefined) {
      this.#counts.keys--;
      this.#readers.delete(name);
    }
  }
}
