/**
 * Ranges of the order that are removed. Of a large set that loses most of its members what is left is
 * put down anew, as another set under the same key, and what was there becomes garbage: so a command that
 * removes all of a million members changes a record, not two of each, which every replica would hold in
 * memory until all of them are written.
 */
import type { SteadyList } from '../../../common/steady-list.ts';
import { flagsOfZset, type OpenZset, setFlags, zsetFlags } from '../ranks/zset-header.ts';
import { Blocks, countBefore, countBlocks, roughCount } from '../ranks/zset-index.ts';
import { scoreOrder } from '../records/element-key.ts';
import { eachItem, type Slices } from '../steps/slices.ts';
import type { WriteView } from '../txn/view.ts';
import { dropMember, type Entry, newZset, putNewScore } from './zset.ts';
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
  if (ranks !== undefined && isMost(zset, ranks)) return yield* othersOf(view, zset, ranks);
  yield* walkSpan(span, (entry) => dropMember(view, zset, entry));
  return zset;
}

/** Removes `entries`, which are those at one end; results likewise. */
export function* removeEnd(
  view: WriteView,
  zset: OpenZset,
  entries: SteadyList<Entry>,
  highest: boolean,
): Slices<OpenZset> {
  const count = entries.length;
  const ranks = { first: highest ? zset.size - count : 0, count };
  if (count >= COUNTED_MIN && isMost(zset, ranks)) return yield* othersOf(view, zset, ranks);
  yield* eachItem(entries, (entry) => {
    dropMember(view, zset, entry);
  });
  return zset;
}

function isMost(zset: OpenZset, { count }: Ranks): boolean {
  return zset.size - count < count;
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
