/** What is left of elements that were stored before the entry that makes them was applied. */
import type { Engine, KeyRange } from '../../engine/engine.ts';
import { ELEMENT_PREFIX_BYTES, madeAt } from '../records/element-key.ts';
import { unknownVersion } from '../records/record.ts';
import { EARLY_KEY, EARLY_VERSION } from './early-elements.ts';
import { createView } from './txn.ts';

/**
 * Ends what a crash, or a snapshot taken in the midst of it, left of an entry behind `appliedIndex`. To
 * be called before anything is applied. A collection made by an entry that is applied stays: a build
 * that knows of no mark has applied it. Throws KvorumError CORRUPT, or TOO_NEW.
 */
export async function removeEarly(engine: Engine, appliedIndex: number): Promise<void> {
  const mark = createView(engine).get(EARLY_KEY);
  if (mark === undefined) return;
  for (const place of placesOf(mark)) {
    if (madeAt(place) > appliedIndex) await engine.clearRange(rangeOf(place));
  }
  await engine.write([{ type: 'del', key: EARLY_KEY }]);
}

function placesOf(mark: Buffer): Buffer[] {
  const count = (mark.length - 1) / ELEMENT_PREFIX_BYTES;
  if (mark[0] !== EARLY_VERSION || !Number.isInteger(count)) {
    throw unknownVersion(EARLY_KEY, 'mark of elements stored early', mark[0], EARLY_VERSION);
  }
  return Array.from({ length: count }, (_, at) => {
    const from = 1 + at * ELEMENT_PREFIX_BYTES;
    return mark.subarray(from, from + ELEMENT_PREFIX_BYTES);
  });
}

/** All keys that begin with `place`, which ends in a version's ordinal. */
function rangeOf(place: Buffer): KeyRange {
  const lt = Buffer.from(place);
  for (let at = lt.length - 1; at >= 0; at--) {
    lt[at] = (lt[at]! + 1) & 0xff;
    if (lt[at] !== 0) break;
  }
  return { gte: place, lt };
}
