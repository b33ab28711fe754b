/** Sorted sets member by member, and ranks: ZADD, ZREM, ZSCORE, ZRANK, ZCOUNT and relatives. */
import type { Collection } from '../encoding/collection.ts';
import { encodeScoreKey } from '../encoding/element-key.ts';
import { GLANCE, isGlanceDue, type Slices } from '../encoding/slices.ts';
import type { View, WriteView } from '../encoding/view.ts';
import { dropMember, openZset, putScore, readZset, scoreOf } from '../encoding/zset.ts';
import { countBefore } from '../encoding/zset-index.ts';
import {
  countSpan,
  type LexBounds,
  lexSpan,
  type ScoreBounds,
  scoreSpan,
} from '../encoding/zset-range.ts';
import { array, error, integer, NULL, NULL_ARRAY, type Reply } from '../resp/reply.ts';
import { argument, syntaxError, WRONG_TYPE, word, wrongArity } from './args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from './command.ts';
import { inSteps } from './in-steps.ts';
import { late, lateReply } from './late-error.ts';
import { doubleArgument, lexBounds, scoreBounds, scoreReply } from './score-args.ts';
import { savedZset } from './zset-save.ts';

export interface ScoredMember {
  readonly member: Buffer;
  readonly score: number;
}

/** What ZADD is asked for beside its members. */
export interface AddOptions {
  readonly nx: boolean;
  readonly xx: boolean;
  readonly gt: boolean;
  readonly lt: boolean;
  readonly ch: boolean;
  readonly incr: boolean;
}

export interface AddRequest {
  readonly key: Buffer;
  readonly options: AddOptions;
  readonly members: readonly ScoredMember[] | LateMembers;
}

/** So many members that reading their scores is a part of the run, in steps. */
interface LateMembers {
  readonly count: number;
  /** That of a number from 0 on. Throws ArgumentError. */
  readonly read: (number: number) => ScoredMember;
}

/** More members are read late. */
const MEMBERS_AT_ONCE_MAX = 1_024;

const NOT_A_NUMBER = error('ERR resulting score is not a number (NaN)');
const ADD_OPTIONS: readonly string[] = ['nx', 'xx', 'gt', 'lt', 'ch', 'incr'];

/** ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...] */
function parseAdd(args: readonly Buffer[], always: readonly string[] = []): AddRequest {
  const given = new Set(always);
  let at = 2;
  for (; at < args.length; at++) {
    const option = word(argument(args, at));
    if (!ADD_OPTIONS.includes(option)) break;
    given.add(option);
  }
  const count = args.length - at;
  if (count === 0 || count % 2 !== 0) throw syntaxError();
  const [nx, xx, gt, lt, ch, incr] = ADD_OPTIONS.map((option) => given.has(option));
  const options = { nx: nx!, xx: xx!, gt: gt!, lt: lt!, ch: ch!, incr: incr! };
  refuseContradictions(options, count / 2);
  const members = membersOf(count / 2, (number) => {
    const scoreAt = at + 2 * number;
    return { score: doubleArgument(argument(args, scoreAt)), member: argument(args, scoreAt + 1) };
  });
  return { key: argument(args, 1), options, members };
}

/** `count` members as `read` reads them: now where they are few, so that no entry is made in vain. */
export function membersOf(count: number, read: LateMembers['read']): AddRequest['members'] {
  if (count > MEMBERS_AT_ONCE_MAX) return { count, read };
  return Array.from({ length: count }, (_, number) => read(number));
}

function refuseContradictions({ nx, xx, gt, lt, incr }: AddOptions, members: number): void {
  if (nx && xx) {
    throw new ArgumentError('ERR XX and NX options at the same time are not compatible');
  }
  if ((gt && nx) || (lt && nx) || (gt && lt)) {
    throw new ArgumentError('ERR GT, LT, and/or NX options at the same time are not compatible');
  }
  if (incr && members > 1) {
    throw new ArgumentError('ERR INCR option supports a single increment-element pair');
  }
}

/** ZINCRBY key increment member */
function parseIncrBy(args: readonly Buffer[]): AddRequest {
  return parseAdd(args, ['incr']);
}

export function runAdd(view: WriteView, request: AddRequest, { nowMs }: RunContext): RunResult {
  const { members } = request;
  if ('read' in members) return readAndAdd(view, request, members, nowMs);
  return addMembers(view, request, members, nowMs);
}

/** As in Redis, one score that is none refuses all before the key is looked at. */
function* readAndAdd(
  view: WriteView,
  request: AddRequest,
  { count, read }: LateMembers,
  nowMs: number,
): Slices<Reply> {
  const members: ScoredMember[] = [];
  for (let number = 0; number < count; number++) {
    if (isGlanceDue(number)) yield GLANCE;
    const member = late(() => read(number));
    if (member instanceof ArgumentError) return lateReply(member);
    members.push(member);
  }
  const result = addMembers(view, request, members, nowMs);
  return 'kind' in result ? result : yield* result;
}

function addMembers(
  view: WriteView,
  { key, options }: AddRequest,
  members: readonly ScoredMember[],
  nowMs: number,
): RunResult {
  const zset = openZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  let added = 0;
  let changed = 0;
  let last: number | undefined;
  // only an increment, of one member, makes what is no number
  const add = ({ member, score }: ScoredMember) => {
    const before = scoreOf(view, zset.place, member);
    last = scoreToGive(options, score, before);
    if (last === undefined || Number.isNaN(last) || last === before) return;
    putScore(view, zset, member, last, before);
    if (before === undefined) added++;
    else changed++;
  };
  return inSteps(members, add, () => {
    if (Number.isNaN(last)) return NOT_A_NUMBER;
    const increased = last === undefined ? NULL : scoreReply(last);
    const reply = options.incr ? increased : integer(options.ch ? added + changed : added);
    const event = options.incr ? 'zincr' : 'zadd';
    return added + changed > 0 ? savedZset(view, zset, { event, reply }) : reply;
  });
}

/** Undefined when the options keep the member as it is (or out). */
function scoreToGive(
  { nx, xx, gt, lt, incr }: AddOptions,
  score: number,
  before: number | undefined,
): number | undefined {
  if (before === undefined) return xx ? undefined : score;
  if (nx) return undefined;
  const after = incr ? before + score : score;
  if ((gt && after <= before) || (lt && after >= before)) return undefined;
  return after;
}

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
