/**
 * Ranks in a sorted set without walking over it: a counted tree over the zsetScore records
 * (rank-tree.ts). Its lowest entries are blocks, stretches of the order with at most `BLOCK_MAX`
 * elements: a rank is the sum of what lies left of one path, and a walk within one block. Sets of
 * one block have no tree; the header's flag `counted` says that there is one.
 *
 * Changes are point reads and writes. Only a block that has grown too large is read as a range, at
 * the end of the command that filled it: once in some hundred additions.
 */
import { assert } from '../../../common/assert.ts';
import { type KeyRange, type KeyValue, limited } from '../../engine/engine.ts';
import type { Collection } from '../collections/collection.ts';
import {
  type CollectionPlace,
  elementRange,
  scoreKeyAt,
  scoreOrder,
} from '../records/element-key.ts';
import { keyAfter } from '../records/key.ts';
import { tags } from '../records/tags.ts';
import { eachItem, giveWay, type Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';
import { type Block, RankTree } from './rank-tree.ts';
import { flagsOfZset, type OpenZset, setFlags, zsetFlags } from './zset-header.ts';

const BLOCK_MAX = 512;
/** Elements of each block when a large one is split; the last one may have half more. */
const BLOCK_FILL = 256;

/** How many elements lie before `bound`, a zsetScore key or the beginning of one. */
export function* countBefore(view: View, zset: Collection, bound: Buffer): Slices<number> {
  const whole = elementRange(tags.zsetScore, zset.place);
  if (bound.compare(whole.gte) <= 0) return 0;
  if (bound.compare(whole.lt) >= 0) return zset.size;
  if (!isCounted(zset)) return yield* countRange({ ...whole, lt: bound });
  const block = treeOf(view, zset.place).blockOf(scoreOrder(bound));
  if (block.to === undefined) {
    // up to the end, as most bounds in the last block: its elements need not be walked over
    const [last] = yield limited(whole, 1, true);
    if (last !== undefined && last[0].compare(bound) < 0) return zset.size;
  }
  return block.before + (yield* countRange({ ...blockRange(zset.place, block), lt: bound }));
}

/** How many elements lie in `range`, give or take two blocks: nothing is walked over. */
export function roughCount(view: View, zset: Collection, { gte, lt }: KeyRange): number {
  if (!isCounted(zset)) return 0;
  const whole = elementRange(tags.zsetScore, zset.place);
  const tree = treeOf(view, zset.place);
  const before = (bound: Buffer) => tree.blockOf(scoreOrder(bound)).before;
  const first = gte.compare(whole.gte) <= 0 ? 0 : before(gte);
  return (lt.compare(whole.lt) >= 0 ? zset.size : before(lt)) - first;
}

/** The zsetScore key of the element that `rank` others lie before; undefined beyond the last. */
export function* keyAtRank(view: View, zset: Collection, rank: number): Slices<Buffer | undefined> {
  if (rank >= zset.size) return undefined;
  if (!isCounted(zset)) return yield* keyAt(elementRange(tags.zsetScore, zset.place), rank);
  const block = treeOf(view, zset.place).blockAtRank(rank);
  return yield* keyAt(blockRange(zset.place, block), rank - block.before);
}

/** Tells the counts of an element that came (1) or went (−1), by its zsetScore key. */
export function countElement(view: View, zset: OpenZset, scoreKey: Buffer, more: 1 | -1): void {
  if (!isCounted(zset)) return;
  zset.ranks ??= treeOf(view, zset.place);
  const order = scoreOrder(scoreKey);
  const count = zset.ranks.add(order, more);
  if (more < 0 || count !== BLOCK_MAX + 1) return;
  zset.crowded ??= [];
  zset.crowded.push(order);
}

/** True when blocks have to be split before the set is saved. */
export function isCrowded(zset: OpenZset): boolean {
  return isCounted(zset) ? zset.crowded !== undefined : zset.size > BLOCK_MAX;
}

/** Splits the blocks that are too large. */
export function* splitBlocks(view: View, zset: OpenZset): Slices<void> {
  if (!isCounted(zset)) {
    zset.ranks = RankTree.create(view, zset.place, zset.size);
    view.ranks?.add(zset.place, zset.ranks);
    zset.crowded = [Buffer.alloc(0)];
    setFlags(zset, flagsOfZset(zset) | zsetFlags.counted);
  }
  const ranks = zset.ranks!;
  for (const order of zset.crowded ?? []) {
    const block = ranks.blockOf(order);
    if (block.count <= BLOCK_MAX) continue;
    const { counts, bounds } = yield* readBlocks(zset.place, block);
    yield* giveWay();
    ranks.split(order, counts, bounds);
  }
  delete zset.crowded;
}

/** The counts of a new set of which nothing is saved; `blocks` has all its elements. */
export function* countBlocks(view: WriteView, zset: OpenZset, blocks: Blocks): Slices<void> {
  if (zset.size <= BLOCK_MAX) return;
  const ranks = RankTree.create(view, zset.place, zset.size);
  const { counts, bounds } = blocks.end();
  yield* giveWay();
  ranks.split(Buffer.alloc(0), counts, bounds);
  zset.ranks = ranks;
  view.ranks?.add(zset.place, ranks);
  setFlags(zset, flagsOfZset(zset) | zsetFlags.counted);
  yield* saveManyRanks(view, zset);
}

/** `saveRanks` for a set of which many blocks may have been split: a million elements have 4,000. */
export function* saveManyRanks(view: WriteView, zset: OpenZset): Slices<void> {
  const { ranks } = zset;
  if (ranks !== undefined && !ranks.isTrivial) {
    yield* eachItem(ranks.flushInSteps(view), () => undefined);
  }
  // has nothing left to write
  saveRanks(view, zset);
}

/** Sees to it that counts are written; a tree that says no more than the header is given up. */
export function saveRanks(view: WriteView, zset: OpenZset): void {
  const { ranks } = zset;
  if (ranks === undefined) return;
  if (zset.size > 0 && !ranks.isTrivial) {
    // else the view has it, and writes it when it is to be read or stored
    if (view.ranks === undefined) ranks.flush(view);
    return;
  }
  ranks.drop(view);
  view.ranks?.drop(zset.place);
  setFlags(zset, flagsOfZset(zset) & ~zsetFlags.counted);
}

function isCounted(zset: Collection): boolean {
  return (flagsOfZset(zset) & zsetFlags.counted) !== 0;
}

function treeOf(view: View, place: CollectionPlace): RankTree {
  return view.ranks?.of(view, place) ?? new RankTree(view, place);
}

function blockRange(place: CollectionPlace, { from, to }: Block): KeyRange {
  const whole = elementRange(tags.zsetScore, place);
  return {
    gte: scoreKeyAt(place, from),
    lt: to === undefined ? whole.lt : scoreKeyAt(place, to),
  };
}

/** What a block is divided into. Elements behind the first of the last part are known by their number. */
function* readBlocks(place: CollectionPlace, block: Block): Slices<Division> {
  const blocks = new Blocks();
  let rest = blockRange(place, block);
  // no more than the first of the last part
  let left = (partsOf(block.count) - 1) * BLOCK_FILL + 1;
  while (left > 0) {
    const pairs = yield limited(rest, left);
    assert(pairs.length > 0, () => `a block of ${block.count} elements ends ${left} too early`);
    for (const [key] of pairs) blocks.add(scoreOrder(key));
    left -= pairs.length;
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
  return blocks.end(block.count);
}

/** Into how many parts `count` elements are divided: all but the last have `BLOCK_FILL`. */
function partsOf(count: number): number {
  return Math.max(1, Math.round(count / BLOCK_FILL));
}

/** The count of each part, and the bounds between them. */
interface Division {
  readonly counts: readonly number[];
  readonly bounds: readonly Buffer[];
}

/** What elements that come in their order are divided into. */
export class Blocks {
  readonly #counts: number[] = [];
  readonly #bounds: Buffer[] = [];
  /** Elements of the last block, and the last of them; of all. */
  #filled = 0;
  #last: Buffer | undefined;
  #all = 0;

  add(order: Buffer): void {
    if (this.#filled === BLOCK_FILL) {
      this.#bounds.push(boundBetween(this.#last!, order));
      this.#counts.push(this.#filled);
      this.#filled = 0;
    }
    this.#filled++;
    this.#all++;
    this.#last = order;
  }

  /** To be asked once, behind the last; `all`: so many there are, those that did not come among them. */
  end(all = this.#all): Division {
    const [counts, bounds] = [this.#counts, this.#bounds];
    const filled = this.#filled + all - this.#all;
    if (counts.length < partsOf(all)) {
      counts.push(filled);
    } else {
      counts[counts.length - 1]! += filled;
      bounds.pop();
    }
    return { counts, bounds };
  }
}

/** The shortest beginning of `after` that is greater than `before`. */
function boundBetween(before: Buffer, after: Buffer): Buffer {
  let at = 0;
  while (at < before.length && before[at] === after[at]) at++;
  return Buffer.from(after.subarray(0, at + 1));
}

function* countRange(range: KeyRange): Slices<number> {
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

function* keyAt(range: KeyRange, offset: number): Slices<Buffer | undefined> {
  let rest = range;
  for (let left = offset; ; ) {
    const pairs: readonly KeyValue[] = yield limited(rest, left + 1);
    if (pairs.length === 0) return undefined;
    if (left < pairs.length) return pairs[left]![0];
    left -= pairs.length;
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}
