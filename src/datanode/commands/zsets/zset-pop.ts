/** Taking members from either end of a sorted set: ZPOPMIN, ZPOPMAX, ZMPOP. */

import { SteadyList } from '../../../common/steady-list.ts';
import type { OpenZset } from '../../encoding/ranks/zset-header.ts';
import { eachItem, GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { type Entry, openZset } from '../../encoding/zsets/zset.ts';
import { walkSpan, wholeSpan } from '../../encoding/zsets/zset-range.ts';
import { removeEnd } from '../../encoding/zsets/zset-removal.ts';
import { array, bulk, EMPTY_ARRAY, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { ReplyPile, ReplyRoom } from '../../resp/reply-pile.ts';
import { argument, countArgument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { ArgumentError, type Command, NO_KEYS, type RunContext, write } from '../rows/command.ts';
import { scoreReply } from '../texts/score-args.ts';
import { zsetColumn } from './zset.ts';
import { countedKeys } from './zset-keys.ts';
import { entriesReply } from './zset-range.ts';
import { finishZset } from './zset-save.ts';

interface PopRequest {
  readonly key: Buffer;
  readonly highest: boolean;
  /** Undefined: one, and RESP3 gives it without a list around it. */
  readonly count: number | undefined;
}

export interface MPopRequest {
  readonly keys: readonly Buffer[];
  readonly highest: boolean;
  readonly count: number;
}

/** ZPOPMIN key [count], ZPOPMAX key [count] */
function parsePop(highest: boolean): (args: readonly Buffer[]) => PopRequest {
  return (args) => {
    if (args.length > 3) throw syntaxError();
    const outOfRange = 'ERR value is out of range, must be positive';
    const count = args[2] && countArgument(args[2], outOfRange);
    if (count !== undefined && count < 0) throw new ArgumentError(outOfRange);
    return { key: argument(args, 1), highest, count };
  };
}

function* runPop(
  view: WriteView,
  { key, highest, count }: PopRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const zset = openZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  if (zset.size === 0 || count === 0) return EMPTY_ARRAY;
  const entries = yield* takeEntries(zset, highest, count ?? 1);
  const reply =
    count === undefined
      ? array([...entries].flatMap(pairOf))
      : yield* entriesReply(entries, true, 'a smaller count');
  return yield* drop(view, zset, entries, highest, reply);
}

/** ZMPOP numkeys key [key ...] MIN | MAX [COUNT count] */
export function parseMPop(args: readonly Buffer[]): MPopRequest {
  const tooFew = 'ERR numkeys should be greater than 0';
  const numKeys = countArgument(argument(args, 1), tooFew);
  if (numKeys < 1) throw new ArgumentError(tooFew);
  const whereAt = 2 + numKeys;
  const where = args[whereAt] && word(args[whereAt]);
  if (where !== 'min' && where !== 'max') throw syntaxError();
  let count: number | undefined;
  for (let at = whereAt + 1; at < args.length; at += 2) {
    const isCount = word(argument(args, at)) === 'count' && at + 1 < args.length;
    if (!isCount || count !== undefined) throw syntaxError();
    const tooSmall = 'ERR count should be greater than 0';
    count = countArgument(argument(args, at + 1), tooSmall);
    if (count < 1) throw new ArgumentError(tooSmall);
  }
  return { keys: args.slice(2, whereAt), highest: where === 'max', count: count ?? 1 };
}

export function* runMPop(
  view: WriteView,
  { keys, highest, count }: MPopRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  let met = 0;
  for (const key of keys) {
    if (isGlanceDue(++met)) yield GLANCE;
    const zset = openZset(view, key, nowMs);
    if (zset === 'wrong-type') return WRONG_TYPE;
    if (zset.size === 0) continue;
    const entries = yield* takeEntries(zset, highest, count);
    const pile = new ReplyPile('array', 'a smaller count');
    yield* eachItem(entries, (entry) => pile.add(array(pairOf(entry))));
    const reply = array([bulk(key), pile.reply()]);
    return yield* drop(view, zset, entries, highest, reply);
  }
  return NULL_ARRAY;
}

/** Throws ReplyTooLargeError while they are gathered when they cannot fit a reply. */
export function* takeEntries(
  { place }: OpenZset,
  highest: boolean,
  count: number,
): Slices<SteadyList<Entry>> {
  const entries = new SteadyList<Entry>();
  const room = new ReplyRoom('a smaller count');
  yield* walkSpan({ ...wholeSpan(place, highest), limit: count }, (entry) => {
    room.note(entry.member.length);
    entries.push(entry);
  });
  return entries;
}

/** What was taken goes, and is what the command answers. */
export function* drop(
  view: WriteView,
  zset: OpenZset,
  entries: SteadyList<Entry>,
  highest: boolean,
  reply: Reply,
): Slices<Reply> {
  const left = yield* removeEnd(view, zset, entries, highest);
  return yield* finishZset(view, left, { event: highest ? 'zpopmax' : 'zpopmin', reply });
}

export function pairOf({ member, score }: Entry): Reply[] {
  return [bulk(member), scoreReply(score)];
}

const popColumn = { ...zsetColumn, flags: ['write', 'fast'], arity: -2, since: '5.0.0' } as const;

export const zsetPopCommands: readonly Command[] = [
  write({
    ...popColumn,
    name: 'zpopmin',
    summary: 'Removes and returns the members of a sorted set with the lowest scores.',
    parse: parsePop(false),
    run: runPop,
  }),
  write({
    ...popColumn,
    name: 'zpopmax',
    summary: 'Removes and returns the members of a sorted set with the highest scores.',
    parse: parsePop(true),
    run: runPop,
  }),
  write({
    ...zsetColumn,
    name: 'zmpop',
    arity: -4,
    flags: ['write', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: countedKeys(1),
    since: '7.0.0',
    summary: 'Removes and returns members of the first sorted set that is not empty.',
    parse: parseMPop,
    run: runMPop,
  }),
];
