/**
 * Ranges of an engine, read ahead: a walk takes a few pairs at a time, so that it can give way in
 * between, and the engine is asked for many at once. Keeps the last slice; the engine (or a
 * snapshot of it) must not change where one walk goes on. A walk of more than a slice stays on one
 * iterator, and its next slice is read while the last one is worked on: `end` is to be called.
 */
import { limits } from '../../../common/limits.ts';
import {
  type EngineIterator,
  type EngineReader,
  type KeyRange,
  type KeyValue,
  limited,
} from '../../engine/engine.ts';
import { keyAfter } from '../records/key.ts';
import { openRecord } from '../records/record.ts';

/** By how much more is read each time. */
const STRIDE_GROWTH = 8;

export interface Slice {
  readonly pairs: readonly KeyValue[];
  /** Nothing of the range lies beyond the pairs. */
  readonly ended: boolean;
}

/** Of `range` in `reader`: at least one pair unless it is empty. */
export async function readSlice(reader: EngineReader, range: KeyRange): Promise<Slice> {
  const countMax = Math.min(range.limit ?? limits.rangeSlicePairs, limits.rangeSlicePairs);
  const iterator = reader.iterate(limited(range, countMax));
  try {
    return await sliceOf(iterator, countMax);
  } finally {
    await iterator.close();
  }
}

async function sliceOf(iterator: EngineIterator, countMax: number): Promise<Slice> {
  const pairs: KeyValue[] = [];
  let bytes = 0;
  while (pairs.length < countMax && bytes < limits.rangeSliceBytes) {
    const read = await iterator.next(countMax - pairs.length);
    if (read.length === 0) return { pairs, ended: true };
    for (const [key, record] of read) {
      pairs.push([key, openRecord(key, record)]);
      bytes += key.length + record.length;
    }
  }
  return { pairs, ended: false };
}

/** An engine's iterator on which a long walk goes on; the slice behind the last one is being read. */
class Cursor {
  readonly #iterator: EngineIterator;
  readonly #range: KeyRange;
  /** Pairs that are wanted and have not been asked for. */
  #left: number;
  /** Where the next slice begins, in the direction of the range. */
  #from: Buffer;
  /** Undefined: no more are wanted. */
  #next: Promise<Slice> | undefined;

  constructor(reader: EngineReader, range: KeyRange) {
    this.#range = range;
    this.#left = range.limit ?? Number.POSITIVE_INFINITY;
    this.#from = range.reverse ? range.lt : range.gte;
    // with the values, whoever asks for it: their checksums tell whether keys are what was written
    this.#iterator = reader.iterate({ ...range, keysOnly: false });
    this.#next = this.#read();
  }

