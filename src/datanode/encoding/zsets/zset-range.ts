/**
 * Walks over a sorted set in the order of its scores: by score, by member, by rank. They read in
 * slices and stop where enough is given.
 */
import { SteadyList } from '../../../common/steady-list.ts';
import { type KeyRange, limited } from '../../engine/engine.ts';
import type { Collection } from '../collections/collection.ts';
import { countBefore, keyAtRank } from '../ranks/zset-index.ts';
import { type CollectionPlace, elementRange, encodeScoreKey } from '../records/element-key.ts';
import { keyAfter } from '../records/key.ts';
import { tags } from '../records/tags.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import type { View } from '../txn/view.ts';
import { type Entry, entryOf } from './zset.ts';

export interface ScoreBounds {
  readonly min: number;
  readonly max: number;
  readonly minOpen: boolean;
  readonly maxOpen: boolean;
}

/** `−` is before every member, `+` behind. */
export type LexBound = '-' | '+' | { readonly member: Buffer; readonly open: boolean };

export interface LexBounds {
  readonly min: LexBound;
  readonly max: LexBound;
}

/** A part of the order, in one direction. */
export interface Span {
  readonly range: KeyRange;
  /** So many elements are passed over; negative: all. */
  readonly offset?: number;
  /** At most so many are given; negative: all. */
  readonly limit?: number;
  /** Only from the first element that is taken by this one. */
  readonly begins?: (member: Buffer) => boolean;
  /** Up to the first one that is refused by this one. */
  readonly goesOn?: (member: Buffer) => boolean;
}

const NO_MEMBER = Buffer.alloc(0);
/** Offsets from here on are jumped over by rank. */
const JUMP_OFFSET_MIN = 256;
/** With one rank in so many elements, or more, all elements are walked over. */
export const DENSE_RANKS = 64;

export function wholeSpan(place: CollectionPlace, reverse = false): Span {
  return { range: { ...elementRange(tags.zsetScore, place), reverse } };
}

/** The elements of a score range; undefined when it cannot have any. */
export function scoreSpan(
  place: CollectionPlace,
  { min, max, minOpen, maxOpen }: ScoreBounds,
  reverse = false,
): Span | undefined {
  if (min > max || (min === max && (minOpen || maxOpen))) return undefined;
  const gte = scoreBound(place, min, minOpen);
  const lt = scoreBound(place, max, !maxOpen);
  return { range: { gte, lt, reverse } };
}

/** Before all members of a score, or behind them. */
function scoreBound(place: CollectionPlace, score: number, behind: boolean): Buffer {
  const bound = encodeScoreKey(place, score, NO_MEMBER);
  if (behind) for (let at = bound.length - 1; ++bound[at]! > 0xff || bound[at] === 0; at--);
  return bound;
}

/**
 * The elements of a range of members. Redis leaves undefined what that means where scores differ;
 * here it is what its small encoding does: from the first element in the range to the last before
 * one that is not.
 */
export function* lexSpan(
  { place }: Collection,
  bounds: LexBounds,
  reverse = false,
): Slices<Span | undefined> {
  if (isEmptyLex(bounds)) return undefined;
  const whole = elementRange(tags.zsetScore, place);
  const [head] = yield limited(whole, 1);
  const [tail] = yield limited(whole, 1, true);
  if (head === undefined || tail === undefined) return undefined;
  const first = entryOf(head);
  const last = entryOf(tail);
  if (!isAfterMin(last.member, bounds) || !isBeforeMax(first.member, bounds)) return undefined;
  if (first.score === last.score) {
    const gte = lexBound(place, first.score, bounds.min);
    const lt = lexBound(place, first.score, bounds.max, true);
    return { range: { gte, lt, reverse } };
  }
  const afterMin = (member: Buffer) => isAfterMin(member, bounds);
  const beforeMax = (member: Buffer) => isBeforeMax(member, bounds);
  return reverse
    ? { range: { ...whole, reverse }, begins: beforeMax, goesOn: afterMin }
    : { range: { ...whole, reverse }, begins: afterMin, goesOn: beforeMax };
}

function isEmptyLex({ min, max }: LexBounds): boolean {
  if (min === '+' || max === '-') return true;
  if (min === '-' || max === '+') return false;
  const order = min.member.compare(max.member);
  return order > 0 || (order === 0 && (min.open || max.open));
}

function isAfterMin(member: Buffer, { min }: LexBounds): boolean {
  if (typeof min === 'string') return min === '-';
  const order = member.compare(min.member);
  return min.open ? order > 0 : order >= 0;
}

