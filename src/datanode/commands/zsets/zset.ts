/** Sorted sets member by member, and ranks: ZREM, ZSCORE, ZRANK, ZCOUNT; ZADD is in `zset-add.ts`. */
import type { Collection } from '../../encoding/collections/collection.ts';
import { countBefore } from '../../encoding/ranks/zset-index.ts';
import { encodeScoreKey } from '../../encoding/records/element-key.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { dropMember, openZset, readZset, scoreOf } from '../../encoding/zsets/zset.ts';
import {
  countSpan,
  type LexBounds,
  lexSpan,
  type ScoreBounds,
  scoreSpan,
} from '../../encoding/zsets/zset-range.ts';
import { array, integer, NULL, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { argument, syntaxError, WRONG_TYPE, word, wrongArity } from '../rows/args.ts';
import {
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { lexBounds, scoreBounds, scoreReply } from '../texts/score-args.ts';
import { parseAdd, parseIncrBy, runAdd } from './zset-add.ts';
import { savedZset } from './zset-save.ts';

interface MemberRequest {
  readonly key: Buffer;
  readonly members: readonly Buffer[];
}

function parseMembers(args: readonly Buffer[]): MemberRequest {
  return { key: argument(args, 1), members: args.slice(2) };
}

/** ZREM key member [member ...] */
function runRem(
  view: WriteView,
  { key, members }: MemberRequest,
  { nowMs }: RunContext,
): RunResult {
  const zset = openZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  const before = zset.size;
  const remove = (member: Buffer) => {
    const score = scoreOf(view, zset.place, member);
    if (score !== undefined) dropMember(view, zset, { member, score });
  };
  return inSteps(members, remove, () => {
    const removed = before - zset.size;
    const reply = integer(removed);
    return removed > 0 ? savedZset(view, zset, { event: 'zrem', reply }) : reply;
  });
}

/** ZCARD key */
function runCard(view: View, key: Buffer, { nowMs }: RunContext): Reply {
  const zset = readZset(view, key, nowMs);
  return zset === 'wrong-type' ? WRONG_TYPE : integer(zset?.size ?? 0);
}

/** ZSCORE key member */
function runScore(view: View, { key, members }: MemberRequest, { nowMs }: RunContext): Reply {
  const zset = readZset(view, key, nowMs);
  return zset === 'wrong-type' ? WRONG_TYPE : memberScore(view, zset, members[0]!);
}

/** ZMSCORE key member [member ...] */
function runMScore(view: View, { key, members }: MemberRequest, { nowMs }: RunContext): RunResult {
  const zset = readZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  const scores: Reply[] = [];
  const read = (member: Buffer) => {
    scores.push(memberScore(view, zset, member));
  };
  return inSteps(members, read, () => array(scores));
}

function memberScore(view: View, zset: Collection | undefined, member: Buffer): Reply {
  const score = zset && scoreOf(view, zset.place, member);
  return score === undefined ? NULL : scoreReply(score);
}

interface RankRequest {
  readonly key: Buffer;
  readonly member: Buffer;
  readonly reverse: boolean;
  readonly withScore: boolean;
}

/** ZRANK key member [WITHSCORE], ZREVRANK key member [WITHSCORE] */
function parseRank(name: string, reverse: boolean): (args: readonly Buffer[]) => RankRequest {
  return (args) => {
    if (args.length > 4) throw wrongArity(name);
    const withScore = args.length === 4;
    if (withScore && word(argument(args, 3)) !== 'withscore') throw syntaxError();
    return { key: argument(args, 1), member: argument(args, 2), reverse, withScore };
  };
}

function* runRank(
  view: View,
  { key, member, reverse, withScore }: RankRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const zset = readZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  const score = zset && scoreOf(view, zset.place, member);
  if (zset === undefined || score === undefined) return withScore ? NULL_ARRAY : NULL;
  const before = yield* countBefore(view, zset, encodeScoreKey(zset.place, score, member));
  const rank = integer(reverse ? zset.size - 1 - before : before);
  return withScore ? array([rank, scoreReply(score)]) : rank;
}

interface CountRequest<Bounds> {
  readonly key: Buffer;
  readonly bounds: Bounds;
}

/** ZCOUNT key min max */
function* runCount(
  view: View,
  { key, bounds }: CountRequest<ScoreBounds>,
  { nowMs }: RunContext,
): Slices<Reply> {
  const zset = readZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  const span = zset && scoreSpan(zset.place, bounds);
  return integer(span === undefined ? 0 : yield* countSpan(view, zset!, span));
}

/** ZLEXCOUNT key min max */
function* runLexCount(
  view: View,
  { key, bounds }: CountRequest<LexBounds>,
  { nowMs }: RunContext,
): Slices<Reply> {
  const zset = readZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  const span = zset && (yield* lexSpan(zset, bounds));
  return integer(span === undefined ? 0 : yield* countSpan(view, zset!, span));
}

export const zsetColumn = {
  keys: FIRST_KEY,
  categories: ['sortedset'],
  group: 'sorted-set',
} as const;
const writeColumn = { ...zsetColumn, flags: ['write', 'denyoom', 'fast'] } as const;
const readColumn = { ...zsetColumn, flags: ['readonly', 'fast'] } as const;

export const zsetCommands: readonly Command[] = [
  write({
    ...writeColumn,
    name: 'zadd',
    arity: -4,
    since: '1.2.0',
    summary: 'Adds members to a sorted set, or changes their scores. Creates the key if absent.',
    parse: (args) => parseAdd(args),
    run: runAdd,
  }),
  write({
    ...writeColumn,
    name: 'zincrby',
    arity: 4,
    since: '1.2.0',
    summary: 'Adds a number to the score of a member of a sorted set; an absent one has score 0.',
    parse: parseIncrBy,
    run: runAdd,
  }),
  write({
    ...zsetColumn,
    flags: ['write', 'fast'],
    name: 'zrem',
    arity: -3,
    since: '1.2.0',
    summary: 'Removes members from a sorted set. Deletes the key with its last member.',
    parse: parseMembers,
    run: runRem,
  }),
  read({
    ...readColumn,
    name: 'zcard',
    arity: 2,
    since: '1.2.0',
    summary: 'Returns the number of members of a sorted set.',
    singlePoint: true,
    parse: (args) => argument(args, 1),
    run: runCard,
  }),
  read({
    ...readColumn,
    name: 'zscore',
    arity: 3,
    since: '1.2.0',
    summary: 'Returns the score of a member of a sorted set.',
    parse: parseMembers,
    run: runScore,
  }),
  read({
    ...readColumn,
    name: 'zmscore',
    arity: -3,
    since: '6.2.0',
    summary: 'Returns the scores of several members of a sorted set.',
    parse: parseMembers,
    run: runMScore,
  }),
  read({
    ...readColumn,
    name: 'zrank',
    arity: -3,
    since: '2.0.0',
    summary: 'Returns how many members of a sorted set come before one, from the lowest score.',
    parse: parseRank('zrank', false),
    run: runRank,
  }),
  read({
    ...readColumn,
    name: 'zrevrank',
    arity: -3,
    since: '2.0.0',
    summary: 'Returns how many members of a sorted set come before one, from the highest score.',
    parse: parseRank('zrevrank', true),
    run: runRank,
  }),
  read({
    ...readColumn,
    name: 'zcount',
    arity: 4,
    since: '2.0.0',
    summary: 'Counts the members of a sorted set with a score in a range.',
    parse: (args) => ({
      key: argument(args, 1),
      bounds: scoreBounds(argument(args, 2), argument(args, 3)),
    }),
    run: runCount,
  }),
  read({
    ...readColumn,
    name: 'zlexcount',
    arity: 4,
    since: '2.8.9',
    summary: 'Counts the members of a sorted set in a range of members.',
    parse: (args) => ({
      key: argument(args, 1),
      bounds: lexBounds(argument(args, 2), argument(args, 3)),
    }),
    run: runLexCount,
  }),
];
