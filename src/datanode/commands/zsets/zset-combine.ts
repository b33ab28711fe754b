/** Unions, intersections and differences of sorted sets and sets, given or stored. */

import type { SteadyList } from '../../../common/steady-list.ts';
import { SteadyMap } from '../../../common/steady-map.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { eachItem, type Slices, someItem, workOnEach } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import type { Entry } from '../../encoding/zsets/zset.ts';
import { buildZset, type Scored, ScoredList } from '../../encoding/zsets/zset-build.ts';
import {
  readSource,
  type Source,
  sourceScore,
  walkSource,
} from '../../encoding/zsets/zset-source.ts';
import { error, integer, type Reply } from '../../resp/reply.ts';
import { ReplyRoom } from '../../resp/reply-pile.ts';
import {
  argument,
  countArgument,
  SYNTAX_ERROR,
  syntaxError,
  WRONG_TYPE,
  word,
} from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  NO_KEYS,
  type RunContext,
  read,
  write,
} from '../rows/command.ts';
import { deleteKey } from '../rows/key-events.ts';
import { doubleArgument } from '../texts/score-args.ts';
import { zsetColumn } from './zset.ts';
import { countedKeys } from './zset-keys.ts';
import { entriesReply } from './zset-range.ts';
import { finishZset } from './zset-save.ts';

type Operation = 'union' | 'inter' | 'diff';
type Aggregate = (score: number, other: number) => number;

interface Options {
  readonly weights: readonly number[];
  readonly aggregate: Aggregate;
  readonly withScores: boolean;
  /** ZINTERCARD: count no further. */
  readonly limit: number;
}

interface Form {
  readonly name: string;
  readonly operation: Operation;
  readonly result: 'reply' | 'store' | 'count';
}

interface CombineRequest {
  readonly target: Buffer | undefined;
  readonly keys: readonly Buffer[];
  /** Redis looks at the keys before the options: what is wrong with these is told later. */
  readonly options: Options | ArgumentError;
}

/** An input and what its scores are multiplied by. */
interface Weighted {
  readonly source: Source;
  readonly weight: number;
}

const INSTEAD = 'fewer or smaller keys';

const aggregates: Readonly<Record<string, Aggregate>> = {
  sum: (score, other) => numberOr0(score + other),
  min: (score, other) => chosen(score, other, other < score),
  max: (score, other) => chosen(score, other, other > score),
};

/** Unlike Math.min and Math.max it keeps the first of two equal zeros, and ignores NaN. */
function chosen(score: number, other: number, isOther: boolean): number {
  return isOther ? other : score;
}

/** Infinities of both signs, or one that is multiplied by 0. */
function numberOr0(score: number): number {
  return Number.isNaN(score) ? 0 : score;
}

/**
 * ZUNION numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX]
 * [WITHSCORES]; the stored forms have a destination before and no WITHSCORES, ZINTERCARD only LIMIT
 */
function parseCombine(args: readonly Buffer[], form: Form): CombineRequest {
  const countAt = form.result === 'store' ? 2 : 1;
  const numKeys = countArgument(argument(args, countAt));
  if (numKeys < 1) {
    throw new ArgumentError(`ERR at least 1 input key is needed for '${form.name}' command`);
  }
  const keysAt = countAt + 1;
  if (numKeys > args.length - keysAt) throw syntaxError();
  const target = form.result === 'store' ? args[1] : undefined;
  const keys = args.slice(keysAt, keysAt + numKeys);
  try {
    return { target, keys, options: parseOptions(args, keysAt + numKeys, numKeys, form) };
  } catch (failure) {
    if (!(failure instanceof ArgumentError)) throw failure;
    return { target, keys, options: failure };
  }
}

