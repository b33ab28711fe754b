/**
 * Walks over elements that are ordered by the hash of their member: from a position, and at random
 * places. All of them read in slices.
 */
import { SteadyList } from '../../../common/steady-list.ts';
import { SteadyMap } from '../../../common/steady-map.ts';
import { type KeyRange, type KeyValue, limited } from '../../engine/engine.ts';
import { keyAfter } from '../records/key.ts';
import {
  eachItem,
  GLANCE,
  giveWay,
  isGlanceDue,
  type Slices,
  STEP_ITEMS,
} from '../steps/slices.ts';
import { sortStepwise } from '../steps/stepwise-sort.ts';
import { keptValue } from './kept-value.ts';

/** Is given what a walk meets; the walk ends when it returns true. */
export type Take<Met> = (met: Met) => unknown;

/**
 * Elements of one kind of a collection that are keyed by member.
 *
 *   tag u8 · slot u16 · version 12 bytes · hash u64 · member
 */
export interface Members {
  readonly range: KeyRange;
  /** How many of them `isLive` takes. */
  readonly size: number;
  readonly isLive: (element: KeyValue) => boolean;
}

const HASH_AT = 15;
const HASH_BYTES = 8;
const LANE = 2 ** 32;
/** A position is the first 53 bits of the hash: exact in every client's numbers. */
const POSITION_BITS = 53;
const LOW_SHIFT = 64 - POSITION_BITS;
const LOW_FACTOR = 2 ** (32 - LOW_SHIFT);
export const POSITION_END = 2 ** POSITION_BITS;

/** Collections up to this size are read whole for a random element: then the choice is uniform. */
const WHOLE_MAX = 128;
/** Elements read behind a random place, among which the choice is uniform. */
const RANDOM_SLICE = 32;
/** Of elements that are picked one by one, so many repeats per wanted one: then all are read. */
const REPEATS_MAX = 4;

/** Where an element is among all possible: a whole number below POSITION_END. */
export function positionOf(encoded: Buffer): number {
  const low = encoded.readUInt32BE(HASH_AT + 4) >>> LOW_SHIFT;
  return encoded.readUInt32BE(HASH_AT) * LOW_FACTOR + low;
}

/** The part of `range` at and behind `position`. */
export function rangeFrom(range: KeyRange, position: number): KeyRange {
  const high = Math.floor(position / LOW_FACTOR);
  return rangeAtHash(range, high, ((position % LOW_FACTOR) << LOW_SHIFT) >>> 0);
}

function rangeAtHash(range: KeyRange, high: number, low: number): KeyRange {
  const gte = Buffer.allocUnsafe(HASH_AT + HASH_BYTES);
  gte.set(range.gte);
  gte.writeUInt32BE(high, HASH_AT);
  gte.writeUInt32BE(low, HASH_AT + 4);
  return { ...range, gte };
}

