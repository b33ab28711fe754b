/**
 * Writes of any size, still atomic. LevelDB takes a batch as one piece of memory, which is moved
 * whenever it has to grow: 40 MB hold the event loop for 20 ms. So a large write goes in parts:
 *
 *   1. its operations as redo records, beside the data
 *   2. a mark: now it has happened
 *   3. the operations themselves, one part after the other, behind them the mark and the records go
 *
 * Elements of a new collection are most of what is large, and need no redo: nobody comes upon them
 * before the collection's header is there. So a write that tells of such (`parted`) goes as
 *
 *   1. an undo record, with what their keys begin with
 *   2. those operations, one part after the other
 *   3. all others, in one batch or as above; with the last the undo record goes
 *
 * What a crash leaves is a prefix of these batches. Whoever opens the store removes redo records
 * that have no mark and what an undo record tells of, and with a mark carries the operations out
 * once more, from the first on: that some of them have been makes no difference. Nobody sees a
 * part: until the last is written readers are given the state before (`before`). When a part fails
 * that stays so; nothing is written any more then, and the next opening ends it.
 */
import { limits } from '../../common/limits.ts';
import type {
  BatchOperation,
  BatchOperations,
  EngineIterator,
  EngineReader,
  EngineSnapshot,
  KeyRange,
  PartedOperations,
  PreparedPart,
} from './engine.ts';
import {
  corrupt,
  decodeMark,
  decodeRedo,
  decodeUndo,
  encodeMark,
  encodeRedo,
  encodeUndo,
  REDO_MARK,
  REDO_RECORDS,
  redoKey,
  UNDO,
} from './redo.ts';

export interface LargeWriteSizes {
  /** A write of so few operations never goes in parts, one of more than `bytesMax` does. */
  readonly operationsMin: number;
  readonly bytesMax: number;
  /** Of more operations the bytes are not added up: it goes in parts. */
  readonly operationsMax: number;
  /** Bytes of a part, and of a redo record: one operation more at most. */
  readonly partBytes: number;
  readonly redoBytes: number;
}

const largeWriteSizes: LargeWriteSizes = {
  operationsMin: limits.engineBatchStep,
  bytesMax: limits.engineWholeBytesMax,
  operationsMax: limits.engineWholeOperationsMax,
  partBytes: limits.enginePartBytes,
  redoBytes: limits.engineRedoBytes,
};

/** The store beneath. */
export interface PartTarget {
  /** Atomic; none is begun before the one before it has ended. */
  batch(operations: BatchOperations): Promise<void>;
  /**
   * Makes the next operations a batch, of about `bytes`, while the one before may be written; others
   * have their turns meanwhile.
   */
  prepare(operations: Iterator<BatchOperation>, bytes: number): Promise<PreparedPart>;
  /** The state of now. `isHeld`: by a snapshot of the store, until it is closed. */
  snapshot(isHeld: boolean): EngineSnapshot;
  /** States that were taken before remember what `operations` change of them. */
  remember(operations: BatchOperations): Promise<void>;
  /** The same for what is too much to remember: they rest on `before`. */
  restOn(before: () => EngineSnapshot): Promise<void>;
}

export class LargeWrites {
  readonly #target: PartTarget;
  readonly #sizes: LargeWriteSizes;
  #before: SharedSnapshot | undefined;

  constructor(target: PartTarget, sizes: LargeWriteSizes = largeWriteSizes) {
    this.#target = target;
    this.#sizes = sizes;
  }

  /** What readers see while a large write is under way; undefined: what is stored. */
  get before(): EngineReader | undefined {
    return this.#before;
  }

  /** One of that state, if a large write is under way. */
  snapshot(): EngineSnapshot | undefined {
    return this.#before?.share();
  }

  isLarge(operations: BatchOperations): boolean {
    const { operationsMin, bytesMax, operationsMax } = this.#sizes;
    if (operations.length <= operationsMin) return false;
    if (operations.length > operationsMax) return true;
    let bytes = 0;
    for (const operation of operations) {
      bytes += sizeOf(operation);
      if (bytes > bytesMax) return true;
    }
    return false;
  }

  async write(operations: BatchOperations): Promise<void> {
    const isTooMuch = operations.length > this.#sizes.operationsMax;
    const before = new SharedSnapshot(this.#target.snapshot(isTooMuch));
    this.#before = before;
    if (isTooMuch) await this.#target.restOn(() => before.share());
    else await this.#target.remember(operations);
    const { parted } = operations;
    if (parted === undefined) await this.#writeRedone(operations);
    else await this.#writeParted(parted);
    this.#before = undefined;
    before.release();
  }

  async #writeRedone(operations: BatchOperations): Promise<void> {
    const { batch } = this.#target;
    let records = 0;
    for (const part of partsOf(operations, this.#sizes.redoBytes)) {
      await batch([encodeRedo(records++, part)]);
    }
    await batch([encodeMark(records)]);
    await this.#writeParts(thenRemoval(operations, records));
  }

  async #writeParted({ prefixes, unreached, others }: PartedOperations): Promise<void> {
    const { batch } = this.#target;
    await batch([encodeUndo(prefixes)]);
    await this.#writeParts(unreached[Symbol.iterator]());
    if (this.isLarge(others)) await this.#writeRedone(others);
    else await batch([...others, { type: 'del', key: UNDO }]);
  }

