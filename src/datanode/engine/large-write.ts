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
 * part: readers find the state before until the mark is there, and all of it from then on
 * (`shown-write.ts`). When a part fails that stays so; nothing is written any more then, and the next
 * opening ends it.
 */
import { limits } from '../../common/limits.ts';
import type {
  BatchOperation,
  BatchOperations,
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
import { SharedState } from './shared-state.ts';
import { type ShownStore, ShownWrite } from './shown-write.ts';

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
export interface PartTarget extends ShownStore {
  /** Atomic; none is begun before the one before it has ended. */
  batch(operations: BatchOperations): Promise<void>;
  /**
   * Makes the next operations a batch, of about `bytes`, while the one before may be written; others
   * have their turns meanwhile. States that are held have nothing to do with what it changes.
   */
  prepare(operations: Iterator<BatchOperation>, bytes: number): Promise<PreparedPart>;
  /** States that are held remember what `operations` change of them. */
  remember(operations: BatchOperations): Promise<void>;
}

export class LargeWrites {
  readonly #target: PartTarget;
  readonly #sizes: LargeWriteSizes;
  /** Without what is stored beside the data, and without elements to which nothing leads yet. */
  #before: SharedState | undefined;
  #shown: ShownWrite | undefined;

  constructor(target: PartTarget, sizes: LargeWriteSizes = largeWriteSizes) {
    this.#target = target;
    this.#sizes = sizes;
  }

  /** Where single keys of one are found that has happened and is being carried out. */
  get shown(): ShownWrite | undefined {
    return this.#shown;
  }

  /** Whose ranges are to be read while a large write is under way; undefined: those that are stored. */
  get ranges(): Pick<EngineReader, 'iterate'> | undefined {
    return this.#shown ?? this.#before;
  }

  /** A state that begins while a large write is under way; undefined: that of what is stored. */
  snapshot(): EngineSnapshot | undefined {
    return this.#shown?.snapshot() ?? this.#before?.share();
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
    this.#before = new SharedState(this.#target.hold());
    const { parted } = operations;
    if (parted === undefined) await this.#writeRedone(operations);
    else await this.#writeParted(parted);
    this.#endBefore();
  }

  async #writeRedone(operations: BatchOperations): Promise<void> {
    const { batch, remember } = this.#target;
    const shown = new ShownWrite(this.#target);
    let records = 0;
    for (const part of partsOf(operations, this.#sizes.redoBytes)) {
      shown.add(part);
      await batch([encodeRedo(records++, part)]);
    }
    await batch([encodeMark(records)]);
    this.#shown = shown;
    this.#endBefore();
    try {
      await remember(operations);
      await this.#writeParts(thenRemoval(operations, records));
    } catch (error) {
      shown.failed(error);
      throw error;
    }
    this.#shown = undefined;
    shown.landed();
  }

  async #writeParted({ prefixes, unreached, others }: PartedOperations): Promise<void> {
    const { batch } = this.#target;
    await batch([encodeUndo(prefixes)]);
    await this.#writeParts(unreached[Symbol.iterator]());
    if (this.isLarge(others)) await this.#writeRedone(others);
    else await batch([...others, { type: 'del', key: UNDO }]);
  }

  #endBefore(): void {
    const before = this.#before;
    this.#before = undefined;
    before?.release();
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
