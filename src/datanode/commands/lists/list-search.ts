/** LPOS: where elements of a list stand that equal a value. */
import { SteadyList } from '../../../common/steady-list.ts';
import { type List, type ListEnd, readList } from '../../encoding/lists/list.ts';
import { walkList } from '../../encoding/lists/list-walk.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import { INT64_MIN } from '../../encoding/strings/string.ts';
import type { View } from '../../encoding/txn/view.ts';
import { EMPTY_ARRAY, integer, NULL, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import {
  argument,
  countArgument,
  integerArgument,
  syntaxError,
  WRONG_TYPE,
  word,
} from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
} from '../rows/command.ts';

interface Search {
  readonly key: Buffer;
  readonly element: Buffer;
  readonly from: ListEnd;
  /** The first match that counts, from 1. */
  readonly rank: number;
  /** Undefined: one, and the reply is no array. 0: all. */
  readonly count: number | undefined;
  /** Elements looked at. */
  readonly lengthMax: number;
}

const RANK_ZERO =
  "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... " +
  'or use negative to start from the end of the list';
const RANK_LOWEST =
  'ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807';

/** LPOS key element [RANK rank] [COUNT matches] [MAXLEN length] */
function parseSearch(args: readonly Buffer[]): Search {
  let rank = 1;
  let count: number | undefined;
  let lengthMax = 0;
  for (let at = 3; at < args.length; at += 2) {
    const option = word(argument(args, at));
    if (at + 1 >= args.length) throw syntaxError();
    const value = argument(args, at + 1);
    if (option === 'rank') rank = rankArgument(value);
    else if (option === 'count') count = notNegative(value, 'COUNT');
    else if (option === 'maxlen') lengthMax = notNegative(value, 'MAXLEN');
    else throw syntaxError();
  }
  return {
    key: argument(args, 1),
    element: argument(args, 2),
    from: rank < 0 ? 'right' : 'left',
    rank: Math.abs(rank),
    count,
    lengthMax: lengthMax === 0 ? Number.POSITIVE_INFINITY : lengthMax,
  };
}

function rankArgument(arg: Buffer): number {
  if (integerArgument(arg) === INT64_MIN) throw new ArgumentError(RANK_LOWEST);
  const rank = countArgument(arg);
  if (rank === 0) throw new ArgumentError(RANK_ZERO);
  return rank;
}

function notNegative(arg: Buffer, name: string): number {
  const message = `ERR ${name} can't be negative`;
  const value = countArgument(arg, message);
  if (value < 0) throw new ArgumentError(message);
  return value;
}

function runPos(view: View, search: Search, { nowMs }: RunContext): RunResult {
  const list = readList(view, search.key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  if (list === undefined) return search.count === undefined ? NULL : EMPTY_ARRAY;
  return atOnce(searchList(view, list, search));
}

function* searchList(view: View, list: List, search: Search): Slices<Reply> {
  const { element, from, rank, count, lengthMax } = search;
  const wanted = count === 0 ? Number.POSITIVE_INFINITY : (count ?? 1);
  const found = new SteadyList<number>();
  let matches = 0;
  yield* walkList(view, list, { from, skip: 0, count: lengthMax }, (each, _at, index) => {
    if (each.equals(element) && ++matches >= rank) found.push(index);
    return found.length < wanted;
  });
  if (count === undefined) return found.length > 0 ? integer(found.at(0)!) : NULL;
  const pile = new ReplyPile('array', 'a smaller COUNT');
  yield* eachItem(found, (index) => pile.add(integer(index)));
  return pile.reply();
}

export const listSearchCommands: readonly Command[] = [
  read({
    categories: ['list'],
    group: 'list',
    keys: FIRST_KEY,
    name: 'lpos',
    arity: -3,
    flags: ['readonly'],
    since: '6.0.6',
    summary: 'Returns the indices of elements of a list that equal a value.',
    parse: parseSearch,
    run: runPos,
  }),
];
