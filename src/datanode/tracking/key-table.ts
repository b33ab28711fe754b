/**
 * Which clients of this node may have cached which keys of one partition. A key is told of once: whoever
 * is told is forgotten, until it reads again.
 */
import type { ChangedKeys } from '../partition/entries/changes.ts';
import { ManyReaders } from './many-readers.ts';
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

/** Mostly a key has few: so many are a list, which takes no memory beside them. */
const LISTED_MAX = 8;

export class KeyTable {
  readonly #readers = new Map<string, Reader | ManyReaders>();
  readonly #counts: KeyCounts;

  constructor(counts: KeyCounts) {
    this.#counts = counts;
  }

  get size(): number {
    return this.#readers.size;
  }

  /** Those that have gone are dropped on the way: of a key that never changes nobody else would. */
  find(name: string, client: TrackedClient): Reader | undefined {
    const readers = this.#readers.get(name);
    if (readers instanceof ManyReaders) return readers.find(client);
    let hasGone = false;
    for (let one = readers; one !== undefined; one = one.next) {
      if (one.client === client) return one;
      hasGone ||= !one.client.isOn;
    }
    if (hasGone) this.#keep(name, (reader) => reader.client.isOn);
    return undefined;
  }

  /** Of who is not there. */
  add(name: string, client: TrackedClient, seen: number): Reader {
    const readers = this.#readers.get(name);
    if (readers === undefined) this.#counts.keys++;
    const before = sizeOf(readers);
    const isMany = readers instanceof ManyReaders;
    const reader = { client, epoch: client.epoch, seen, next: isMany ? undefined : readers };
    if (isMany) readers.add(reader);
    else this.#readers.set(name, before < LISTED_MAX ? reader : new ManyReaders(listOf(reader)));
    this.#counts.items += sizeOf(this.#readers.get(name)) - before;
    return reader;
  }

  remove(name: string, client: TrackedClient): void {
    const readers = this.#readers.get(name);
    if (!(readers instanceof ManyReaders)) {
      return this.#keep(name, (reader) => reader.client !== client);
    }
    const before = readers.size;
    readers.remove(client);
    this.#noteKept(name, before, readers.size);
  }

  changed(name: string, change: ChangedKeys, onChanged: OnChanged): void {
    this.#keep(name, (reader) => reader.client.isOn && onChanged(reader, name, change));
  }

  /** The key that was read first of those that are there. */
  oldest(): string | undefined {
    return this.#readers.keys().next().value;
  }

  clear(): void {
    for (const readers of this.#readers.values()) this.#counts.items -= sizeOf(readers);
    this.#counts.keys -= this.#readers.size;
    this.#readers.clear();
  }

  #keep(name: string, isKept: (reader: Reader) => boolean): void {
    const readers = this.#readers.get(name);
    if (readers === undefined) return;
    const before = sizeOf(readers);
    if (readers instanceof ManyReaders) {
      readers.keep(isKept);
      return this.#noteKept(name, before, readers.size);
    }
    let kept: Reader | undefined;
    for (const one of listOf(readers)) {
      if (!isKept(one)) continue;
      one.next = kept;
      kept = one;
    }
    if (kept !== undefined) this.#readers.set(name, kept);
    this.#noteKept(name, before, sizeOf(kept));
  }

  #noteKept(name: string, before: number, now: number): void {
    this.#counts.items -= before - now;
    if (now > 0) return;
    this.#counts.keys--;
    this.#readers.delete(name);
  }
}

/** Those whose `next` may be changed meanwhile. */
function* listOf(first: Reader): Generator<Reader, void> {
  for (let one: Reader | undefined = first; one !== undefined; ) {
    const { next }: Reader = one;
    yield one;
    one = next;
  }
}

function sizeOf(readers: Reader | ManyReaders | undefined): number {
  if (readers instanceof ManyReaders) return readers.size;
  let size = 0;
  for (let one = readers; one !== undefined; one = one.next) size++;
  return size;
}