function parseOptions(
  args: readonly Buffer[],
  from: number,
  numKeys: number,
  { operation, result }: Form,
): Options {
  const scores = operation !== 'diff' && result !== 'count';
  let weights = new Array<number>(numKeys).fill(1);
  let aggregate = aggregates['sum']!;
  let withScores = false;
  let limit = 0;
  for (let at = from; at < args.length; at++) {
    const option = word(argument(args, at));
    const left = args.length - at;
    if (scores && option === 'weights' && left >= numKeys + 1) {
      const given = args.slice(at + 1, at + 1 + numKeys);
      weights = given.map((arg) => doubleArgument(arg, 'ERR weight value is not a float'));
      at += numKeys;
    } else if (scores && option === 'aggregate' && left >= 2) {
      aggregate = aggregateOf(argument(args, ++at));
    } else if (result === 'reply' && option === 'withscores') {
      withScores = true;
    } else if (result === 'count' && option === 'limit' && left >= 2) {
      const negative = "ERR LIMIT can't be negative";
      limit = countArgument(argument(args, ++at), negative);
      if (limit < 0) throw new ArgumentError(negative);
    } else {
      throw syntaxError();
    }
  }
  return { weights, aggregate, withScores, limit: limit || Number.POSITIVE_INFINITY };
}

function aggregateOf(arg: Buffer): Aggregate {
  const name = word(arg);
  const found = Object.hasOwn(aggregates, name) ? aggregates[name] : undefined;
  if (found === undefined) throw new ArgumentError(SYNTAX_ERROR);
  return found;
}

/** The inputs in the order of the request, or the error reply. */
function* openSources(
  view: View,
  { keys, options }: CombineRequest,
  nowMs: number,
): Slices<{ readonly inputs: readonly Weighted[]; readonly options: Options } | Reply> {
  const sources: Source[] = [];
  let isWrong = false;
  yield* eachItem(keys, (key) => {
    const source = readSource(view, key, nowMs);
    if (source === 'wrong-type') isWrong = true;
    else sources.push(source);
    return isWrong;
  });
  if (isWrong) return WRONG_TYPE;
  if (options instanceof ArgumentError) return error(options.message);
  const inputs = sources.map((source, at) => ({ source, weight: options.weights[at]! }));
  return { inputs, options };
}

/** Gives every element of the result to `take`, in a union once for each input it is in. */
function combine(
  view: View,
  operation: Operation,
  inputs: readonly Weighted[],
  { aggregate }: Options,
  take: (entry: Entry) => boolean | undefined,
): Slices<void> {
  if (operation === 'diff') return subtract(view, inputs, take);
  // scores are added from the smallest input on, so that roundings are Redis's
  const bySize = [...inputs].sort((a, b) => sizeOf(a) - sizeOf(b));
  return operation === 'union' ? unite(bySize, take) : intersect(view, bySize, aggregate, take);
}

function sizeOf({ source }: Weighted): number {
  return source?.size ?? 0;
}

function* unite(
  inputs: readonly Weighted[],
  take: (entry: Entry) => boolean | undefined,
): Slices<void> {
  for (const { source, weight } of inputs) {
    yield* walkSource(source, ({ member, score }) =>
      take({ member, score: numberOr0(weight * score) }),
    );
  }
}

function* intersect(
  view: View,
  [first, ...others]: readonly Weighted[],
  aggregate: Aggregate,
  take: (entry: Entry) => boolean | undefined,
): Slices<void> {
  yield* eachLookedUp(first!.source, function* ({ member, score }) {
    let sum = numberOr0(first!.weight * score);
    const isMissing = yield* someItem(others, ({ source, weight }) => {
      const other = sourceScore(view, source, member);
      if (other !== undefined) sum = aggregate(sum, other * weight);
      return other === undefined;
    });
    return isMissing ? undefined : take({ member, score: sum });
  });
}

function* subtract(
  view: View,
  [first, ...others]: readonly Weighted[],
  take: (entry: Entry) => boolean | undefined,
): Slices<void> {
  yield* eachLookedUp(first!.source, function* (entry) {
    const isIn = ({ source }: Weighted) => sourceScore(view, source, entry.member) !== undefined;
    return (yield* someItem(others, isIn)) ? undefined : take(entry);
  });
}

/** Elements that are looked up in other inputs, of which there may be many. */
function eachLookedUp(source: Source, work: (entry: Entry) => Slices<unknown>): Slices<void> {
  return workOnEach<Entry>((take) => walkSource(source, take), work);
}

function* runCombine(
  view: View,
  operation: Operation,
  request: CombineRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const opened = yield* openSources(view, request, nowMs);
  if ('kind' in opened) return opened;
  const { inputs, options } = opened;
  const room = new ReplyRoom(INSTEAD);
  const result = yield* combined(view, operation, inputs, options, room);
  const entries = entriesOf(yield* result.inOrder());
  return yield* entriesReply(entries, options.withScores, INSTEAD);
}

