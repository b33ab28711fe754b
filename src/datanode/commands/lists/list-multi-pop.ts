/** LMPOP: elements from an end of the first of several lists that has any. */
import { type ListEnd, type OpenList, openList } from '../../encoding/lists/list.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { array, bulk, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { argument, countArgument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ArgumentError,
  type Command,
  NO_KEYS,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';
import { endArgument, popElements } from './list.ts';

export interface MultiPop {
  readonly keys: readonly Buffer[];
  readonly end: ListEnd;
  readonly count: number;
}

/** LMPOP numkeys key [key ...] LEFT | RIGHT [COUNT count] */
export function parseMultiPop(args: readonly Buffer[]): MultiPop {
  const keyCount = atLeastOne(argument(args, 1), 'numkeys');
  const endAt = 2 + keyCount;
  if (endAt >= args.length) throw syntaxError();
  const end = endArgument(argument(args, endAt));
  let count: number | undefined;
  for (let at = endAt + 1; at < args.length; at += 2) {
    const isCount = count === undefined && word(argument(args, at)) === 'count';
    if (!isCount || at + 1 >= args.length) throw syntaxError();
    count = atLeastOne(argument(args, at + 1), 'count');
  }
  return { keys: args.slice(2, endAt), end, count: count ?? 1 };
}

function atLeastOne(arg: Buffer, name: string): number {
  const message = `ERR ${name} should be greater than 0`;
  const count = countArgument(arg, message);
  if (count < 1) throw new ArgumentError(message);
  return count;
}

function multiPopKeys(args: readonly Buffer[]): readonly Buffer[] {
  const count = Number(args[1]?.toString('latin1'));
  return Number.isSafeInteger(count) && count > 0 ? args.slice(2, 2 + count) : [];
}

export function runMultiPop(view: WriteView, request: MultiPop, context: RunContext): RunResult {
  return atOnce(popFirst(view, request, context));
}

function* popFirst(
  view: WriteView,
  { keys, end, count }: MultiPop,
  { nowMs }: RunContext,
): Slices<Reply> {
  const list = yield* firstList(view, keys, nowMs);
  if (list === undefined) return NULL_ARRAY;
  return list === 'wrong-type' ? WRONG_TYPE : yield* popFrom(view, list, end, count);
}

/** The first of the lists that has elements; `wrong-type` if something else comes before. */
export function* firstList(
  view: WriteView,
  keys: readonly Buffer[],
  nowMs: number,
): Slices<OpenList | undefined | 'wrong-type'> {
  let met = 0;
  for (const key of keys) {
    if (isGlanceDue(++met)) yield GLANCE;
    const list = openList(view, key, nowMs);
    if (list === 'wrong-type' || list.size > 0) return list;
  }
  return undefined;
}

function* popFrom(view: WriteView, list: OpenList, end: ListEnd, count: number): Slices<Reply> {
  const elements = yield* popElements(view, list, end, count);
  return array([bulk(list.found.key), elements]);
}

export const listMultiPopCommands: readonly Command[] = [
  write({
    categories: ['list'],
    group: 'list',
    name: 'lmpop',
    arity: -4,
    flags: ['write', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: multiPopKeys,
    since: '7.0.0',
    summary: 'Removes elements at an end of the first of several lists that has any.',
    parse: parseMultiPop,
    run: runMultiPop,
  }),
];
