/** SORT and SORT_RO: elements of a list, set or sorted set in another order, or what they name. */

import { SteadyList } from '../../../common/steady-list.ts';
import { newCollection } from '../../encoding/collections/collection.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { growEncoding, newShape, pushElement, saveList } from '../../encoding/lists/list.ts';
import {
  isElsewhere,
  lookUpPattern,
  parseSortPattern,
  type SortPattern,
} from '../../encoding/sorting/sort-pattern.ts';
import { sortScore } from '../../encoding/sorting/sort-score.ts';
import { readSortSource, type SortSource } from '../../encoding/sorting/sort-source.ts';
import {
  eachItem,
  GLANCE,
  giveWay,
  isGlanceDue,
  type Slices,
} from '../../encoding/steps/slices.ts';
import { sortStepwise } from '../../encoding/steps/stepwise-sort.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, integer, NULL, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, countArgument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { deleteKey } from '../rows/key-events.ts';

interface SortRequest {
  readonly key: Buffer;
  /** Undefined: by the elements themselves. */
  readonly by: SortPattern | undefined;
  readonly descending: boolean;
  readonly alphabetic: boolean;
  readonly offset: number;
  /** Negative: all. */
  readonly count: number;
  readonly gets: readonly SortPattern[];
  readonly store: Buffer | undefined;
}

/** Lookups and pushes before others get their turn. */
const STEP_ITEMS = 64;
/** Bytes of what GET names between two glances at the clock, and at what is held in memory. */
const GLANCE_BYTES = 1_048_576;

const NO_BYTES = Buffer.alloc(0);
const NOT_A_NUMBER = error("ERR One or more scores can't be converted into double");
const elsewhere = (option: string) =>
  error(
    `ERR ${option} option of SORT denied in cluster mode when keys formed by the pattern may be ` +
      'in different slots.',
  );

/**
 * SORT key [BY pattern] [LIMIT offset count] [GET pattern ...] [ASC | DESC] [ALPHA]
 * [STORE destination]; SORT_RO has no STORE
 */
function parseSort(stores: boolean): (args: readonly Buffer[]) => SortRequest {
  return (args) => {
    let by: SortPattern | undefined;
    let [descending, alphabetic] = [false, false];
    let [offset, count] = [0, -1];
    const gets: SortPattern[] = [];
    let store: Buffer | undefined;
    for (let at = 2; at < args.length; at++) {
      const option = word(argument(args, at));
      const left = args.length - 1 - at;
      if (option === 'asc') descending = false;
      else if (option === 'desc') descending = true;
      else if (option === 'alpha') alphabetic = true;
      else if (option === 'limit' && left >= 2) {
        offset = countArgument(argument(args, ++at));
        count = countArgument(argument(args, ++at));
      } else if (option === 'store' && left >= 1 && stores) store = argument(args, ++at);
      else if (option === 'by' && left >= 1) by = byPattern(by, argument(args, ++at));
      else if (option === 'get' && left >= 1) gets.push(parseSortPattern(argument(args, ++at)));
      else throw syntaxError();
    }
    return { key: argument(args, 1), by, descending, alphabetic, offset, count, gets, store };
  };
}

/** One without a star (`#` too) means "as they are", and then no other BY counts. */
function byPattern(before: SortPattern | undefined, arg: Buffer): SortPattern {
  const pattern = parseSortPattern(arg);
  return before?.kind === 'nothing' || pattern.kind !== 'key' ? { kind: 'nothing' } : pattern;
}

/** Words that follow an option. */
const wordsAfter: ReadonlyMap<string, number> = new Map([
  ...(['asc', 'desc', 'alpha'] as const).map((name) => [name, 0] as const),
  ...(['by', 'get', 'store'] as const).map((name) => [name, 1] as const),
  ['limit', 2],
]);

function sortKeys(args: readonly Buffer[]): readonly Buffer[] {
  let store: Buffer | undefined;
  for (let at = 2; at < args.length; at++) {
    const option = word(argument(args, at));
    if (option === 'store') store = args[at + 1] ?? store;
    at += wordsAfter.get(option) ?? 0;
  }
  return [...args.slice(1, 2), ...(store === undefined ? [] : [store])];
}

