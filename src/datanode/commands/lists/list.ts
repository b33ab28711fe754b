/** Lists from their ends: LPUSH, RPUSH, LPOP, RPOP, LLEN, LMOVE, RPOPLPUSH. */

import { must } from '../../../common/assert.ts';
import { limits } from '../../../common/limits.ts';
import {
  growEncoding,
  type ListEnd,
  type OpenList,
  openList,
  pushElement,
  readList,
  saveList,
  shrinkEncoding,
} from '../../encoding/lists/list.ts';
import { copyPart } from '../../encoding/lists/list-edit.ts';
import { dropElements, walkList } from '../../encoding/lists/list-walk.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, EMPTY_ARRAY, integer, NULL, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import { ReplyPile, replyTooLarge } from '../../resp/reply-pile.ts';
import {
  argument,
  countArgument,
  syntaxError,
  WRONG_TYPE,
  word,
  wrongArity,
} from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { tellChange } from '../rows/key-events.ts';

const NOTHING = integer(0);
const pushEvents = { left: 'lpush', right: 'rpush' } as const;
const popEvents = { left: 'lpop', right: 'rpop' } as const;

interface Push {
  readonly key: Buffer;
  readonly end: ListEnd;
  readonly elements: readonly Buffer[];
  /** LPUSHX, RPUSHX: only if the list exists. */
  readonly existing: boolean;
}

/** LPUSH key element [element ...], LPUSHX, RPUSH, RPUSHX */
function parsePush(end: ListEnd, existing: boolean): (args: readonly Buffer[]) => Push {
  return (args) => ({ key: argument(args, 1), end, elements: args.slice(2), existing });
}

