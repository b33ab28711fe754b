/**
 * Reads of an engine, or a snapshot of it, as if it had what is pending: that wins over what is found
 * beneath, so it makes no difference whether it has arrived there meanwhile.
 */
import { assert } from '../../common/assert.ts';
import { limits } from '../../common/limits.ts';
import type { EngineIterator, EngineReader, EngineSnapshot, KeyRange, KeyValue } from './engine.ts';
import { type Named, type Pending, pendingOf, pendingWithin } from './pending.ts';

const ITERATOR_CHUNK_BYTES = 1024 * 1024;
const NO_VALUE = Buffer.alloc(0);

/** What is pending now, the newest first; throws STOPPING when the engine is closed. */
type Layers = () => readonly Pending[];

export class PendingReader implements EngineReader {
  readonly #beneath: EngineReader;
  readonly #layers: Layers;

  constructor(beneath: EngineReader, layers: Layers) {
    this.#beneath = beneath;
    this.#layers = layers;
  }

  getSync(key: Buffer): Buffer | undefined {
    const operation = pendingOf(this.#layers(), key);
    if (operation === undefined) return this.#beneath.getSync(key);
    return operation.type === 'put' ? operation.value : undefined;
  }

  iterate(range: KeyRange): EngineIterator {
    const layers = this.#layers();
    const pending = layers.length === 0 ? [] : pendingWithin(layers, range);
    if (pending.length === 0) return this.#beneath.iterate(range);
    return new PendingIterator(this.#beneath, range, pending, this.#layers);
  }
}

/** Of a state: `layers` do not change. */
export class PendingSnapshot extends PendingReader implements EngineSnapshot {
  readonly #close: () => Promise<void>;
  readonly #keep: () => void;

  constructor(beneath: EngineSnapshot, layers: readonly Pending[], check: () => void) {
    let kept = layers;
    super(beneath, () => {
      check();
      return kept;
    });
    this.#keep = () => beneath.keep?.();
    this.#close = () => {
      kept = [];
      return beneath.close();
    };
  }

  keep(): void {
    this.#keep();
  }

  close(): Promise<void> {
    return this.#close();
  }
}

class PendingIterator implements EngineIterator {
  readonly #beneath: EngineIterator;
  readonly #range: KeyRange;
  readonly #pending: readonly Named[];
  readonly #check: () => void;
  #pendingAt = 0;
  #left: number;
  /** Read beneath, and not handed out. */
  #read: readonly KeyValue[] = [];
  #readAt = 0;
  #isReadUp = false;
  #closed = false;

  /** `pending`: changes in the range, in its direction. */
  constructor(reader: EngineReader, range: KeyRange, pending: readonly Named[], check: () => void) {
    const { limit } = range;
    // every change may hide a pair beneath, or come before it
    const more = limit === undefined ? {} : { limit: limit + pending.length };
    this.#beneath = reader.iterate({ ...range, ...more });
    this.#range = range;
    this.#pending = pending;
    this.#check = check;
    this.#left = limit ?? Number.POSITIVE_INFINITY;
  }

  async next(count: number): Promise<KeyValue[]> {
    assert(count >= 1, () => `an iterator's step is at least 1, not ${count}`);
    this.#check();
    if (this.#closed) return this.#beneath.next(count);
    const wanted = Math.min(count, this.#left, limits.scanCountMax);
    const pairs: KeyValue[] = [];
    for (let bytes = 0; pairs.length < wanted && bytes < ITERATOR_CHUNK_BYTES; ) {
      if (this.#readAt === this.#read.length && !this.#isReadUp) {
        await this.#readOn(wanted - pairs.length);
      }
      const pair = this.#take();
      if (pair === 'hidden') continue;
      if (pair === undefined) break;
      pairs.push(pair);
      bytes += pair[0].length + pair[1].length;
    }
    this.#left -= pairs.length;
    return pairs;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#beneath.close();
  }

  async #readOn(count: number): Promise<void> {
    this.#read = await this.#beneath.next(count);
    this.#readAt = 0;
    this.#isReadUp = this.#read.length === 0;
  }

  /** The first of what is pending and what was read; undefined: there is nothing more. */
  #take(): KeyValue | 'hidden' | undefined {
    const named = this.#pending[this.#pendingAt];
    const pair = this.#read[this.#readAt];
    if (named === undefined) {
      if (pair !== undefined) this.#readAt++;
      return pair;
    }
    const [, operation] = named;
    const { key } = operation;
    const order = pair === undefined ? -1 : key.compare(pair[0]) * (this.#range.reverse ? -1 : 1);
    if (order > 0) {
      this.#readAt++;
      return pair;
    }
    if (order === 0) this.#readAt++;
    this.#pendingAt++;
    if (operation.type === 'del') return 'hidden';
    return [key, this.#range.keysOnly ? NO_VALUE : operation.value];
  }
}