/**
 * The first option by which SORT reads keys that are known only while it runs: BY with a pattern, or
 * GET. Undefined also where the syntax is wrong before one.
 */
export function sortReadsBy(args: readonly Buffer[]): 'BY' | 'GET' | undefined {
  for (let at = 2; at < args.length; at++) {
    const option = word(argument(args, at));
    const more = wordsAfter.get(option);
    if (more === undefined || at + more >= args.length) return undefined;
    if (option === 'get') return 'GET';
    if (option === 'by' && argument(args, at + 1).includes('*')) return 'BY';
    at += more;
  }
  return undefined;
}

function runSortRo(view: View, request: SortRequest, context: RunContext): RunResult {
  const source = readSortSource(view, request.key, context.nowMs);
  if (source === 'wrong-type') return WRONG_TYPE;
  return atOnce(sortReply(view, source, request, context));
}

function runSort(view: WriteView, request: SortRequest, context: RunContext): RunResult {
  const source = readSortSource(view, request.key, context.nowMs);
  if (source === 'wrong-type') return WRONG_TYPE;
  const { store } = request;
  return atOnce(
    store === undefined
      ? sortReply(view, source, request, context)
      : sortStore(view, source, { ...request, store }, context),
  );
}

function* sortReply(
  view: View,
  source: SortSource | undefined,
  request: SortRequest,
  context: RunContext,
): Slices<Reply> {
  const pile = new ReplyPile('array', 'LIMIT, or STORE and LRANGE');
  const elements = yield* sortedElements(view, source, request, context);
  if ('kind' in elements) return elements;
  const refused = yield* eachValue(view, elements, request, context, (value) => {
    pile.add(value === undefined ? NULL : bulk(value));
  });
  return refused ?? pile.reply();
}

/**
 * What GET names is stored as it is read: a few elements may name gigabytes, which every replica would hold in
 * memory. Elements of a new list leave it while the command runs (`early-elements.ts`); so what is refused
 * has to be before the first.
 */
function* sortStore(
  view: WriteView,
  source: SortSource | undefined,
  request: SortRequest & { readonly store: Buffer },
  context: RunContext,
): Slices<Reply> {
  const elements = yield* sortedElements(view, source, request, context);
  if ('kind' in elements) return elements;
  if (yield* namesElsewhere(elements, request, context)) return elsewhere('GET');
  const target = findKey(view, request.store, context.nowMs);
  if (elements.length === 0) {
    deleteKey(view, target);
    return integer(0);
  }
  const list = { ...newCollection(view, target, 'list'), shape: newShape() };
  yield* eachValue(view, elements, request, context, (value) => {
    pushElement(view, list, 'right', value ?? NO_BYTES);
  });
  growEncoding(list, []);
  saveList(view, list);
  view.notify?.('list', 'sortstore', target.key);
  return integer(list.size);
}

function* namesElsewhere(
  elements: Iterable<Buffer>,
  { gets }: SortRequest,
  context: RunContext,
): Slices<boolean> {
  const named = gets.filter(({ kind }) => kind === 'key');
  if (named.length === 0) return false;
  let done = 0;
  for (const element of elements) {
    for (const pattern of named) {
      if (++done % STEP_ITEMS === 0) yield* giveWay();
      if (isElsewhere(pattern, element, context)) return true;
    }
  }
  return false;
}

/**
 * Gives what the reply or the stored list is made of, one by one, so that a reply that grows too
 * large ends the lookups; undefined: a key that is not there. Returns why there is none of it.
 */
function* eachValue(
  view: View,
  elements: Iterable<Buffer>,
  request: SortRequest,
  context: RunContext,
  give: (value: Buffer | undefined) => void,
): Slices<Reply | undefined> {
  if (request.gets.length === 0) {
    yield* eachItem(elements, (element) => give(element));
    return undefined;
  }
  let done = 0;
  let bytes = 0;
  for (const element of elements) {
    for (const pattern of request.gets) {
      if (done % STEP_ITEMS === STEP_ITEMS - 1) yield* giveWay();
      else if (isGlanceDue(done) || bytes >= GLANCE_BYTES) {
        yield GLANCE;
        bytes = 0;
      }
      const value = lookUpPattern(view, pattern, element, context);
      if (value === 'elsewhere') return elsewhere('GET');
      give(value);
      bytes += value?.length ?? 0;
      done++;
    }
  }
  return undefined;
}

