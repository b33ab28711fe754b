/** Sets and sorted sets as the inputs of unions, intersections and differences. */
import type { Collection } from '../collections/collection.ts';
import { readCollection } from '../collections/collection.ts';
import { decodeMember, elementRange, encodeMemberKey } from '../records/element-key.ts';
import { keyAfter } from '../records/key.ts';
import { tags } from '../records/tags.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import type { View } from '../txn/view.ts';
import { type Entry, scoreOf } from './zset.ts';
import { walkSpan, wholeSpan } from './zset-range.ts';

/** Undefined when nothing is under the key. */
export type Source = Collection | undefined;

const SET_SCORE = 1;

/** `wrong-type` when it is neither a set nor a sorted set. */
export function readSource(view: View, key: Buffer, nowMs: number): Source | 'wrong-type' {
  const zset = readCollection(view, key, 'zset', nowMs);
  return zset === 'wrong-type' ? readCollection(view, key, 'set', nowMs) : zset;
}

/** The member's score, 1 in a set; undefined when it is not in there. */
export function sourceScore(view: View, source: Source, member: Buffer): number | undefined {
  if (source === undefined) return undefined;
  if (source.type === 'zset') return scoreOf(view, source.place, member);
  const key = encodeMemberKey(tags.setMember, source.place, member);
  return view.get(key) === undefined ? undefined : SET_SCORE;
}

/** Gives every element to `take`, until that returns true. */
export function* walkSource(
  source: Source,
  take: (entry: Entry) => boolean | undefined,
): Slices<void> {
  if (source === undefined) return;
  if (source.type === 'zset') return yield* walkSpan(wholeSpan(source.place), take);
  let range = elementRange(tags.setMember, source.place);
  let met = 0;
  for (let pairs = yield range; pairs.length > 0; pairs = yield range) {
    for (const [key] of pairs) {
      if (isGlanceDue(++met)) yield GLANCE;
      if (take({ member: decodeMember(key), score: SET_SCORE })) return;
    }
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}
