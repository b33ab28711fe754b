/**
 * BLPOP, BRPOP, BLMOVE, BRPOPLPUSH, BLMPOP: here as the commands they are when there is something
 * to take; what waits otherwise is in partition/waiting/waiters.ts. In a transaction they never wait.
 */
import type { ListEnd } from '../../encoding/lists/list.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { array, bulk, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { parseMove, parseRpopLpush, popList, runMove } from '../lists/list.ts';
import { firstList, parseMultiPop, runMultiPop } from '../lists/list-multi-pop.ts';
import { argument, WRONG_TYPE } from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  type BlockingForm,
  type Command,
  NO_KEYS,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';
import {
  afterTimeout,
  KEYS_BEFORE_TIMEOUT,
  keysThenTimeout,
  multiPopForm,
  multiPopKeys,
  popForm,
  timeoutArgument,
} from './blocking.ts';

interface Pop {
  readonly keys: readonly Buffer[];
  readonly end: ListEnd;
}

/** BLPOP key [key ...] timeout, BRPOP */
function parsePop(end: ListEnd): (args: readonly Buffer[]) => Pop {
  return (args) => ({ keys: keysThenTimeout(args).keys, end });
}

function runPop(view: WriteView, pop: Pop, context: RunContext): RunResult {
  return atOnce(popWithKey(view, pop, context));
}

function* popWithKey(view: WriteView, { keys, end }: Pop, { nowMs }: RunContext): Slices<Reply> {
  const list = yield* firstList(view, keys, nowMs);
  if (list === undefined) return NULL_ARRAY;
  if (list === 'wrong-type') return WRONG_TYPE;
  const element = yield* popList(view, list, end, undefined);
  return array([bulk(list.found.key), element]);
}

/** BLMOVE source destination LEFT | RIGHT LEFT | RIGHT timeout, BRPOPLPUSH source destination timeout */
function moveForm(args: readonly Buffer[]): BlockingForm {
  return {
    keys: [argument(args, 1)],
    type: 'list',
    timeoutMs: timeoutArgument(args.at(-1)!),
    fills: argument(args, 2),
    only: () => args,
  };
}

const column = { categories: ['list'], group: 'list' };
const popColumn = {
  ...column,
  arity: -3,
  flags: ['write', 'noscript', 'blocking'],
  keys: KEYS_BEFORE_TIMEOUT,
  since: '2.0.0',
  run: runPop,
  blocking: popForm('list'),
} as const;
const moveColumn = {
  ...column,
  flags: ['write', 'denyoom', 'noscript', 'blocking'],
  keys: { first: 1, last: 2, step: 1 },
  run: runMove,
  blocking: moveForm,
} as const;

export const blockingListCommands: readonly Command[] = [
  write({
    ...popColumn,
    name: 'blpop',
    summary: 'Removes the first element of the first list that has any, and waits until one has.',
    parse: parsePop('left'),
  }),
  write({
    ...popColumn,
    name: 'brpop',
    summary: 'Removes the last element of the first list that has any, and waits until one has.',
    parse: parsePop('right'),
  }),
  write({
    ...moveColumn,
    name: 'blmove',
    arity: 6,
    since: '6.2.0',
    summary: 'Moves an element from one list to another, and waits until there is one.',
    parse: (args) => {
      const move = parseMove(args);
      timeoutArgument(argument(args, 5));
      return move;
    },
  }),
  write({
    ...moveColumn,
    name: 'brpoplpush',
    arity: 4,
    since: '2.2.0',
    summary: 'Moves the last element of a list to the head of another, and waits for one.',
    parse: (args) => {
      timeoutArgument(argument(args, 3));
      return parseRpopLpush(args);
    },
  }),
  write({
    ...column,
    name: 'blmpop',
    arity: -5,
    flags: ['write', 'blocking', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: multiPopKeys,
    since: '7.0.0',
    summary: 'Removes elements at an end of the first list that has any, and waits for one.',
    // BLMPOP timeout numkeys key [key ...] LEFT | RIGHT [COUNT count]
    parse: afterTimeout(parseMultiPop),
    run: runMultiPop,
    blocking: multiPopForm('list'),
  }),
];