  async #writeParts(operations: Iterator<BatchOperation>): Promise<void> {
    let writing = Promise.resolve();
    for (let isLast = false; !isLast; ) {
      const part = await this.#target.prepare(operations, this.#sizes.partBytes);
      await writing;
      writing = part.write();
      // awaited in any case, unless preparing the next one fails first
      writing.catch(() => {});
      ({ isLast } = part);
    }
    await writing;
  }
}

/**
 * Ends what a crash left of a large write: as a whole, or not at all. To be called before anybody
 * reads or writes. Throws KvorumError CORRUPT when a redo record is damaged.
 */
export async function endLargeWrite(
  store: EngineReader,
  batch: PartTarget['batch'],
): Promise<'nothing' | 'removed' | 'carried out'> {
  const mark = store.getSync(REDO_MARK);
  if (mark === undefined) return removeRecords(store, batch);
  const records = decodeMark(mark);
  const read = (number: number) => decodeRedo(number, store.getSync(redoKey(number)));
  // all are looked at first: damage is to be found before anything is changed
  for (let number = 0; number < records; number++) read(number);
  for (let number = 0; number < records; number++) await batch(read(number));
  await batch([...removalOf(records)]);
  return 'carried out';
}

async function removeRecords(
  store: EngineReader,
  batch: PartTarget['batch'],
): Promise<'nothing' | 'removed'> {
  const undo = store.getSync(UNDO);
  const prefixes = undo === undefined ? [] : decodeUndo(undo);
  let removed = 0;
  for (const range of [REDO_RECORDS, ...prefixes.map(rangeUnder)]) {
    removed += await removeRange(store, batch, range);
  }
  if (undo !== undefined) await batch([{ type: 'del', key: UNDO }]);
  return removed > 0 || undo !== undefined ? 'removed' : 'nothing';
}

/** Returns how many there were. */
async function removeRange(
  store: EngineReader,
  batch: PartTarget['batch'],
  range: KeyRange,
): Promise<number> {
  const iterator = store.iterate(range);
  let removed = 0;
  try {
    for (;;) {
      const pairs = await iterator.next(limits.scanCountMax);
      if (pairs.length === 0) return removed;
      await batch(pairs.map(([key]) => ({ type: 'del', key })));
      removed += pairs.length;
    }
  } finally {
    await iterator.close();
  }
}

/** Every key that begins with `prefix`. */
function rangeUnder(prefix: Buffer): KeyRange {
  const lt = Buffer.from(prefix);
  for (let at = lt.length - 1; at >= 0; at--) {
    lt[at] = (lt[at]! + 1) & 0xff;
    if (lt[at] !== 0) return { gte: prefix, lt };
  }
  throw corrupt(UNDO, 'a prefix that every key begins with');
}

/**
 * Of all that a large write has beside the data. In this order, since it may be cut off anywhere:
 * the mark goes when what it says has been carried out, and an undo record without a mark would undo.
 */
function* removalOf(records: number): Generator<BatchOperation, void, unknown> {
  for (const key of [UNDO, REDO_MARK]) yield { type: 'del', key };
  for (let number = 0; number < records; number++) yield { type: 'del', key: redoKey(number) };
}

function* thenRemoval(
  operations: BatchOperations,
  records: number,
): Generator<BatchOperation, void, unknown> {
  yield* operations;
  yield* removalOf(records);
}

function* partsOf(
  operations: BatchOperations,
  bytesMax: number,
): Generator<BatchOperation[], void, unknown> {
  let part: BatchOperation[] = [];
  let bytes = 0;
  for (const operation of operations) {
    part.push(operation);
    bytes += sizeOf(operation);
    if (bytes < bytesMax) continue;
    yield part;
    part = [];
    bytes = 0;
  }
  if (part.length > 0) yield part;
}

function sizeOf(operation: BatchOperation): number {
  return operation.key.length + (operation.type === 'put' ? operation.value.length : 0);
}

/** A snapshot for the readers of a state, and for whoever takes a snapshot of it. */
class SharedSnapshot implements EngineReader {
  readonly #snapshot: EngineSnapshot;
  #users = 1;

  constructor(snapshot: EngineSnapshot) {
    this.#snapshot = snapshot;
  }

  getSync(key: Buffer): Buffer | undefined {
    return this.#snapshot.getSync(key);
  }

  getMany(keys: readonly Buffer[]): ReturnType<EngineReader['getMany']> {
    return this.#snapshot.getMany(keys);
  }

  /** It may be read when the write has ended long since. */
  iterate(range: KeyRange): EngineIterator {
    const iterator = this.#snapshot.iterate(range);
    const leave = this.#join();
    return {
      next: (count) => iterator.next(count),
      close: async () => {
        await iterator.close();
        await leave();
      },
    };
  }

  share(): EngineSnapshot {
    return {
      getSync: (key) => this.getSync(key),
      getMany: (keys) => this.getMany(keys),
      iterate: (range) => this.iterate(range),
      close: this.#join(),
    };
  }

  /** Returns how to leave; to do so again makes no difference. */
  #join(): () => Promise<void> {
    this.#users++;
    let leave = (): Promise<void> => {
      leave = async () => {};
      return this.#leave();
    };
    return () => leave();
  }

  /** The write that it was taken for has ended. */
  release(): void {
    this.#leave().catch(() => {
      // the store is closing, and its snapshots with it
    });
  }

  async #leave(): Promise<void> {
    if (--this.#users === 0) await this.#snapshot.close();
  }
}