/** A walk over the slices of `range`. */
export function* eachSlice(range: KeyRange, take: Take<readonly KeyValue[]>): Slices<void> {
  let rest = range;
  for (let pairs = yield rest; pairs.length > 0; pairs = yield rest) {
    if (take(pairs) === true) return;
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

/** The same, pair by pair: each may be looked up elsewhere, or changed. */
export function* eachPair(range: KeyRange, take: Take<KeyValue>): Slices<void> {
  let met = 0;
  let rest = range;
  for (let pairs = yield rest; pairs.length > 0; pairs = yield rest) {
    for (const pair of pairs) {
      if (isGlanceDue(++met)) yield GLANCE;
      if (take(pair) === true) return;
    }
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

/** One element at random; undefined when there is none. */
export function* pickOne(members: Members, random: () => number): Slices<KeyValue | undefined> {
  if (members.size > WHOLE_MAX) return yield* pickNear(members, random);
  const live = yield* readAll(members);
  return live.at(Math.floor(random() * live.length));
}

/** `count` different elements at random; all when there are not more. In no certain order. */
export function* pickDistinct(
  members: Members,
  count: number,
  random: () => number,
): Slices<SteadyList<KeyValue>> {
  if (count >= members.size) return yield* readAll(members);
  if (isCheaperWhole(members, count)) return yield* sample(members, count, random);
  const names = new SteadyMap<true>();
  const picked = new SteadyList<KeyValue>();
  for (let left = count * REPEATS_MAX; left > 0 && picked.length < count; left--) {
    const element = yield* pickNear(members, random);
    const name = element?.[0].toString('latin1');
    if (element === undefined || name === undefined || names.get(name)) continue;
    names.set(name, true);
    picked.push(element);
  }
  return picked.length === count ? picked : yield* sample(members, count, random);
}

/**
 * An element that a walk keeps. What the engine gave are two pieces of memory of their own, with all that
 * V8 and the C library need for each: a million of those take more than a gigabyte.
 */
function keptPair([key, value]: KeyValue): KeyValue {
  return [keptValue(key), keptValue(value)];
}

/** `count` elements at random, each drawn from all of them; fewer only where there is none. */
export function* pickWithRepeats(
  members: Members,
  count: number,
  random: () => number,
): Slices<SteadyList<KeyValue>> {
  if (isCheaperWhole(members, count)) return yield* drawWhole(members, count, random);
  const picked = new SteadyList<KeyValue>();
  while (picked.length < count) {
    const element = yield* pickNear(members, random);
    if (element === undefined) break;
    picked.push(element);
  }
  return picked;
}

/** The places of all draws first, then one walk that keeps what is at these places. */
function* drawWhole(
  { range, size, isLive }: Members,
  count: number,
  random: () => number,
): Slices<SteadyList<KeyValue>> {
  const draws = new SteadyList<Draw>();
  for (let draw = 0; draw < count; draw++) {
    if (draw % STEP_ITEMS === STEP_ITEMS - 1) yield* giveWay();
    draws.push({ place: Math.floor(random() * size), drawn: undefined });
  }
  const inOrder = yield* sortStepwise(draws, (a, b) => a.place - b.place, giveWay);
  yield* layOut(inOrder, { range, size, isLive });
  const picked = new SteadyList<KeyValue>();
  yield* eachItem(draws, ({ drawn }) => {
    if (drawn !== undefined) picked.push(drawn);
  });
  return picked;
}

interface Draw {
  readonly place: number;
  drawn: KeyValue | undefined;
}

/** Gives every draw what is at its place; there may be far more draws than places. */
function* layOut(inOrder: SteadyList<Draw>, { range, isLive }: Members): Slices<void> {
  let place = 0;
  let next = 0;
  let rest = range;
  for (let pairs = yield rest; pairs.length > 0; pairs = yield rest) {
    for (const pair of pairs) {
      if (!isLive(pair)) continue;
      for (let draw = inOrder.at(next); draw?.place === place; draw = inOrder.at(++next)) {
        draw.drawn = pair;
        if (next % STEP_ITEMS === STEP_ITEMS - 1) yield GLANCE;
      }
      place++;
    }
    if (next === inOrder.length) return;
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

/** Whether `count` elements are picked in one walk over all. */
export function isCheaperWhole({ size }: Members, count: number): boolean {
  return size <= WHOLE_MAX || count * RANDOM_SLICE >= size;
}

function* readAll({ range, isLive }: Members): Slices<SteadyList<KeyValue>> {
  const live = new SteadyList<KeyValue>();
  yield* eachSlice(range, (pairs) => {
    for (const pair of pairs) if (isLive(pair)) live.push(keptPair(pair));
  });
  return live;
}

/** Every choice of `count` elements is equally likely; one walk over all. */
function* sample(
  { range, size, isLive }: Members,
  count: number,
  random: () => number,
): Slices<SteadyList<KeyValue>> {
  const chosen = new SteadyList<KeyValue>();
  let left = size;
  yield* eachSlice(range, (pairs) => {
    for (const pair of pairs) {
      if (!isLive(pair)) continue;
      if (random() * left < count - chosen.length) chosen.push(keptPair(pair));
      left--;
    }
    return chosen.length === count;
  });
  return chosen;
}

/** One of the first elements behind a random place, around the end when there is none. */
function* pickNear({ range, isLive }: Members, random: () => number): Slices<KeyValue | undefined> {
  const lane = () => Math.floor(random() * LANE);
  let rest: KeyRange = limited(rangeAtHash(range, lane(), lane()), RANDOM_SLICE);
  for (let wrapped = false; ; ) {
    const pairs: readonly KeyValue[] = yield rest;
    const live = pairs.filter(isLive);
    if (live.length > 0) return live[Math.floor(random() * live.length)];
    if (pairs.length > 0) {
      rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
    } else if (wrapped) {
      return undefined;
    } else {
      wrapped = true;
      rest = limited(range, RANDOM_SLICE);
    }
  }
}
