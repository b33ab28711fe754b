/** Ranks in a sorted set. */
import type { KeyRange, KeyValue } from '../engine/engine.ts';
import type { Collection } from './collection.ts';
import { elementRange } from './element-key.ts';
import { keyAfter } from './key.ts';
import { tags } from './tags.ts';
import type { View } from './view.ts';

type Walk<Result> = Generator<KeyRange, Result, readonly KeyValue[]>;

/** How many elements lie before `bound`, a zsetScore key or the beginning of one. */
export function* countBefore(_view: View, { place }: Collection, bound: Buffer): Walk<number> {
  return yield* countRange({ ...elementRange(tags.zsetScore, place), lt: bound });
}

/** The zsetScore key of the element that `rank` others lie before; undefined beyond the last. */
export function* keyAtRank(
  _view: View,
  { place }: Collection,
  rank: number,
): Walk<Buffer | undefined> {
  return yield* keyAt(elementRange(tags.zsetScore, place), rank);
}

function* countRange(range: KeyRange): Walk<number> {
  let count = 0;
  let rest = range;
  while (rest.gte.compare(rest.lt) < 0) {
    const pairs = yield rest;
    if (pairs.length === 0) break;
    count += pairs.length;
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
  return count;
}

function* keyAt(range: KeyRange, offset: number): Walk<Buffer | undefined> {
  let rest = range;
  for (let left = offset; ; ) {
    const pairs: readonly KeyValue[] = yield { ...rest, limit: left + 1 };
    if (pairs.length === 0) return undefined;
    if (left < pairs.length) return pairs[left]![0];
    left -= pairs.length;
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}
