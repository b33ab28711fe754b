/** Lists by index and by element: LINDEX, LRANGE, LSET, LREM, LTRIM, LINSERT. */
import { limits } from '../../../common/limits.ts';
import { SteadyList } from '../../../common/steady-list.ts';
import { removeKey } from '../../encoding/keyspace/keyspace.ts';
import {
  decodeElement,
  growEncoding,
  type List,
  type ListEnd,
  type OpenList,
  openList,
  putElement,
  readList,
  saveList,
  shrinkEncoding,
} from '../../encoding/lists/list.ts';
import { insertBeside, removeEqual, trimList } from '../../encoding/lists/list-edit.ts';
import { elementsBetween, keyOfIndex, nearest, walkList } from '../../encoding/lists/list-walk.ts';
import { listpackEntryBytes } from '../../encoding/lists/listpack-size.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, EMPTY_ARRAY, error, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { ReplyPile, replyTooLarge } from '../../resp/reply-pile.ts';
import {
  argument,
  countArgument,
  NO_SUCH_KEY,
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
  write,
} from '../rows/command.ts';
import { tellChange } from '../rows/key-events.ts';

const INDEX_OUT_OF_RANGE = error('ERR index out of range');

interface Indexed {
  readonly key: Buffer;
  /** Looked at when the list is there: Redis's order. */
  readonly index: Buffer;
}

/** The index from the left, possibly beyond the list; or what Redis answers. */
function indexOf(arg: Buffer, size: number): number | Reply {
  try {
    const index = countArgument(arg);
    return index < 0 ? size + index : index;
  } catch (failure) {
    if (failure instanceof ArgumentError) return error(failure.message);
    throw failure;
  }
}

