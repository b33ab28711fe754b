/** Sorted sets in no order: ZRANDMEMBER, ZSCAN. */
import { limits } from '../../common/limits.ts';
import type { Collection } from '../encoding/collection.ts';
import { decodeMember, elementRange } from '../encoding/element-key.ts';
import { keyAfter } from '../encoding/key.ts';
import type { Slices } from '../encoding/slices.ts';
import { tags } from '../encoding/tags.ts';
import type { View } from '../encoding/view.ts';
import { type Entry, readZset } from '../encoding/zset.ts';
import { encodingOfZset } from '../encoding/zset-header.ts';
import { collectSpan, entriesAtRanks, wholeSpan } from '../encoding/zset-range.ts';
import type { KeyRange } from '../engine/engine.ts';
import { formatDouble } from '../resp/encode-reply.ts';
import { array, bulk, EMPTY_ARRAY, error, NULL, type Reply } from '../resp/reply.ts';
import { argument, countArgument, integerArgument, syntaxError, WRONG_TYPE, word } from './args.ts';
import { ArgumentError, type Command, type RunContext, read } from './command.ts';
import { type Glob, matchesGlob, parseGlob } from './glob.ts';
import { decodeCursor, encodeCursor } from './scan.ts';
import { zsetColumn } from './zset.ts';
import { entriesReply } from './zset-range.ts';

const COUNT_MAX = 2n ** 63n - 1n;
/** Members that may be asked for with repeats: the reply names each of them. */
const REPEATS_MAX = 10_000_000;
const HASH_AT = 15;
const HASHES = 2 ** 32;

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

interface ScanRequest {
  readonly key: Buffer;
  /** Elements whose member's hash begins with this number or a higher one. */
  readonly from: number;
  readonly options: ScanOptions | ArgumentError;
}

interface ScanOptions {
  readonly count: number;
  readonly glob: Glob | undefined;
}

/**
 * ZSCAN key cursor [MATCH pattern] [COUNT count]: as in Redis what is in the small encoding comes
 * whole, and of a key that is not there nobody minds the options.
 */
function parseZscan(args: readonly Buffer[]): ScanRequest {
  const position = decodeCursor(argument(args, 2));
  if (position === undefined) throw new ArgumentError('ERR invalid cursor');
  const from = position.slot > 0 ? HASHES : position.hash;
  const key = argument(args, 1);
  try {
    return { key, from, options: parseScanOptions(args) };
  } catch (failure) {
    if (!(failure instanceof ArgumentError)) throw failure;
    return { key, from, options: failure };
  }
}

function parseScanOptions(args: readonly Buffer[]): ScanOptions {
  let count = 10;
  let glob: Glob | undefined;
  for (let at = 3; at < args.length; at += 2) {
    const option = word(argument(args, at));
    if (at + 1 >= args.length) throw syntaxError();
    const value = argument(args, at + 1);
    if (option === 'count') count = countArgument(value);
    else if (option === 'match') glob = parseGlob(value);
    else throw syntaxError();
    if (count < 1) throw syntaxError();
  }
  return { count: Math.min(count, limits.scanCountMax), glob };
}

function* runZscan(
  view: View,
  { key, from, options }: ScanRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const zset = readZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  if (zset === undefined) return scanReply(HASHES, [], undefined);
  if (options instanceof ArgumentError) return error(options.message);
  const { count, glob } = options;
  if (encodingOfZset(zset) === 'listpack') {
    return scanReply(HASHES, yield* collectSpan(wholeSpan(zset.place)), glob);
  }
  const entries: Entry[] = [];
  if (from >= HASHES) return scanReply(HASHES, [], glob);
  const next = yield* scanHashes(zset, from, count, (entry) => entries.push(entry));
  return scanReply(next, entries, glob);
}

/** Gives `count` entries, and the rest of those that share the last one's position. */
function* scanHashes(
  { place }: Collection,
  from: number,
  count: number,
  take: (entry: Entry) => void,
): Slices<number> {
  const { gte, lt } = elementRange(tags.zsetMember, place);
  const start = Buffer.alloc(HASH_AT + 4);
  start.set(gte);
  start.writeUInt32BE(from, HASH_AT);
  let range: KeyRange = { gte: start, lt };
  let read = 0;
  let last = -1;
  for (;;) {
    const pairs = yield { ...range, limit: Math.max(1, count - read + 1) };
    if (pairs.length === 0) return HASHES;
    for (const [element, value] of pairs) {
      const here = element.readUInt32BE(HASH_AT);
      if (read >= count && here !== last) return here;
      take({ member: decodeMember(element), score: value.readDoubleBE(1) });
      read++;
      last = here;
    }
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

function scanReply(next: number, entries: readonly Entry[], glob: Glob | undefined): Reply {
  const items = entries
    .filter(({ member }) => glob === undefined || matchesGlob(glob, member))
    .flatMap(({ member, score }) => [bulk(member), bulk(formatDouble(score))]);
  const cursor = next >= HASHES ? '0' : encodeCursor({ slot: 0, hash: next });
  return array([bulk(cursor), array(items)]);
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
    parse: parseZscan,
    run: runZscan,
  }),
];
