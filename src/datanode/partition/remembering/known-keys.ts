/**
 * Whether an engine surely has no record of a key, or member of a collection, without asking it:
 * LevelDB takes 4 to 9 µs to find nothing, this a tenth of one. A filter (`key-filter.ts`) answers
 * once it is complete: it holds every key that a reader of the newest state can come upon, and any
 * others. That is so because
 *
 *   - a key is added before its batch is handed to the engine, and never taken out;
 *   - a filter begins empty, and becomes complete when the engine is known to hold nothing but what was
 *     put since: made anew, or cleared; or when a scan has added what it held at a moment after the
 *     filter's beginning, with all batches from before in it.
 *
 * What is read while a large write is under way is the state before it: its keys were there at the
 * beginning, or put since. Snapshots and iterators, which may be older than the filter, do not ask it.
 * A batch that is too large to look through, and the end of the memory, drop the filter.
 */
import { type Clock, sleep } from '../../../common/clock.ts';
import { limits } from '../../../common/limits.ts';
import { isElementKey, isMemberKey, memberRange } from '../../encoding/records/element-key.ts';
import { isRecordKey, keyAfter, recordRange } from '../../encoding/records/key.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  KeyRange,
  KeyValue,
} from '../../engine/engine.ts';
import { FilterMemory, KeyFilter } from './key-filter.ts';

/** Of a scan: keys that are read and added between two pauses, a half millisecond's work. */
const SLICE_KEYS = 256;
/** So many times longer than a slice took is the pause behind it. */
const PAUSE_SHARE = 7;
const PAUSE_MIN_MS = 1;
const PAUSE_MAX_MS = 200;

/** Which keys: others are not looked at. */
export interface KeyKind {
  readonly isOne: (key: Buffer) => boolean;
  /** All of them lie in it, and others may. */
  readonly range: KeyRange;
  /** They are never among what a batch stores early (`encoding/txn/new-elements.ts`). */
  readonly isNeverParted: boolean;
}

const RECORDS: KeyKind = { isOne: isRecordKey, range: recordRange(), isNeverParted: true };
export const MEMBERS: KeyKind = { isOne: isMemberKey, range: memberRange(), isNeverParted: false };

/** What the engines of a node have in common, as to one kind of keys. */
export interface KnownKeysWorld {
  readonly kind: KeyKind;
  readonly clock: Clock;
  readonly memory: FilterMemory;
  /** Who looks through an engine: one at a time. */
  readonly scans: Set<KnownKeys>;
  /** Reads that found nothing before what an engine holds is looked through. */
  readonly missesMin: number;
}

/** Of a node that has just begun. */
export function knownKeysWorld(
  clock: Clock,
  missesMin: number,
  kind = RECORDS,
  bytesMax: number = limits.keyFiltersBytes,
): KnownKeysWorld {
  return { kind, clock, memory: new FilterMemory(bytesMax), scans: new Set(), missesMin };
}

/** Of one engine. */
export class KnownKeys {
  readonly #world: KnownKeysWorld;
  readonly #isOne: KeyKind['isOne'];
  readonly #engine: Engine;
  readonly #closing = new AbortController();
  /** Asked, and told of every put. */
  #complete: KeyFilter | undefined;
  /** Told of every put since its beginning: to be complete one day. */
  #next: KeyFilter | undefined;
  #scan: Promise<void> = Promise.resolve();
  /** Since there is no filter, and how many there must be before one is made. */
  #misses = 0;
  #missesMin: number;

  /** `isEmpty`: there is no record in the engine, and no batch on its way to it. */
  constructor(engine: Engine, isEmpty: boolean, world: KnownKeysWorld) {
    this.#engine = engine;
    this.#world = world;
    this.#isOne = world.kind.isOne;
    this.#missesMin = world.missesMin;
    if (isEmpty) this.#complete = new KeyFilter(world.memory);
  }

  /** True: nothing is stored under the engine key `key`, as a read of the engine now would find. */
  isAbsent(key: Buffer): boolean {
    return this.#complete !== undefined && this.#isOne(key) && !this.#complete.mayHold(key);
  }