  /** The slice at the beginning of `range`; undefined: the walk does not go on there. */
  async take(range: KeyRange): Promise<Slice | undefined> {
    const from = range.reverse ? range.lt : range.gte;
    if (!endsAlike(this.#range, range) || !this.#from.equals(from)) return undefined;
    const slice = await this.#next;
    const last = slice?.pairs.at(-1)?.[0];
    if (slice === undefined || slice.ended || last === undefined) return slice;
    this.#from = range.reverse ? last : keyAfter(last);
    this.#next = this.#read();
    return slice;
  }

  async close(): Promise<void> {
    await this.#next?.catch(() => {});
    await this.#iterator.close();
  }

  #read(): Promise<Slice> | undefined {
    const count = Math.min(this.#left, limits.rangeSlicePairs);
    if (count === 0) return undefined;
    this.#left -= count;
    const reading = sliceOf(this.#iterator, count);
    // whoever takes it hears of a failure; perhaps nobody does
    reading.catch(() => {});
    return reading;
  }
}

/** Told of what was read: `slice` is of the beginning of `range`, in its direction. */
export type OnSlice = (range: KeyRange, slice: Slice) => void;

export class ReadAhead {
  readonly #reader: EngineReader;
  readonly #onSlice: OnSlice | undefined;
  #range: KeyRange | undefined;
  #slice: Slice = { pairs: [], ended: false };
  #cursor: Cursor | undefined;

  constructor(reader: EngineReader, onSlice?: OnSlice) {
    this.#reader = reader;
    this.#onSlice = onSlice;
  }

  /** What has been read of the beginning of `range`; undefined when nothing has. */
  known(range: KeyRange): Slice | undefined {
    const kept = this.#range;
    if (kept === undefined) return undefined;
    const { pairs, ended } = this.#slice;
    const isBehind = range.reverse
      ? range.lt.compare(kept.lt) <= 0
      : range.gte.compare(kept.gte) >= 0;
    if (!isBehind || !endsAlike(kept, range)) return undefined;
    const from = firstOf(pairs, range);
    if (from === pairs.length && !ended) return undefined;
    return { pairs: from === 0 ? pairs : pairs.slice(from), ended };
  }

  /** Reads some of it: then `known` has an answer. */
  async read(range: KeyRange): Promise<void> {
    const before = this.#range;
    this.#range = undefined;
    this.#slice = await this.#readSlice(range, before);
    this.#range = range;
    this.#onSlice?.(range, this.#slice);
  }

  /** Nothing more is read; what is being read is waited for. */
  async end(): Promise<void> {
    const cursor = this.#cursor;
    this.#cursor = undefined;
    await cursor?.close();
  }

  /** A walk that goes on behind its first slice is likely to go on to its end. */
  async #readSlice(range: KeyRange, before: KeyRange | undefined): Promise<Slice> {
    const ahead = await this.#cursor?.take(range);
    if (ahead !== undefined) return ahead;
    await this.end();
    const behind = placeBehind(this.#slice.pairs, range);
    const goesOn = behind !== undefined && (range.reverse ? range.lt : range.gte).equals(behind);
    const limit = range.limit ?? Number.POSITIVE_INFINITY;
    if (!goesOn) return readSlice(this.#reader, range);
    if (limit <= limits.rangeSlicePairs) {
      return readSlice(this.#reader, limited(range, Math.max(limit, this.#stride(before))));
    }
    const cursor = new Cursor(this.#reader, range);
    this.#cursor = cursor;
    return (await cursor.take(range))!;
  }

  /**
   * How many pairs are worth to be read where somebody who wants few goes on. The last slice has all that
   * was asked for then: it is another command that goes on, and more of them are likely to come, as where
   * each XADD of a batch removes the first entry, or each ZPOPMIN takes the next. To read one costs as much
   * as to read ten.
   */
  #stride(before: KeyRange | undefined): number {
    const { length } = this.#slice.pairs;
    const isWhole = length >= (before?.limit ?? Number.POSITIVE_INFINITY);
    return isWhole ? Math.min(length * STRIDE_GROWTH, limits.rangeSlicePairs) : 0;
  }

  /** A few pairs of `range`: at once when they have been read. */
  range(range: KeyRange): readonly KeyValue[] | Promise<readonly KeyValue[]> {
    if (range.gte.compare(range.lt) >= 0) return [];
    const known = this.known(range);
    if (known !== undefined) return handed(known, range);
    return this.read(range).then(() => handed(this.known(range)!, range));
  }
}

/** Where a walk goes on behind `pairs`. */
function placeBehind(pairs: readonly KeyValue[], { reverse }: KeyRange): Buffer | undefined {
  const last = pairs.at(-1)?.[0];
  return last === undefined || reverse ? last : keyAfter(last);
}

function endsAlike(one: KeyRange, other: KeyRange): boolean {
  if ((one.reverse ?? false) !== (other.reverse ?? false)) return false;
  return one.reverse ? one.gte.equals(other.gte) : one.lt.equals(other.lt);
}

/** How many pairs a walk is given at once. */
export function handedMax({ limit }: KeyRange): number {
  return Math.min(limit ?? limits.rangeHandedPairs, limits.rangeHandedPairs);
}

function handed({ pairs }: Slice, range: KeyRange): readonly KeyValue[] {
  return pairs.slice(0, handedMax(range));
}

/** Index of the first pair that lies in `range`, in its direction. */
function firstOf(pairs: readonly KeyValue[], { gte, lt, reverse }: KeyRange): number {
  let low = 0;
  let high = pairs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const key = pairs[middle]![0];
    if (reverse ? key.compare(lt) >= 0 : key.compare(gte) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
