/** Ranges of sorted sets: ZRANGE and its older forms, ZRANGESTORE, ZREMRANGEBY*. */

import type { Collection } from '../../encoding/collections/collection.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { fitsSmall } from '../../encoding/ranks/zset-header.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { type Entry, openZset, readZset } from '../../encoding/zsets/zset.ts';
import { buildZset, ScoredList } from '../../encoding/zsets/zset-build.ts';
import {
  jump,
  type LexBounds,
  lexSpan,
  rankSpan,
  type ScoreBounds,
  type Span,
  scoreSpan,
  walkSpan,
} from '../../encoding/zsets/zset-range.ts';
import { removeSpan } from '../../encoding/zsets/zset-removal.ts';
import { bulk, EMPTY_ARRAY, integer, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, countArgument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { ArgumentError, type Command, type RunContext, read, write } from '../rows/command.ts';
import { deleteKey } from '../rows/key-events.ts';
import { lexBounds, scoreBounds, scoreReply } from '../texts/score-args.ts';
import { zsetColumn } from './zset.ts';
import { finishZset } from './zset-save.ts';

type By = 'rank' | 'score' | 'lex';

type Range =
  | { readonly by: 'rank'; readonly start: number; readonly stop: number }
  | { readonly by: 'score'; readonly bounds: ScoreBounds }
  | { readonly by: 'lex'; readonly bounds: LexBounds };

interface RangeRequest {
  readonly key: Buffer;
  readonly range: Range;
  readonly reverse: boolean;
  readonly offset: number;
  readonly limit: number;
  readonly withScores: boolean;
}

interface RangeForm {
  /** Undefined: an option says. */
  readonly by?: By;
  readonly reverse?: boolean;
  readonly store?: boolean;
}

interface RangeOptions {
  by: By | undefined;
  reverse: boolean | undefined;
  offset: number;
  limit: number;
  withScores: boolean;
}

/** ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES] */
function parseRange(args: readonly Buffer[], keyAt: number, form: RangeForm): RangeRequest {
  const options = parseOptions(args, keyAt + 3, form);
  const { by = 'rank', reverse = false, offset, limit, withScores } = options;
  if (limit !== -1 && by === 'rank') {
    throw new ArgumentError(
      'ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX',
    );
  }
  if (withScores && by === 'lex') {
    throw new ArgumentError('ERR syntax error, WITHSCORES not supported in combination with BYLEX');
  }
  const bounds = [argument(args, keyAt + 1), argument(args, keyAt + 2)] as const;
  const [min, max] = reverse && by !== 'rank' ? [bounds[1], bounds[0]] : bounds;
  const range = rangeOf(by, min, max);
  return { key: argument(args, keyAt), range, reverse, offset, limit, withScores };
}

function parseOptions(args: readonly Buffer[], from: number, form: RangeForm): RangeOptions {
  const { by, reverse, store = false } = form;
  const options: RangeOptions = { by, reverse, offset: 0, limit: -1, withScores: false };
  for (let at = from; at < args.length; at++) {
    const option = word(argument(args, at));
    if (option === 'withscores' && !store) {
      options.withScores = true;
    } else if (option === 'limit' && at + 2 < args.length) {
      options.offset = countArgument(argument(args, ++at));
      options.limit = countArgument(argument(args, ++at));
    } else if (option === 'rev' && options.reverse === undefined) {
      options.reverse = true;
    } else if ((option === 'bylex' || option === 'byscore') && options.by === undefined) {
      options.by = option === 'bylex' ? 'lex' : 'score';
    } else {
      throw syntaxError();
    }
  }
  return options;
}

function rangeOf(by: By, min: Buffer, max: Buffer): Range {
  if (by === 'rank') return { by, start: countArgument(min), stop: countArgument(max) };
  if (by === 'score') return { by, bounds: scoreBounds(min, max) };
  return { by, bounds: lexBounds(min, max) };
}

/** Undefined when the range is empty. */
function* spanOf(
  view: View,
  zset: Collection,
  range: Range,
  reverse: boolean,
): Slices<Span | undefined> {
  if (range.by === 'score') return scoreSpan(zset.place, range.bounds, reverse);
  if (range.by === 'lex') return yield* lexSpan(zset, range.bounds, reverse);
  const { size } = zset;
  const start = Math.max(0, range.start < 0 ? size + range.start : range.start);
  const stop = Math.min(size - 1, range.stop < 0 ? size + range.stop : range.stop);
  if (start > stop) return undefined;
  return yield* rankSpan(view, zset, start, stop - start + 1, reverse);
}

function* walkRange(
  view: View,
  zset: Collection,
  { range, reverse, offset, limit }: RangeRequest,
  take: (entry: Entry) => void,
): Slices<void> {
  const span = yield* spanOf(view, zset, range, reverse);
  if (span === undefined || limit === 0) return;
  const limited = range.by === 'rank' ? span : { ...span, offset, limit };
  yield* walkSpan(yield* jump(view, zset, limited), take);
}

function* runRange(view: View, request: RangeRequest, { nowMs }: RunContext): Slices<Reply> {
  const zset = readZset(view, request.key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  if (zset === undefined) return EMPTY_ARRAY;
  const { withScores } = request;
  const pile = new ReplyPile(withScores ? 'pairs' : 'array', 'smaller ranges, or ZSCAN');
  yield* walkRange(view, zset, request, ({ member, score }) =>
    pile.add(bulk(member), withScores ? scoreReply(score) : undefined),
  );
  return pile.reply();
}

export function* entriesReply(
  entries: Iterable<Entry>,
  withScores: boolean,
  instead: string,
): Slices<Reply> {
  const pile = new ReplyPile(withScores ? 'pairs' : 'array', instead);
  yield* eachItem(entries, ({ member, score }) =>
    pile.add(bulk(member), withScores ? scoreReply(score) : undefined),
  );
  return pile.reply();
}

/** ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count] */
function* runRangeStore(
  view: WriteView,
  { target, request }: { readonly target: Buffer; readonly request: RangeRequest },
  { nowMs }: RunContext,
): Slices<Reply> {
  const source = readZset(view, request.key, nowMs);
  if (source === 'wrong-type') return WRONG_TYPE;
  const found = findKey(view, target, nowMs);
  const scored = new ScoredList();
  let isLarge = false;
  if (source !== undefined) {
    yield* walkRange(view, source, request, ({ member, score }) => {
      // members come one by one: what came while it was small has lost its −0
      isLarge ||= !fitsSmall({ size: scored.all.length + 1 }, member.length);
      scored.add({ name: member.toString('latin1'), score: isLarge ? score : score + 0 });
    });
  }
  const stored = yield* buildZset(view, found, scored, isLarge);
  const reply = integer(stored.size);
  if (stored.size > 0) return yield* finishZset(view, stored, { event: 'zrangestore', reply });
  deleteKey(view, found);
  return reply;
}

/** ZREMRANGEBYRANK key start stop, ZREMRANGEBYSCORE key min max, ZREMRANGEBYLEX key min max */
function* runRemRange(
  view: WriteView,
  { key, range, event }: { readonly key: Buffer; readonly range: Range; readonly event: string },
  { nowMs }: RunContext,
): Slices<Reply> {
  const zset = openZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  const before = zset.size;
  const span = before > 0 ? yield* spanOf(view, zset, range, false) : undefined;
  if (span === undefined) return integer(0);
  const left = yield* removeSpan(view, zset, span);
  const reply = integer(before - left.size);
  return left.size < before ? yield* finishZset(view, left, { event, reply }) : reply;
}

const readColumn = { ...zsetColumn, flags: ['readonly'] } as const;
const removeColumn = { ...zsetColumn, flags: ['write'], arity: 4, run: runRemRange } as const;

function rangeRow(name: string, since: string, summary: string, form: RangeForm): Command {
  const parse = (args: readonly Buffer[]) => parseRange(args, 1, form);
  return read({ ...readColumn, name, arity: -4, since, summary, parse, run: runRange });
}

function parseRemoval(by: By) {
  return (args: readonly Buffer[]) => ({
    key: argument(args, 1),
    range: rangeOf(by, argument(args, 2), argument(args, 3)),
    event: `zremrangeby${by}`,
  });
}

export const zsetRangeCommands: readonly Command[] = [
  rangeRow('zrange', '1.2.0', 'Returns members of a sorted set in a range of ranks.', {}),
  rangeRow('zrevrange', '1.2.0', 'Returns members in a range of ranks, highest score first.', {
    by: 'rank',
    reverse: true,
  }),
  rangeRow('zrangebyscore', '1.0.5', 'Returns members in a range of scores.', {
    by: 'score',
    reverse: false,
  }),
  rangeRow('zrevrangebyscore', '2.2.0', 'Returns members in a range of scores, highest first.', {
    by: 'score',
    reverse: true,
  }),
  rangeRow('zrangebylex', '2.8.9', 'Returns members in a range of members.', {
    by: 'lex',
    reverse: false,
  }),
  rangeRow('zrevrangebylex', '2.8.9', 'Returns members in a range of members, last first.', {
    by: 'lex',
    reverse: true,
  }),
  write({
    ...zsetColumn,
    name: 'zrangestore',
    arity: -5,
    flags: ['write', 'denyoom'],
    keys: { first: 1, last: 2, step: 1 },
    since: '6.2.0',
    summary: 'Stores a range of members of a sorted set in another key.',
    parse: (args) => ({
      target: argument(args, 1),
      request: parseRange(args, 2, { store: true }),
    }),
    run: runRangeStore,
  }),
  write({
    ...removeColumn,
    name: 'zremrangebyrank',
    since: '2.0.0',
    summary: 'Removes members of a sorted set in a range of ranks.',
    parse: parseRemoval('rank'),
  }),
  write({
    ...removeColumn,
    name: 'zremrangebyscore',
    since: '1.2.0',
    summary: 'Removes members of a sorted set in a range of scores.',
    parse: parseRemoval('score'),
  }),
  write({
    ...removeColumn,
    name: 'zremrangebylex',
    since: '2.8.9',
    summary: 'Removes members of a sorted set in a range of members.',
    parse: parseRemoval('lex'),
  }),
];
