/**
 * Ranges of the order that are removed. Of a large set that loses most of its members what is left is
 * put down anew, as another set under the same key, and what was there becomes garbage: so a command that
 * removes all of a million members changes a record, not two of each, which every replica would hold in
 * memory until all of them are written.
 */
import { scoreOrder } from './element-key.ts';
import type { Slices } from './slices.ts';
import type { WriteView } from './view.ts';
import { dropMember, newZset, putNewScore } from './zset.ts';
import { flagsOfZset, type OpenZset, setFlags, zsetFlags } from './zset-header.ts';
import { Blocks, countBefore, countBlocks, roughCount } from './zset-index.ts';
import { countSpan, rankSpan, type Span, walkSpan, wholeSpan } from './zset-range.ts';

/** Fewer are removed one by one: they are not worth counting. */
const COUNTED_MIN = 16_384;

/** Members from a rank on. */
interface Ranks {
  readonly first: number;
  readonly count: number;
}

/** Removes what lies in `span`, a forward one; results in the set to save, which may be another one. */
export function* removeSpan(view: WriteView, zset: OpenZset, span: Span): Slices<OpenZset> {
  const ranks = yield* ranksOf(view, zset, span);
  if (ranks !== undefined && zset.size - ranks.count < ranks.count) {
    return yield* othersOf(view, zset, ranks);
  }
  yield* walkSpan(span, (entry) => dropMember(view, zset, entry));
  return zset;
}

/** Which members those are; undefined: few, or it is not known without walking over them. */
function* ranksOf(view: WriteView, zset: OpenZset, span: Span): Slices<Ranks | undefined> {
  const { range, begins, limit = zset.size } = span;
  if (begins !== undefined || Math.min(limit, roughCount(view, zset, range)) < COUNTED_MIN) {
    return undefined;
  }
  const first = yield* countBefore(view, zset, range.gte);
  return { first, count: Math.min(limit, yield* countSpan(view, zset, span)) };
}

/** A set of the others, in the place of `zset`. */
function* othersOf(view: WriteView, zset: OpenZset, { first, count }: Ranks): Slices<OpenZset> {
  const others = newZset(view, zset.found);
  others.deadlineMs = zset.deadlineMs;
  setFlags(others, flagsOfZset(zset) & zsetFlags.large);
  const blocks = new Blocks();
  const behind = zset.size - first - count;
  const spans = [
    { ...wholeSpan(zset.place), limit: first },
    yield* rankSpan(view, zset, first + count, behind),
  ];
  for (const span of spans) {
    yield* walkSpan(span, ({ member, score }) => {
      others.size++;
      blocks.add(scoreOrder(putNewScore(view, others, member, score)));
    });
  }
  view.ranks?.drop(zset.place);
  yield* countBlocks(view, others, blocks);
  return others;
}
