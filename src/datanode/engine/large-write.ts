/**
 * Writes of any size, still atomic. LevelDB takes a batch as one piece of memory, which is moved
 * whenever it has to grow: 40 MB hold the event loop for 20 ms. So a large write goes in parts:
 *
 *   1. its operations as redo records, beside the data
 *   2. a mark: now it has happened
 *   3. the operations themselves, one part after the other, with the last the mark and the records go
 *
 * What a crash leaves is a prefix of these batches. Whoever opens the store removes redo records that
 * have no mark, and with a mark carries the operations out once more, from the first on: that some of
 * them have been makes no difference. Nobody sees a part: until the last is written readers are given
 * the state before (`before`). When a part fails that stays so; nothing is written any more then, and
 * the next opening ends it.
 */
import { limits } from '../../common/limits.ts';
import type {
  BatchOperation,
  BatchOperations,
  EngineReader,
  EngineSnapshot,
  KeyRange,
} from './engine.ts';
import {
  decodeMark,
  decodeRedo,
  encodeMark,
  encodeRedo,
  REDO_MARK,
  REDO_RECORDS,
  redoKey,
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

export const largeWriteSizes: LargeWriteSizes = {
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
  snapshot(): EngineSnapshot;
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
    const { batch } = this.#target;
    const before = new SharedSnapshot(this.#target.snapshot());
    this.#before = before;
    let records = 0;
    for (const part of partsOf(operations, this.#sizes.redoBytes)) {
      await batch([encodeRedo(records++, part)]);
    }
    await batch([encodeMark(records)]);
    let last: BatchOperation[] = [];
    for (const part of partsOf(operations, this.#sizes.partBytes)) {
      if (last.length > 0) await batch(last);
      last = part;
    }
    await batch([...last, ...removalOf(records)]);
    this.#before = undefined;
    before.release();
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
  await batch(removalOf(records));
  return 'carried out';
}

async function removeRecords(
  store: EngineReader,
  batch: PartTarget['batch'],
): Promise<'nothing' | 'removed'> {
  const iterator = store.iterate(REDO_RECORDS);
  const removals: BatchOperation[] = [];
  try {
    for (;;) {
      const pairs = await iterator.next(limits.scanCountMax);
      if (pairs.length === 0) break;
      for (const [key] of pairs) removals.push({ type: 'del', key });
    }
  } finally {
    await iterator.close();
  }
  if (removals.length === 0) return 'nothing';
  await batch(removals);
  return 'removed';
}

/** The mark first, so that no mark is ever without its records. */
function removalOf(records: number): BatchOperation[] {
  const removals: BatchOperation[] = [{ type: 'del', key: REDO_MARK }];
  for (let number = 0; number < records; number++) {
    removals.push({ type: 'del', key: redoKey(number) });
  }
  return removals;
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

  iterate(range: KeyRange): ReturnType<EngineReader['iterate']> {
    return this.#snapshot.iterate(range);
  }

  share(): EngineSnapshot {
    this.#users++;
    let close = (): Promise<void> => {
      close = async () => {};
      return this.#leave();
    };
    return {
      getSync: (key) => this.getSync(key),
      getMany: (keys) => this.getMany(keys),
      iterate: (range) => this.iterate(range),
      close: () => close(),
    };
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
