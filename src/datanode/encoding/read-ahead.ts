/**
 * Ranges of an engine, read ahead: a walk takes a few pairs at a time, so that it can give way in
 * between, and the engine is asked for many at once. Keeps the last slice; the engine (or a
 * snapshot of it) must not change where one walk goes on.
 */
import { limits } from '../../common/limits.ts';
import { type EngineReader, type KeyRange, type KeyValue, limited } from '../engine/engine.ts';
import { openRecord } from './record.ts';

export interface Slice {
  readonly pairs: readonly KeyValue[];
  /** Nothing of the range lies beyond the pairs. */
  readonly ended: boolean;
}

/** Of `range` in `reader`: at least one pair unless it is empty. */
export async function readSlice(reader: EngineReader, range: KeyRange): Promise<Slice> {
  const countMax = Math.min(range.limit ?? limits.rangeSlicePairs, limits.rangeSlicePairs);
  const pairs: KeyValue[] = [];
  let bytes = 0;
  const iterator = reader.iterate(limited(range, countMax));
  try {
    while (pairs.length < countMax && bytes < limits.rangeSliceBytes) {
      const read = await iterator.next(countMax - pairs.length);
      if (read.length === 0) return { pairs, ended: true };
      for (const [key, record] of read) {
        pairs.push([key, openRecord(key, record)]);
        bytes += key.length + record.length;
      }
    }
    return { pairs, ended: false };
  } finally {
    await iterator.close();
  }
}

export class ReadAhead {
  readonly #reader: EngineReader;
  #range: KeyRange | undefined;
  #slice: Slice = { pairs: [], ended: false };

  constructor(reader: EngineReader) {
    this.#reader = reader;
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
    this.#range = undefined;
    this.#slice = await readSlice(this.#reader, range);
    this.#range = range;
  }

  /** A few pairs of `range`: at once when they have been read. */
  range(range: KeyRange): readonly KeyValue[] | Promise<readonly KeyValue[]> {
    if (range.gte.compare(range.lt) >= 0) return [];
    const known = this.known(range);
    if (known !== undefined) return handed(known, range);
    return this.read(range).then(() => handed(this.known(range)!, range));
  }
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
