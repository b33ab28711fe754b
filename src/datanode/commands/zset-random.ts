/** Sorted sets in no order: ZRANDMEMBER, ZSCAN. */
import type { Collection } from '../encoding/collection.ts';
import { decodeMember, elementRange } from '../encoding/element-key.ts';
import type { Slices } from '../encoding/slices.ts';
import { tags } from '../encoding/tags.ts';
import type { View } from '../encoding/view.ts';
import { type Entry, entryOf, readZset } from '../encoding/zset.ts';
import { encodingOfZset } from '../encoding/zset-header.ts';
import { collectSpan, entriesAtRanks, wholeSpan } from '../encoding/zset-range.ts';
import { formatDouble } from '../resp/encode-reply.ts';
import { bulk, EMPTY_ARRAY, NULL, type Reply } from '../resp/reply.ts';
import { argument, integerArgument, syntaxError, WRONG_TYPE, word } from './args.ts';
import { ArgumentError, type Command, type RunContext, read } from './command.ts';
import { type MemberScan, parseMemberScan, SCAN_OF_NOTHING, scanMembers } from './member-scan.ts';
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
    const [entry] = yield* drawRepeated(view, zset, 1, context);
    return bulk(entry!.member);
  }
  if (count === 0) return EMPTY_ARRAY;
  const entries =
    count < 0
      ? yield* drawRepeated(view, zset, -count, context)
      : yield* drawDistinct(view, zset, count, context);
  return yield* entriesReply(entries, request.withScores, 'a smaller count');
}

function* drawRepeated(
  view: View,
  zset: Collection,
  count: number,
  { random }: RunContext,
): Slices<readonly Entry[]> {
  const ranks = Array.from({ length: count }, () => Math.floor(random() * zset.size));
  const distinct = [...new Set(ranks)].sort((a, b) => a - b);
  const entries = yield* entriesAtRanks(view, zset, distinct);
  const byRank = new Map(distinct.map((rank, at) => [rank, entries[at]!]));
  return ranks.map((rank) => byRank.get(rank)!);
}

/** Every choice of `count` ranks is equally likely (Floyd). */
function* drawDistinct(
  view: View,
  zset: Collection,
  count: number,
  { random }: RunContext,
): Slices<readonly Entry[]> {
  const { size, place } = zset;
  if (count >= size) return yield* collectSpan(wholeSpan(place));
  const ranks = new Set<number>();
  for (let top = size - count; top < size; top++) {
    const rank = Math.floor(random() * (top + 1));
    ranks.add(ranks.has(rank) ? top : rank);
  }
  return yield* entriesAtRanks(
    view,
    zset,
    [...ranks].sort((a, b) => a - b),
  );
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
