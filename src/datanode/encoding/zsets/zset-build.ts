/**
 * New sorted sets of members that are known as a whole: brought into their order first, then written
 * from one end to the other. So nothing is looked up or taken back, and the blocks of the counts are
 * known when the last member is written (one by one a million took twice the time).
 */
import { SteadyList } from '../../../common/steady-list.ts';
import type { Found } from '../keyspace/keyspace.ts';
import { fitsSmall, type OpenZset, setFlags, zsetFlags } from '../ranks/zset-header.ts';
import { Blocks, countBlocks } from '../ranks/zset-index.ts';
import { scoreOrder } from '../records/element-key.ts';
import { eachItem, giveWay, type Slices } from '../steps/slices.ts';
import { sortStepwise } from '../steps/stepwise-sort.ts';
import type { WriteView } from '../txn/view.ts';
import { newZset, putNewScore } from './zset.ts';

/**
 * A member as a latin1 string, which compares as its bytes do: a million Buffers, each with the
 * record it is a part of, keep the garbage collector at work for half a second.
 */
export interface Scored {
  readonly name: string;
  score: number;
}

/** Members of a set that is to be made, each once. */
export class ScoredList {
  readonly all = new SteadyList<Scored>();
  /** Bytes of the longest member. */
  longest = 0;
  #inOrder = true;

  add(scored: Scored): void {
    const { last } = this.all;
    this.#inOrder &&= last === undefined || compareScored(last, scored) < 0;
    this.longest = Math.max(this.longest, scored.name.length);
    this.all.push(scored);
  }

  /** By score, then by member. */
  *inOrder(): Slices<SteadyList<Scored>> {
    return this.#inOrder ? this.all : yield* sortStepwise(this.all, compareScored, giveWay);
  }
}

/**
 * A set of them in the place of whatever is under the key, to be saved; empty without any. Only the
 * end decides how it is encoded, as in Redis, unless it is `large` before. A small one has no −0.
 */
export function* buildZset(
  view: WriteView,
  found: Found,
  scored: ScoredList,
  large = false,
): Slices<OpenZset> {
  const zset = newZset(view, found);
  zset.size = scored.all.length;
  const isSmall = !large && fitsSmall(zset, scored.longest);
  if (!isSmall) setFlags(zset, zsetFlags.large);
  const blocks = new Blocks();
  yield* eachItem(yield* scored.inOrder(), ({ name, score }) => {
    const member = Buffer.from(name, 'latin1');
    blocks.add(scoreOrder(putNewScore(view, zset, member, isSmall ? score + 0 : score)));
  });
  yield* countBlocks(view, zset, blocks);
  return zset;
}

function compareScored(a: Scored, b: Scored): number {
  if (a.score !== b.score) return a.score < b.score ? -1 : 1;
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}