function runPush(
  view: WriteView,
  { key, end, elements, existing }: Push,
  { nowMs }: RunContext,
): RunResult {
  const list = openList(view, key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  if (existing && list.size === 0) return NOTHING;
  growEncoding(list, elements);
  const push = (element: Buffer) => pushElement(view, list, end, element);
  return inSteps(elements, push, () => {
    saveList(view, list);
    tellChange(view, 'list', pushEvents[end], list);
    return integer(list.size);
  });
}

interface Pop {
  readonly key: Buffer;
  readonly end: ListEnd;
  /** Undefined: one, and the reply is no array. */
  readonly count: number | undefined;
}

/** LPOP key [count], RPOP key [count] */
function parsePop(name: string, end: ListEnd): (args: readonly Buffer[]) => Pop {
  return (args) => {
    if (args.length > 3) throw wrongArity(name);
    const count = args.length === 3 ? positiveCount(argument(args, 2)) : undefined;
    return { key: argument(args, 1), end, count };
  };
}

const NOT_POSITIVE = 'ERR value is out of range, must be positive';

function positiveCount(arg: Buffer): number {
  const count = countArgument(arg, NOT_POSITIVE);
  if (count < 0) throw new ArgumentError(NOT_POSITIVE);
  return count;
}

function runPop(view: WriteView, { key, end, count }: Pop, { nowMs }: RunContext): RunResult {
  const list = openList(view, key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  if (list.size === 0) return count === undefined ? NULL : NULL_ARRAY;
  if (count === 0) return EMPTY_ARRAY;
  return atOnce(popList(view, list, end, count));
}

/** An element, or of a count an array of them. */
export function* popList(
  view: WriteView,
  list: OpenList,
  end: ListEnd,
  count: number | undefined,
): Slices<Reply> {
  const elements = yield* popElements(view, list, end, count ?? 1);
  return count === undefined && elements.kind === 'array' ? elements.items[0]! : elements;
}

/** So many elements fit a reply, however long they are. */
const POPPED_UNSEEN_MAX = 1;

/** Elements are removed as they are read: whether they fit a reply is known before. */
function* checkReply(view: View, list: OpenList, from: ListEnd, count: number): Slices<void> {
  let bytes = 0;
  yield* walkList(view, list, { from, skip: 0, count }, (element) => {
    bytes += replyBytes(bulk(element));
    if (bytes > limits.replyBytesMax) throw replyTooLarge('a smaller count');
    return true;
  });
}

/** From here on what is left is put down anew when it is less than what goes. */
const MOST_MIN = 16_384;

/** The elements that were taken, as an array. */
export function* popElements(
  view: WriteView,
  list: OpenList,
  end: ListEnd,
  count: number,
): Slices<Reply> {
  const taken = Math.min(count, list.size);
  if (taken >= MOST_MIN && list.size - taken < taken) {
    return yield* popMost(view, list, end, taken);
  }
  if (taken > POPPED_UNSEEN_MAX) yield* checkReply(view, list, end, taken);
  const pile = new ReplyPile('array', 'a smaller count');
  yield* dropElements(view, list, end, taken, (element) => pile.add(bulk(element)));
  shrinkEncoding(list);
  saveList(view, list);
  tellChange(view, 'list', popEvents[end], list);
  return pile.reply();
}

/** Removes none of them by itself: every replica would hold that in memory until it is written. */
function* popMost(view: WriteView, list: OpenList, end: ListEnd, count: number): Slices<Reply> {
  const pile = new ReplyPile('array', 'a smaller count');
  yield* walkList(view, list, { from: end, skip: 0, count }, (element) => {
    pile.add(bulk(element));
    return true;
  });
  const left = yield* copyPart(view, list, end === 'left' ? count : 0, list.size - count);
  shrinkEncoding(left);
  saveList(view, left);
  tellChange(view, 'list', popEvents[end], left);
  return pile.reply();
}

/** LLEN key */
function runLen(view: View, key: Buffer, { nowMs }: RunContext): Reply {
  const list = readList(view, key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  return integer(list?.size ?? 0);
}

export interface Move {
  readonly source: Buffer;
  readonly target: Buffer;
  readonly from: ListEnd;
  readonly to: ListEnd;
}

/** LMOVE source destination LEFT | RIGHT LEFT | RIGHT */
export function parseMove(args: readonly Buffer[]): Move {
  return {
    source: argument(args, 1),
    target: argument(args, 2),
    from: endArgument(argument(args, 3)),
    to: endArgument(argument(args, 4)),
  };
}

/** LEFT or RIGHT. */
export function endArgument(arg: Buffer): ListEnd {
  const end = word(arg);
  if (end !== 'left' && end !== 'right') throw syntaxError();
  return end;
}

/** RPOPLPUSH source destination */
export function parseRpopLpush(args: readonly Buffer[]): Move {
  return { source: argument(args, 1), target: argument(args, 2), from: 'right', to: 'left' };
}

export function runMove(view: WriteView, move: Move, { nowMs }: RunContext): RunResult {
  const source = openList(view, move.source, nowMs);
  if (source === 'wrong-type') return WRONG_TYPE;
  if (source.size === 0) return NULL;
  const same = move.source.equals(move.target);
  const target = same ? source : openList(view, move.target, nowMs);
  if (target === 'wrong-type') return WRONG_TYPE;
  return atOnce(moveElement(view, source, target, move));
}

function* moveElement(
  view: WriteView,
  source: OpenList,
  target: OpenList,
  { from, to }: Move,
): Slices<Reply> {
  let moved: Buffer | undefined;
  yield* dropElements(view, source, from, 1, (element) => {
    moved = element;
  });
  const element = must(moved, 'the source has an element');
  growEncoding(target, [element]);
  pushElement(view, target, to, element);
  shrinkEncoding(source);
  saveList(view, source);
  if (target !== source) saveList(view, target);
  view.notify?.('list', pushEvents[to], target.found.key);
  tellChange(view, 'list', popEvents[from], source);
  return bulk(element);
}

const column = { categories: ['list'], group: 'list', keys: FIRST_KEY };
const TWO_KEYS = { first: 1, last: 2, step: 1 };
const pushColumn = {
  ...column,
  arity: -3,
  flags: ['write', 'denyoom', 'fast'],
  run: runPush,
} as const;
const popColumn = { ...column, arity: -2, flags: ['write', 'fast'], run: runPop } as const;
const moveColumn = {
  ...column,
  flags: ['write', 'denyoom'],
  keys: TWO_KEYS,
  run: runMove,
} as const;

export const listCommands: readonly Command[] = [
  write({
    ...pushColumn,
    name: 'lpush',
    since: '1.0.0',
    summary: 'Prepends elements to a list. Creates the key if it doesn’t exist.',
    parse: parsePush('left', false),
  }),
  write({
    ...pushColumn,
    name: 'rpush',
    since: '1.0.0',
    summary: 'Appends elements to a list. Creates the key if it doesn’t exist.',
    parse: parsePush('right', false),
  }),
  write({
    ...pushColumn,
    name: 'lpushx',
    since: '2.2.0',
    summary: 'Prepends elements to a list only when the list exists.',
    parse: parsePush('left', true),
  }),
  write({
    ...pushColumn,
    name: 'rpushx',
    since: '2.2.0',
    summary: 'Appends elements to a list only when the list exists.',
    parse: parsePush('right', true),
  }),
  write({
    ...popColumn,
    name: 'lpop',
    since: '1.0.0',
    summary: 'Removes the first elements of a list and returns them.',
    parse: parsePop('lpop', 'left'),
  }),
  write({
    ...popColumn,
    name: 'rpop',
    since: '1.0.0',
    summary: 'Removes the last elements of a list and returns them.',
    parse: parsePop('rpop', 'right'),
  }),
  read({
    ...column,
    name: 'llen',
    arity: 2,
    flags: ['readonly', 'fast'],
    since: '1.0.0',
    summary: 'Returns the length of a list.',
    singlePoint: true,
    parse: (args) => argument(args, 1),
    run: runLen,
  }),
  write({
    ...moveColumn,
    name: 'lmove',
    arity: 5,
    since: '6.2.0',
    summary: 'Takes an element off one list, adds it to another and returns it.',
    parse: parseMove,
  }),
  write({
    ...moveColumn,
    name: 'rpoplpush',
    arity: 3,
    since: '1.2.0',
    summary: 'Takes the last element off one list, prepends it to another and returns it.',
    parse: parseRpopLpush,
  }),
];