/**
 * The result as a whole: only then it is known in which order its members are. With `room` it is for
 * a reply.
 */
function* combined(
  view: View,
  operation: Operation,
  inputs: readonly Weighted[],
  options: Options,
  room?: ReplyRoom,
): Slices<ScoredList> {
  const result = new ScoredList();
  if (operation !== 'union') {
    yield* combine(view, operation, inputs, options, ({ member, score }) => {
      room?.note(member.length);
      result.add({ name: member.toString('latin1'), score });
      return undefined;
    });
    return result;
  }
  const found = new SteadyMap<Scored>();
  yield* combine(view, operation, inputs, options, ({ member, score }) => {
    const name = member.toString('latin1');
    const scored = { name, score };
    const before = found.getOrSet(name, scored);
    if (before === scored) room?.note(member.length);
    else before.score = options.aggregate(before.score, score);
    return undefined;
  });
  yield* eachItem(found.values(), (scored) => void result.add(scored));
  return result;
}

function* entriesOf(sorted: SteadyList<Scored>): Generator<Entry, void, unknown> {
  for (const { name, score } of sorted) yield { member: Buffer.from(name, 'latin1'), score };
}

function* runStore(
  view: WriteView,
  operation: Operation,
  request: CombineRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const opened = yield* openSources(view, request, nowMs);
  if ('kind' in opened) return opened;
  const { inputs, options } = opened;
  const found = findKey(view, request.target!, nowMs);
  const zset = yield* buildZset(view, found, yield* combined(view, operation, inputs, options));
  const ending = { event: `z${operation}store`, reply: integer(zset.size) };
  if (zset.size > 0) return yield* finishZset(view, zset, ending);
  deleteKey(view, found);
  return ending.reply;
}

/** ZINTERCARD numkeys key [key ...] [LIMIT limit] */
function* runInterCard(view: View, request: CombineRequest, { nowMs }: RunContext): Slices<Reply> {
  const opened = yield* openSources(view, request, nowMs);
  if ('kind' in opened) return opened;
  const { inputs, options } = opened;
  let count = 0;
  yield* combine(view, 'inter', inputs, options, () => ++count >= options.limit);
  return integer(count);
}

function readRow(name: string, operation: Operation, summary: string): Command {
  return read({
    ...zsetColumn,
    name,
    arity: -3,
    flags: ['readonly', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: countedKeys(1),
    gathers: ['set', 'zset'],
    since: '6.2.0',
    summary,
    parse: (args) => parseCombine(args, { name, operation, result: 'reply' }),
    run: (view, request, context) => runCombine(view, operation, request, context),
  });
}

function storeRow(name: string, operation: Operation, since: string, summary: string): Command {
  return write({
    ...zsetColumn,
    name,
    arity: -4,
    flags: ['write', 'denyoom', 'movablekeys'],
    keys: FIRST_KEY,
    keysOf: countedKeys(2),
    since,
    summary,
    parse: (args) => parseCombine(args, { name, operation, result: 'store' }),
    run: (view, request, context) => runStore(view, operation, request, context),
  });
}

export const zsetCombineCommands: readonly Command[] = [
  readRow('zunion', 'union', 'Returns the union of sorted sets.'),
  readRow('zinter', 'inter', 'Returns the intersection of sorted sets.'),
  readRow('zdiff', 'diff', 'Returns the difference between the first sorted set and others.'),
  storeRow('zunionstore', 'union', '2.0.0', 'Stores the union of sorted sets in a key.'),
  storeRow('zinterstore', 'inter', '2.0.0', 'Stores the intersection of sorted sets in a key.'),
  storeRow('zdiffstore', 'diff', '6.2.0', 'Stores the difference of sorted sets in a key.'),
  read({
    ...zsetColumn,
    name: 'zintercard',
    arity: -3,
    flags: ['readonly', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: countedKeys(1),
    gathers: ['set', 'zset'],
    since: '7.0.0',
    summary: 'Returns how many members the intersection of sorted sets has.',
    parse: (args) =>
      parseCombine(args, { name: 'zintercard', operation: 'inter', result: 'count' }),
    run: runInterCard,
  }),
];
