/**
 * Engines in memory with LevelDB's crash semantics, for tests and the simulator: a write is
 * visible at once and durable only after `sync`; a power failure keeps a prefix of the batches
 * (all up to the last sync, and some of those after it), as verification of a real LevelDB would
 * leave them. Deterministic: it uses no time but the Clock it may be given.
 */
import { assert } from '../../common/assert.ts';
import { copyOf } from '../../common/bytes.ts';
import type { Clock } from '../../common/clock.ts';
import { KvorumError } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import type { Random } from '../../common/random.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  EngineHost,
  EngineIterator,
  EngineReader,
  EngineReport,
  EngineSnapshot,
  KeyRange,
  KeyValue,
} from './engine.ts';
import { OrderedImage } from './ordered-image.ts';
import { bytesOf, WriteQueue } from './write-queue.ts';

const ITERATOR_CHUNK_BYTES = 1024 * 1024;
/** Beyond, the older half is written back by itself, as a system does with old dirty pages. */
const UNSYNCED_BATCHES_MAX = 1_024;
const NO_VALUE = Buffer.alloc(0);
const NAME = /^\d+-\d+$/;

export type MemoryOperation = 'read' | 'write' | 'sync' | 'open';

export interface MemoryHostOptions {
  /** With `latencyMs`: operations take time on this clock; without: they end by microtasks. */
  readonly clock?: Clock;
  /** How long an operation takes; called once per operation, so it may draw from a Random. */
  readonly latencyMs?: (operation: MemoryOperation) => number;
}

export interface MemoryHost extends EngineHost {
  /**
   * The process is gone. Open engines are dead: what they are doing never ends and changes
   * nothing. `power`: un-synced batches are lost from the end, how many is drawn from `random`;
   * `process`: the system keeps what was written. Open the engines again to go on.
   */
  crash(random: Random, kind?: 'power' | 'process'): void;
  /** Every following write and sync of engine `name` fails, until it is opened again. */
  failDisk(name: string): void;
}

/** Engines that live as long as the host object; each survives close and crash within it. */
export function createMemoryHost(options: MemoryHostOptions = {}): MemoryHost {
  return new MemoryHostOf(options);
}

/** What one engine directory holds: the synced state, then one state per later batch. */
interface Store {
  durable: OrderedImage;
  unsynced: { readonly image: OrderedImage; readonly bytes: number }[];
  report: EngineReport;
}

const nothingCut: EngineReport = { cutBytes: 0, cuts: [] };

class MemoryHostOf implements MemoryHost {
  readonly #options: MemoryHostOptions;
  readonly #stores = new Map<string, Store>();
  readonly #engines = new Map<string, MemoryEngine>();

  constructor(options: MemoryHostOptions) {
    this.#options = options;
  }

