/** How many bytes the elements of a collection take in the engine: estimated by a few, or counted. */
import { limited } from '../../engine/engine.ts';
import type { Collection } from '../collections/collection.ts';
import { elementRange, elementTags } from '../records/element-key.ts';
import { keyAfter } from '../records/key.ts';
import { tags } from '../records/tags.ts';
import type { Slices } from '../steps/slices.ts';

/** Behind the value of every record. */
export const CHECKSUM_BYTES = 4;
const SLICE = 1_000;
/** A block of counted scores is filled with so many, and split at twice as many. */
const BLOCK_ELEMENTS = 256;

/**
 * Bytes of keys and values. `samples`: how many records of each kind are looked at, 0 for all of
 * them. Where there are more, the rest is taken to be like those. What groups of a stream have is looked at
 * whole: how many entries there are says nothing about it.
 */
export function* storedBytes(collection: Collection, samples: number): Slices<number> {
  let total = 0;
  for (const tag of elementTags[collection.type]) {
    const count = tag === tags.zsetBlock ? collection.size / BLOCK_ELEMENTS : collection.size;
    const some = tag === tags.streamGroup || tag === tags.streamPending ? 0 : samples;
    total += yield* bytesUnder(elementRange(tag, collection.place), Math.ceil(count), some);
  }
  return total;
}

function* bytesUnder(
  range: ReturnType<typeof elementRange>,
  count: number,
  samples: number,
): Slices<number> {
  let [met, bytes] = [0, 0];
  let rest = range;
  for (;;) {
    const limit = samples === 0 ? SLICE : Math.min(SLICE, samples - met);
    const pairs = limit > 0 ? yield limited(rest, limit) : [];
    for (const [at, value] of pairs) bytes += at.length + value.length + CHECKSUM_BYTES;
    met += pairs.length;
    if (pairs.length === 0) return bytes;
    if (met === samples) return Math.round((bytes / met) * Math.max(met, count));
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}