  /** The engine was asked for `key` and has nothing. */
  missed(key: Buffer): void {
    if (this.#complete !== undefined || this.#next !== undefined || !this.#isOne(key)) return;
    if (++this.#misses < this.#missesMin || this.#closing.signal.aborted) return;
    const { scans } = this.#world;
    if (scans.size > 0) return;
    scans.add(this);
    this.#scan = this.#scanned(this.#begin());
  }

  /** To be told before the engine is, of every batch. */
  changing(operations: BatchOperations): void {
    if (!this.#isTold) return;
    const { isNeverParted } = this.#world.kind;
    const looked = isNeverParted ? lookedThrough(operations) : wholeOf(operations);
    if (looked === undefined || !this.#addAll(looked)) this.#drop();
  }

  /**
   * The same, of one key that a batch puts, and one of its kind. True: nothing is stored under it, and
   * no operation before this one puts it.
   */
  putting(key: Buffer): boolean {
    const added = this.#complete?.add(key);
    if (added === 'full' || this.#next?.add(key) === 'full') this.#drop();
    return added === 'new';
  }

  /**
   * To be told before the engine is; what is returned is to be told what has become of it.
   */
  clearing({ gte, lt, limit }: KeyRange): (outcome: 'cleared' | 'failed') => void {
    const { range } = this.#world.kind;
    const isAll = gte.compare(range.gte) <= 0 && lt.compare(range.lt) >= 0;
    if (!isAll || limit !== undefined || this.#closing.signal.aborted) return () => {};
    const filter = this.#begin();
    return (outcome) => (outcome === 'cleared' ? this.#finish(filter) : this.#giveUp(filter));
  }

  /** Nothing is known any more. Resolves when a scan that was under way has ended. */
  close(): Promise<void> {
    this.#closing.abort(new Error('the engine is closing'));
    this.#forget();
    return this.#scan;
  }

  /** From now on it is told of every put, in the place of one that is not complete. */
  #begin(): KeyFilter {
    this.#next?.free();
    this.#next = new KeyFilter(this.#world.memory);
    return this.#next;
  }

  /** The engine holds nothing but what `filter` was told of, unless that was given up. */
  #finish(filter: KeyFilter): void {
    if (this.#next !== filter) return;
    this.#complete?.free();
    this.#complete = filter;
    this.#next = undefined;
  }

  #giveUp(filter: KeyFilter): void {
    if (this.#next !== filter) return;
    filter.free();
    this.#next = undefined;
  }

  #forget(): void {
    this.#complete?.free();
    this.#next?.free();
    this.#complete = undefined;
    this.#next = undefined;
  }

  /** Until much more was not found. */
  #drop(): void {
    this.#forget();
    this.#misses = 0;
    this.#missesMin *= limits.keyFilterMissesGrowth;
  }

  get #isTold(): boolean {
    return this.#complete !== undefined || this.#next !== undefined;
  }

  /** False: they are too many. */
  #addAll(operations: Iterable<BatchOperation>): boolean {
    let records = 0;
    for (const { type, key } of operations) {
      // there was no memory for the one before
      if (!this.#isTold) return true;
      if (type === 'del' || !this.#isOne(key)) continue;
      if (++records > limits.keyFilterChangesMax) return false;
      this.putting(key);
    }
    return true;
  }

  async #scanned(filter: KeyFilter): Promise<void> {
    try {
      await this.#addStored(filter);
      this.#finish(filter);
    } catch {
      // the engine is closing, or fails: whoever needs it will hear of that
      if (this.#next === filter) this.#drop();
    } finally {
      this.#world.scans.delete(this);
    }
  }

  /** All that the engine held at the beginning of `filter`; of what comes later that is told. */
  async #addStored(filter: KeyFilter): Promise<void> {
    const { clock } = this.#world;
    // behind it, what was handed over before the filter began to be told is in the engine
    await this.#engine.write([]);
    if (this.#next !== filter) return;
    let { range } = this.#world.kind;
    for (;;) {
      const beganMs = clock.monotonicMs();
      const pairs = await this.#slice(range);
      if (this.#next !== filter || pairs.length === 0) return;
      if (!pairs.every(([key]) => !this.#isOne(key) || filter.add(key) !== 'full'))
        return this.#drop();
      range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
      const tookMs = clock.monotonicMs() - beganMs;
      const pauseMs = Math.max(PAUSE_MIN_MS, Math.min(PAUSE_MAX_MS, tookMs * PAUSE_SHARE));
      await sleep(clock, pauseMs, this.#closing.signal);
    }
  }

  /** By an iterator of its own: no state is held while others write (`engine/kept-state`). */
  async #slice(range: KeyRange): Promise<KeyValue[]> {
    const iterator = this.#engine.iterate({ ...range, keysOnly: true });
    try {
      return await iterator.next(SLICE_KEYS);
    } finally {
      await iterator.close();
    }
  }
}

/** All of a batch; undefined: they are too many to look at. */
function wholeOf(operations: BatchOperations): BatchOperations | undefined {
  return operations.length <= limits.engineWholeOperationsMax ? operations : undefined;
}

/** Those of a batch among which all its records are; undefined: they are too many to look at. */
export function lookedThrough(operations: BatchOperations): BatchOperations | undefined {
  if (operations.length <= limits.engineWholeOperationsMax) return operations;
  const { parted } = operations;
  if (parted === undefined || parted.others.length > limits.engineWholeOperationsMax) {
    return undefined;
  }
  return parted.prefixes.every(isElementKey) ? parted.others : undefined;
}