interface Unit {
  readonly element: Buffer;
  readonly score: number;
  /** Undefined: the key that BY names is not there; it goes first. */
  readonly text: Buffer | undefined;
}

function* sortedElements(
  view: View,
  source: SortSource | undefined,
  request: SortRequest,
  context: RunContext,
): Slices<SteadyList<Buffer> | Reply> {
  if (source === undefined) return new SteadyList();
  const { size } = source;
  const first = Math.min(Math.max(request.offset, 0), size);
  const count = Math.min(request.count < 0 ? size : request.count, size - first);
  if (request.by?.kind === 'nothing') {
    // what is stored must not depend on the order that a set is kept in
    if (source.type !== 'set' || request.store === undefined) {
      return yield* elementsAsTheyAre(source, request.descending, first, count);
    }
  }
  const sorts =
    request.by?.kind === 'nothing' ? { ...request, by: undefined, alphabetic: true } : request;
  const units = yield* weighElements(view, source, sorts, context);
  if ('kind' in units) return units;
  const compare = comparison(sorts);
  const sorted = yield* sortStepwise(units, compare, giveWay);
  const elements = new SteadyList<Buffer>();
  yield* eachItem(sorted.items(first, first + count), ({ element }) => void elements.push(element));
  return elements;
}

function* elementsAsTheyAre(
  source: SortSource,
  descending: boolean,
  skip: number,
  count: number,
): Slices<SteadyList<Buffer>> {
  const elements = new SteadyList<Buffer>();
  const from = descending && source.type !== 'set' ? 'right' : 'left';
  yield* source.walk({ from, skip, count }, (element) => elements.push(element));
  return elements;
}

function* weighElements(
  view: View,
  source: SortSource,
  { by, alphabetic }: SortRequest,
  context: RunContext,
): Slices<SteadyList<Unit> | Reply> {
  const units = new SteadyList<Unit>();
  let refused: Reply | undefined;
  yield* source.walk({ from: 'left', skip: 0, count: source.size }, (element) => {
    const text = by === undefined ? element : lookUpPattern(view, by, element, context);
    if (text === 'elsewhere') {
      refused ??= elsewhere('BY');
      return;
    }
    const score = alphabetic || text === undefined ? 0 : sortScore(text);
    if (score === undefined) refused ??= NOT_A_NUMBER;
    else units.push({ element, score, text });
  });
  return refused ?? units;
}

function comparison({ alphabetic, descending }: SortRequest): (a: Unit, b: Unit) => number {
  const compare = alphabetic ? compareTexts : compareScores;
  return descending ? (a, b) => -compare(a, b) : compare;
}

function compareTexts({ text: a }: Unit, { text: b }: Unit): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  return a.compare(b);
}

function compareScores(a: Unit, b: Unit): number {
  if (a.score !== b.score) return a.score < b.score ? -1 : 1;
  return a.element.compare(b.element);
}

const column = {
  categories: ['set', 'sortedset', 'list', 'dangerous'],
  group: 'generic',
  arity: -2,
  keys: FIRST_KEY,
};

export const sortCommands: readonly Command[] = [
  write({
    ...column,
    name: 'sort',
    flags: ['write', 'denyoom', 'movablekeys'],
    keysOf: sortKeys,
    since: '1.0.0',
    summary: 'Sorts the elements of a list, a set or a sorted set, and stores them if asked to.',
    parse: parseSort(true),
    run: runSort,
  }),
  read({
    ...column,
    name: 'sort_ro',
    flags: ['readonly', 'movablekeys'],
    since: '7.0.0',
    summary: 'Returns the sorted elements of a list, a set or a sorted set.',
    parse: parseSort(false),
    run: runSortRo,
  }),
];