/** LINDEX key index */
function runIndex(view: View, { key, index: arg }: Indexed, { nowMs }: RunContext): RunResult {
  const list = readList(view, key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  if (list === undefined) return NULL;
  const index = indexOf(arg, list.size);
  if (typeof index !== 'number') return index;
  if (index < 0 || index >= list.size) return NULL;
  return atOnce(elementAt(view, list, index));
}

function* elementAt(view: View, list: List, index: number): Slices<Reply> {
  const [element] = yield* elementsBetween(view, list, [index, index], bulk);
  return element!;
}

interface Range {
  readonly key: Buffer;
  readonly first: number;
  readonly last: number;
}

/** LRANGE key start stop, LTRIM key start stop */
function parseRange(args: readonly Buffer[]): Range {
  return {
    key: argument(args, 1),
    first: countArgument(argument(args, 2)),
    last: countArgument(argument(args, 3)),
  };
}

/** The indices that a range means in a list of `size`; undefined when it is empty. */
function clampRange({ first, last }: Range, size: number): [number, number] | undefined {
  const from = first < 0 ? Math.max(0, size + first) : first;
  const to = last < 0 ? size + last : Math.min(last, size - 1);
  return from > to ? undefined : [from, to];
}

function runRange(view: View, range: Range, { nowMs }: RunContext): RunResult {
  const list = readList(view, range.key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  const indices = list && clampRange(range, list.size);
  if (indices === undefined) return EMPTY_ARRAY;
  return atOnce(elementsReply(view, list!, indices));
}

function* elementsReply(view: View, list: List, indices: readonly [number, number]): Slices<Reply> {
  const [first, last] = indices;
  const pile = new ReplyPile('array', 'smaller ranges');
  let bytes = 0;
  // bytes are counted as they come; from the right end they are piled up afterwards
  const walk = list.shape.sparse
    ? nearest(list, first, last - first + 1)
    : ({ from: 'left', skip: first, count: last - first + 1 } as const);
  const behind = new SteadyList<Buffer>();
  yield* walkList(view, list, walk, (element) => {
    if (walk.from === 'left') {
      pile.add(bulk(element));
      return true;
    }
    bytes += element.length;
    if (bytes > limits.replyBytesMax) throw replyTooLarge('smaller ranges');
    behind.push(element);
    return true;
  });
  yield* eachItem(behind.backwards(), (element) => pile.add(bulk(element)));
  return pile.reply();
}

interface Replacement extends Indexed {
  readonly element: Buffer;
}

/** LSET key index element */
function runSet(
  view: WriteView,
  { key, index: arg, element }: Replacement,
  { nowMs }: RunContext,
): RunResult {
  const list = openList(view, key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  if (list.size === 0) return NO_SUCH_KEY;
  const index = indexOf(arg, list.size);
  if (typeof index !== 'number') return index;
  if (index < 0 || index >= list.size) return INDEX_OUT_OF_RANGE;
  return atOnce(replaceElement(view, list, index, element));
}

function* replaceElement(
  view: WriteView,
  list: OpenList,
  index: number,
  element: Buffer,
): Slices<Reply> {
  const at = yield* keyOfIndex(view, list, index);
  const before = decodeElement(at, view.get(at)!);
  growEncoding(list, [element]);
  list.shape.listpackBytes += listpackEntryBytes(element) - listpackEntryBytes(before);
  putElement(view, at, element);
  shrinkEncoding(list);
  saveList(view, list);
  view.notify?.('list', 'lset', list.found.key);
  return OK;
}

interface Removal {
  readonly key: Buffer;
  readonly from: ListEnd;
  readonly count: number;
  readonly element: Buffer;
}

/** LREM key count element: a negative count begins at the tail, 0 means all. */
function parseRemoval(args: readonly Buffer[]): Removal {
  const count = countArgument(argument(args, 2));
  return {
    key: argument(args, 1),
    from: count < 0 ? 'right' : 'left',
    count: count === 0 ? Number.POSITIVE_INFINITY : Math.abs(count),
    element: argument(args, 3),
  };
}

function runRem(view: WriteView, removal: Removal, { nowMs }: RunContext): RunResult {
  const list = openList(view, removal.key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  if (list.size === 0) return integer(0);
  return atOnce(remove(view, list, removal));
}

function* remove(view: WriteView, list: OpenList, removal: Removal): Slices<Reply> {
  const { found, size } = list;
  const removed = yield* removeEqual(view, list, removal, removal.element);
  if (removed > 0) tellChange(view, 'list', 'lrem', { found, size: size - removed });
  return integer(removed);
}

function runTrim(view: WriteView, range: Range, { nowMs }: RunContext): RunResult {
  const list = openList(view, range.key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  if (list.size === 0) return OK;
  const indices = clampRange(range, list.size);
  if (indices === undefined) {
    removeKey(view, list.found);
    tellChange(view, 'list', 'ltrim', { found: list.found, size: 0 });
    return OK;
  }
  return atOnce(trim(view, list, indices));
}

function* trim(
  view: WriteView,
  list: OpenList,
  [first, last]: readonly [number, number],
): Slices<Reply> {
  yield* trimList(view, list, first, last);
  view.notify?.('list', 'ltrim', list.found.key);
  return OK;
}

interface Insertion {
  readonly key: Buffer;
  readonly side: 'before' | 'after';
  readonly pivot: Buffer;
  readonly element: Buffer;
}

/** LINSERT key BEFORE | AFTER pivot element */
function parseInsertion(args: readonly Buffer[]): Insertion {
  const side = word(argument(args, 2));
  if (side !== 'before' && side !== 'after') throw syntaxError();
  return { key: argument(args, 1), side, pivot: argument(args, 3), element: argument(args, 4) };
}

function runInsert(view: WriteView, insertion: Insertion, { nowMs }: RunContext): RunResult {
  const list = openList(view, insertion.key, nowMs);
  if (list === 'wrong-type') return WRONG_TYPE;
  if (list.size === 0) return integer(0);
  return atOnce(insert(view, list, insertion));
}

function* insert(view: WriteView, list: OpenList, insertion: Insertion): Slices<Reply> {
  const size = yield* insertBeside(view, list, insertion, insertion.element);
  if (size > 0) view.notify?.('list', 'linsert', list.found.key);
  return integer(size);
}

const column = { categories: ['list'], group: 'list', keys: FIRST_KEY };

export const listRangeCommands: readonly Command[] = [
  read({
    ...column,
    name: 'lindex',
    arity: 3,
    flags: ['readonly'],
    since: '1.0.0',
    summary: 'Returns an element of a list by its index.',
    parse: (args) => ({ key: argument(args, 1), index: argument(args, 2) }),
    run: runIndex,
  }),
  read({
    ...column,
    name: 'lrange',
    arity: 4,
    flags: ['readonly'],
    since: '1.0.0',
    summary: 'Returns a range of elements of a list.',
    parse: parseRange,
    run: runRange,
  }),
  write({
    ...column,
    name: 'lset',
    arity: 4,
    flags: ['write', 'denyoom'],
    since: '1.0.0',
    summary: 'Replaces an element of a list by its index.',
    parse: (args) => ({
      key: argument(args, 1),
      index: argument(args, 2),
      element: argument(args, 3),
    }),
    run: runSet,
  }),
  write({
    ...column,
    name: 'lrem',
    arity: 4,
    flags: ['write'],
    since: '1.0.0',
    summary: 'Removes elements that equal a value from a list.',
    parse: parseRemoval,
    run: runRem,
  }),
  write({
    ...column,
    name: 'ltrim',
    arity: 4,
    flags: ['write'],
    since: '1.0.0',
    summary: 'Removes all elements of a list outside a range.',
    parse: parseRange,
    run: runTrim,
  }),
  write({
    ...column,
    name: 'linsert',
    arity: 5,
    flags: ['write', 'denyoom'],
    since: '2.2.0',
    summary: 'Inserts an element before or after another one of a list.',
    parse: parseInsertion,
    run: runInsert,
  }),
];