  async open(name: string): Promise<{ engine: Engine; report: EngineReport }> {
    assert(NAME.test(name), () => `an engine's name is <replica id>-<generation>, not ${name}`);
    assert(!this.#engines.has(name), () => `engine ${name} is open already`);
    const store = this.#stores.get(name) ?? newStore();
    this.#stores.set(name, store);
    const engine = new MemoryEngine(name, store, this.#options, () => {
      if (this.#engines.get(name) === engine) this.#engines.delete(name);
    });
    this.#engines.set(name, engine);
    await engine.delay('open');
    const { report } = store;
    store.report = nothingCut;
    return { engine, report };
  }

  async remove(name: string): Promise<void> {
    assert(NAME.test(name), () => `an engine's name is <replica id>-<generation>, not ${name}`);
    await this.#engines.get(name)?.close();
    this.#stores.delete(name);
  }

  async list(): Promise<string[]> {
    return [...this.#stores.keys()].sort();
  }

  async verifyTables(): Promise<void> {
    // what is in memory has no checksums to check
  }

  crash(random: Random, kind: 'power' | 'process' = 'power'): void {
    for (const engine of this.#engines.values()) engine.die();
    this.#engines.clear();
    if (kind === 'process') return;
    // sorted: the draws must not depend on the order in which engines were opened
    for (const name of [...this.#stores.keys()].sort()) {
      const store = this.#stores.get(name)!;
      losePower(name, store, random);
    }
  }

  failDisk(name: string): void {
    this.#engines.get(name)?.failDisk();
  }
}

function newStore(): Store {
  return { durable: OrderedImage.empty, unsynced: [], report: nothingCut };
}

/** Keeps the first k un-synced batches; k is all of them half of the time. */
function losePower(name: string, store: Store, random: Random): void {
  const written = store.unsynced.length;
  const kept = random.below(2) === 0 ? written : random.below(written + 1);
  const lost = store.unsynced.slice(kept);
  store.durable = store.unsynced[kept - 1]?.image ?? store.durable;
  store.unsynced = [];
  if (lost.length === 0) return;
  const cutBytes = lost.reduce((sum, batch) => sum + batch.bytes, 0);
  store.report = { cutBytes, cuts: [`${name}: ${lost.length} un-synced batches lost`] };
}

/** Reads of whatever `image` is at the time. */
export class MemoryReader implements EngineReader {
  readonly #image: () => OrderedImage;
  readonly #delay: () => Promise<void>;

  constructor(image: () => OrderedImage, delay: () => Promise<void>) {
    this.#image = image;
    this.#delay = delay;
  }

  getSync(key: Buffer): Buffer | undefined {
    const value = this.#image().get(key);
    return value && copyOf(value);
  }

  iterate(range: KeyRange): EngineIterator {
    return new MemoryIterator(this.#image(), range, this.#delay);
  }
}

class MemoryIterator implements EngineIterator {
  readonly #image: OrderedImage;
  readonly #delay: () => Promise<void>;
  #range: KeyRange;
  #left: number;
  #open = true;

  constructor(image: OrderedImage, range: KeyRange, delay: () => Promise<void>) {
    this.#image = image;
    this.#range = { ...range, gte: copyOf(range.gte), lt: copyOf(range.lt) };
    this.#delay = delay;
    this.#left = range.limit ?? Number.POSITIVE_INFINITY;
  }

  async next(count: number): Promise<KeyValue[]> {
    assert(count >= 1, () => `an iterator's step is at least 1, not ${count}`);
    if (!this.#open) throw closedError();
    const wanted = Math.min(count, this.#left, limits.scanCountMax);
    const pairs = this.#image.read(this.#range, wanted, ITERATOR_CHUNK_BYTES);
    this.#left -= pairs.length;
    const last = pairs.at(-1)?.[0];
    if (last) {
      const { gte, lt } = this.#range;
      const rest = this.#range.reverse ? { gte, lt: last } : { gte: keyAfter(last), lt };
      this.#range = { ...this.#range, ...rest };
    }
    await this.#delay();
    const { keysOnly } = this.#range;
    return pairs.map(([key, value]) => [copyOf(key), keysOnly ? NO_VALUE : copyOf(value)]);
  }

  async close(): Promise<void> {
    this.#open = false;
  }
}

export class MemorySnapshot extends MemoryReader implements EngineSnapshot {
  readonly #release: () => void;

  constructor(image: OrderedImage, delay: () => Promise<void>) {
    let held: OrderedImage | undefined = image;
    super(() => {
      if (!held) throw closedError();
      return held;
    }, delay);
    this.#release = () => {
      held = undefined;
    };
  }

  async close(): Promise<void> {
    this.#release();
  }
}

/** Behind every key: those begin with a tag. */
const LAST_KEY = Buffer.alloc(8, 0xff);

class MemoryEngine extends MemoryReader implements Engine {
  readonly #name: string;
  readonly #store: Store;
  readonly #options: MemoryHostOptions;
  readonly #writes: WriteQueue;
  readonly #onClose: () => void;
  #dead = false;
  #closed = false;
  #diskFailed = false;

  constructor(name: string, store: Store, options: MemoryHostOptions, onClose: () => void) {
    super(
      () => this.#image(),
      () => this.delay('read'),
    );
    this.#name = name;
    this.#store = store;
    this.#options = options;
    this.#onClose = onClose;
    this.#writes = new WriteQueue({
      batch: (operations) => this.#apply(() => operations),
      clear: (range) => this.#apply(() => this.#clearing(range)),
    });
  }

  snapshot(): EngineSnapshot {
    return new MemorySnapshot(this.#image(), () => this.delay('read'));
  }

  write(operations: BatchOperations): Promise<void> {
    // copied: the caller's buffers may change after the call ends
    return this.#writes.batch(Array.from(operations, copyOperation));
  }

  async approximateBytes(): Promise<number> {
    const all = { gte: Buffer.alloc(0), lt: LAST_KEY };
    const pairs = this.#image().read(all, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    return pairs.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  }

  clearRange(range: KeyRange): Promise<void> {
    return this.#writes.clear(range);
  }

  async sync(): Promise<void> {
    await this.#writes.settled();
    const target = this.#store.unsynced.at(-1)?.image;
    await this.delay('sync');
    if (this.#diskFailed) throw this.#writes.fail(this.#diskError());
    const at = this.#store.unsynced.findIndex((batch) => batch.image === target);
    if (at < 0) return; // another sync made it durable
    this.#store.durable = this.#store.unsynced[at]!.image;
    this.#store.unsynced.splice(0, at + 1);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#writes.close();
    this.#closed = true;
    this.#onClose();
  }

  /** Waits as long as `operation` takes; for ever once the process is gone. */
  async delay(operation: MemoryOperation): Promise<void> {
    const { clock, latencyMs } = this.#options;
    if (clock && latencyMs) {
      await new Promise<void>((resolve) => {
        clock.setTimer(latencyMs(operation), resolve);
      });
    } else {
      await Promise.resolve();
    }
    if (this.#dead) await new Promise<never>(() => {});
  }

  die(): void {
    this.#dead = true;
  }

  failDisk(): void {
    this.#diskFailed = true;
  }

  async #apply(operations: () => BatchOperations): Promise<void> {
    await this.delay('write');
    if (this.#diskFailed) throw this.#diskError();
    const batch = operations();
    const { unsynced } = this.#store;
    unsynced.push({ image: this.#newest().apply(batch), bytes: bytesOf(batch) });
    if (unsynced.length > UNSYNCED_BATCHES_MAX) {
      this.#store.durable = unsynced[UNSYNCED_BATCHES_MAX >> 1]!.image;
      unsynced.splice(0, (UNSYNCED_BATCHES_MAX >> 1) + 1);
    }
  }

  #clearing(range: KeyRange): BatchOperation[] {
    const pairs = this.#newest().read(range, range.limit ?? Number.MAX_SAFE_INTEGER, Infinity);
    return pairs.map(([key]) => ({ type: 'del', key }));
  }

  #image(): OrderedImage {
    if (this.#closed) throw closedError();
    return this.#newest();
  }

  #newest(): OrderedImage {
    return this.#store.unsynced.at(-1)?.image ?? this.#store.durable;
  }

  #diskError(): KvorumError {
    return new KvorumError('DISK_FAILED', `${this.#name}: the disk failed`);
  }
}

/** Shares no memory with what the caller may change. */
export function copyOperation(operation: BatchOperation): BatchOperation {
  const key = copyOf(operation.key);
  return operation.type === 'del'
    ? { type: 'del', key }
    : { type: 'put', key, value: copyOf(operation.value) };
}

/** The smallest key above `key`. */
function keyAfter(key: Buffer): Buffer {
  const after = Buffer.alloc(key.length + 1);
  after.set(key);
  return after;
}

export function closedError(): KvorumError {
  return new KvorumError('STOPPING', 'the engine is closed');
}
