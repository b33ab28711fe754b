/** Sorted sets in no order: ZRANDMEMBER, ZSCAN. */
import { SteadyList } from '../../../common/steady-list.ts';
import { SteadyMap } from '../../../common/steady-map.ts';
import type { Collection } from '../../encoding/collections/collection.ts';
import { encodingOfZset } from '../../encoding/ranks/zset-header.ts';
import { decodeMember, elementRange } from '../../encoding/records/element-key.ts';
import { tags } from '../../encoding/records/tags.ts';
import { eachItem, giveWay, type Slices, STEP_ITEMS } from '../../encoding/steps/slices.ts';
import { sortStepwise } from '../../encoding/steps/stepwise-sort.ts';
import type { View } from '../../encoding/txn/view.ts';
import { type Entry, entryOf, readZset } from '../../encoding/zsets/zset.ts';
import {
  collectSpan,
  DENSE_RANKS,
  entriesAtRanks,
  wholeSpan,
} from '../../encoding/zsets/zset-range.ts';
import { formatDouble } from '../../resp/encode-reply.ts';
import { bulk, EMPTY_ARRAY, NULL, type Reply } from '../../resp/reply.ts';
import {
  type MemberScan,
  parseMemberScan,
  SCAN_OF_NOTHING,
  scanMembers,
} from '../members/member-scan.ts';
import { refuseRepeats } from '../members/random-members.ts';
import { argument, integerArgument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { ArgumentError, type Command, type RunContext, read } from '../rows/command.ts';
import { zsetColumn } from './zset.ts';
import { entriesReply } from './zset-range.ts';

const COUNT_MAX = 2n ** 63n - 1n;
/** Members that may be asked for with repeats: the reply names each of them. */
const REPEATS_MAX = 10_000_000;

interface RandomRequest {
  readonly key: Buffer;
  /** Undefined: one, given as it is. Negative: with repeats. */
  readonly count: number | undefined;
  readonly withScores: boolean;
}

/** ZRANDMEMBER key [count [WITHSCORES]] */
function parseRandom(args: readonly Buffer[]): RandomRequest {
  const key = argument(args, 1);
  if (args[2] === undefined) return { key, count: undefined, withScores: false };
  const exact = BigInt(integerArgument(args[2]));
  if (exact < -COUNT_MAX) {
    throw new ArgumentError(
      `ERR value is out of range, value must between -${COUNT_MAX} and ${COUNT_MAX}`,
    );
  }
  const withScores = args.length === 4 && word(argument(args, 3)) === 'withscores';
  if (args.length > 3 && !withScores) throw syntaxError();
  const most = COUNT_MAX / 2n;
  if ((withScores && (exact < -most || exact > most)) || exact < -REPEATS_MAX) {
    throw new ArgumentError('ERR value is out of range');
  }
  return { key, count: Number(exact), withScores };
}

function* runRandom(view: View, request: RandomRequest, context: RunContext): Slices<Reply> {
  const zset = readZset(view, request.key, context.nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  const { count } = request;
  if (zset === undefined) return count === undefined ? NULL : EMPTY_ARRAY;
  if (count === undefined) {
    const drawn = yield* drawRepeated(view, zset, 1, context);
    return bulk(drawn.at(0)!.member);
  }
  if (count === 0) return EMPTY_ARRAY;
  if (count < 0) yield* refuseRepeats(-count, context.random);
  const entries =
    count < 0
      ? yield* drawRepeated(view, zset, -count, context)
      : yield* drawDistinct(view, zset, count, context);
  return yield* entriesReply(entries, request.withScores, 'a smaller count');
}

interface Draw {
  readonly rank: number;
  entry: Entry | undefined;
}

function* drawRepeated(
  view: View,
  zset: Collection,
  count: number,
  { random }: RunContext,
): Slices<SteadyList<Entry>> {
  const draws = new SteadyList<Draw>();
  for (let draw = 0; draw < count; draw++) {
    if (draw % STEP_ITEMS === STEP_ITEMS - 1) yield* giveWay();
    draws.push({ rank: Math.floor(random() * zset.size), entry: undefined });
  }
  const inOrder = yield* sortStepwise(draws, (a, b) => a.rank - b.rank, giveWay);
  const distinct = new SteadyList<number>();
  yield* eachItem(inOrder, ({ rank }) => {
    if (distinct.last !== rank) distinct.push(rank);
  });
  const entries = yield* entriesAtRanks(view, zset, distinct);
  let met = 0;
  yield* eachItem(inOrder, (draw) => {
    if (distinct.at(met) !== draw.rank) met++;
    draw.entry = entries.at(met);
  });
  const drawn = new SteadyList<Entry>();
  yield* eachItem(draws, ({ entry }) => void drawn.push(entry!));
  return drawn;
}

/** Every choice of `count` ranks is equally likely. */
function* drawDistinct(
  view: View,
  zset: Collection,
  count: number,
  { random }: RunContext,
): Slices<SteadyList<Entry>> {
  const { size, place } = zset;
  if (count >= size) return yield* collectSpan(wholeSpan(place));
  const many = count * DENSE_RANKS >= size;
  const ranks = yield* many ? ranksPassed(size, count, random) : ranksDrawn(size, count, random);
  return yield* entriesAtRanks(view, zset, ranks);
}

/** All ranks are passed, and as many taken of the rest as are still wanted of it. */
function* ranksPassed(
  size: number,
  count: number,
  random: () => number,
): Slices<SteadyList<number>> {
  const ranks = new SteadyList<number>();
  for (let rank = 0; ranks.length < count; rank++) {
    if (rank % STEP_ITEMS === STEP_ITEMS - 1) yield* giveWay();
    if (random() * (size - rank) < count - ranks.length) ranks.push(rank);
  }
  return ranks;
}

/** Floyd's: as many draws as ranks. */
function* ranksDrawn(
  size: number,
  count: number,
  random: () => number,
): Slices<SteadyList<number>> {
  const drawn = new SteadyMap<number>();
  for (let top = size - count; top < size; top++) {
    if (top % STEP_ITEMS === 0) yield* giveWay();
    const rank = Math.floor(random() * (top + 1));
    const taken = drawn.get(String(rank)) === undefined ? rank : top;
    drawn.set(String(taken), taken);
  }
  const ranks = new SteadyList<number>();
  yield* eachItem(drawn.values(), (rank) => void ranks.push(rank));
  return yield* sortStepwise(ranks, (a, b) => a - b, giveWay);
}

/** ZSCAN key cursor [MATCH pattern] [COUNT count]: what is in the small encoding comes whole. */
function* runZscan(view: View, request: MemberScan, { nowMs }: RunContext): Slices<Reply> {
  const zset = readZset(view, request.key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  if (zset === undefined) return SCAN_OF_NOTHING;
  const { place, size } = zset;
  const isLive = () => true;
  if (encodingOfZset(zset) === 'listpack') {
    const byScore = { range: elementRange(tags.zsetScore, place), size, isLive };
    return yield* scanMembers(byScore, request, true, (element) => entryReply(entryOf(element)));
  }
  const byHash = { range: elementRange(tags.zsetMember, place), size, isLive };
  return yield* scanMembers(byHash, request, false, ([element, value]) =>
    entryReply({ member: decodeMember(element), score: value.readDoubleBE(1) }),
  );
}

function entryReply({ member, score }: Entry): readonly Reply[] {
  return [bulk(member), bulk(formatDouble(score))];
}

export const zsetRandomCommands: readonly Command[] = [
  read({
    ...zsetColumn,
    name: 'zrandmember',
    arity: -2,
    flags: ['readonly'],
    since: '6.2.0',
    summary: 'Returns one or more random members of a sorted set.',
    parse: parseRandom,
    run: runRandom,
  }),
  read({
    ...zsetColumn,
    name: 'zscan',
    arity: -3,
    flags: ['readonly'],
    since: '2.8.0',
    summary: 'Iterates over members and scores of a sorted set.',
    parse: parseMemberScan,
    run: runZscan,
  }),
];