function isBeforeMax(member: Buffer, { max }: LexBounds): boolean {
  if (typeof max === 'string') return max === '+';
  const order = member.compare(max.member);
  return max.open ? order < 0 : order <= 0;
}

function lexBound(place: CollectionPlace, score: number, bound: LexBound, upper = false): Buffer {
  if (typeof bound === 'string') return scoreBound(place, score, bound === '+');
  const key = encodeScoreKey(place, score, bound.member);
  return bound.open === upper ? key : keyAfter(key);
}

/** `count` elements from rank `start` on, counted from the end when `reverse`. */
export function* rankSpan(
  view: View,
  zset: Collection,
  start: number,
  count: number,
  reverse = false,
): Slices<Span> {
  const whole = wholeSpan(zset.place, reverse);
  if (start === 0) return { ...whole, limit: count };
  const { range } = whole;
  const rank = reverse ? zset.size - 1 - start : start;
  const key = yield* keyAtRank(view, zset, rank);
  if (key === undefined) return { ...whole, limit: 0 };
  return {
    range: reverse ? { ...range, lt: keyAfter(key) } : { ...range, gte: key },
    limit: count,
  };
}

/** How many elements a span without offset and limit has. */
export function* countSpan(view: View, zset: Collection, span: Span): Slices<number> {
  const { range, begins } = span;
  if (range.gte.compare(range.lt) >= 0) return 0;
  if (begins === undefined) {
    const before = yield* countBefore(view, zset, range.gte);
    return (yield* countBefore(view, zset, range.lt)) - before;
  }
  let count = 0;
  yield* walkSpan(span, () => {
    count++;
  });
  return count;
}

/** Leaves the offset behind, over counted elements where that is shorter. */
export function* jump(view: View, zset: Collection, span: Span): Slices<Span> {
  const { range, offset = 0, begins } = span;
  if (begins !== undefined || offset < JUMP_OFFSET_MIN) return span;
  if (range.gte.compare(range.lt) >= 0) return span;
  const edge = yield* countBefore(view, zset, range.reverse ? range.lt : range.gte);
  const rank = range.reverse ? edge - 1 - offset : edge + offset;
  const key = rank < 0 ? undefined : yield* keyAtRank(view, zset, rank);
  if (key === undefined) return { ...span, offset: 0, limit: 0 };
  const rest = range.reverse ? { ...range, lt: keyAfter(key) } : { ...range, gte: key };
  return { ...span, offset: 0, range: rest };
}

/** Gives the elements of `span` to `take` in their order, until that returns true. */
export function* walkSpan(span: Span, take: (entry: Entry) => unknown): Slices<void> {
  const { begins, goesOn } = span;
  let { range } = span;
  let skip = unbounded(span.offset ?? 0);
  let left = unbounded(span.limit ?? -1);
  let begun = begins === undefined;
  let met = 0;
  while (left > 0 && range.gte.compare(range.lt) < 0) {
    const wanted = left + skip;
    const pairs = yield begun && Number.isFinite(wanted) ? limited(range, wanted) : range;
    if (pairs.length === 0) return;
    for (const pair of pairs) {
      if (isGlanceDue(++met)) yield GLANCE;
      const entry = entryOf(pair);
      begun ||= begins!(entry.member);
      if (!begun) continue;
      if (skip > 0) {
        skip--;
        continue;
      }
      if (goesOn && !goesOn(entry.member)) return;
      if (take(entry) === true) return;
      if (--left === 0) return;
    }
    const last = pairs.at(-1)![0];
    range = range.reverse ? { ...range, lt: last } : { ...range, gte: keyAfter(last) };
  }
}

export function* collectSpan(span: Span): Slices<SteadyList<Entry>> {
  const entries = new SteadyList<Entry>();
  yield* walkSpan(span, (entry) => {
    entries.push(entry);
  });
  return entries;
}

/** `ranks` in ascending order; each is below the set's size. */
export function* entriesAtRanks(
  view: View,
  zset: Collection,
  ranks: SteadyList<number>,
): Slices<SteadyList<Entry>> {
  const entries = new SteadyList<Entry>();
  if (ranks.length * DENSE_RANKS < zset.size) {
    for (const rank of ranks) {
      const key = yield* keyAtRank(view, zset, rank);
      entries.push(entryOf([key!, view.get(key!)!]));
    }
    return entries;
  }
  let rank = 0;
  yield* walkSpan({ ...wholeSpan(zset.place), limit: (ranks.last ?? -1) + 1 }, (entry) => {
    if (rank++ === ranks.at(entries.length)) entries.push(entry);
  });
  return entries;
}

function unbounded(count: number): number {
  return count < 0 ? Number.POSITIVE_INFINITY : count;
}
