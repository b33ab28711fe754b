/**
 * Sets together: SINTER, SUNION, SDIFF, their *STORE forms and SINTERCARD.
 *
 * Members of one set come in slices and are looked up in the others. A *STORE form writes the
 * result as it finds it: elements of the old value stay readable until the entry ends, so the
 * target may be among the sources.
 */

import type { Collection } from '../../encoding/collections/collection.ts';
import { eachPair, type Take } from '../../encoding/collections/member-walk.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import {
  addMember,
  decodeMember,
  hasMember,
  membersOf,
  newSet,
  readSet,
  saveSet,
} from '../../encoding/sets/set.ts';
import { eachItem, type Slices, someItem, workOnEach } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, integer, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, countArgument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ALL_KEYS,
  ArgumentError,
  type Command,
  NO_KEYS,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { deleteKey } from '../rows/key-events.ts';

/** The sets under several keys; undefined where there is none. */
type Sources = readonly (Collection | undefined)[];

/** Gives each member of a result once, in slices, until `take` returns true. */
type Operation = (view: View, sources: Sources, take: Take<Buffer>) => Slices<void>;

interface Store {
  readonly target: Buffer;
  readonly keys: readonly Buffer[];
}

interface CardRequest {
  readonly keys: readonly Buffer[];
  /** Counting ends there; 0: never. */
  readonly limit: number;
}

function* readSources(
  view: View,
  keys: readonly Buffer[],
  nowMs: number,
): Slices<Sources | 'wrong-type'> {
  const sources: (Collection | undefined)[] = [];
  let wrongType = false;
  yield* eachItem(keys, (key) => {
    const set = readSet(view, key, nowMs);
    if (set === 'wrong-type') wrongType = true;
    else sources.push(set);
  });
  return wrongType ? 'wrong-type' : sources;
}

/** Members of the smallest set that all others have. */
function* intersect(view: View, sources: Sources, take: Take<Buffer>): Slices<void> {
  const sets = sources.filter((set) => set !== undefined);
  if (sets.length < sources.length) return;
  const [smallest, ...others] = sets.sort((a, b) => a.size - b.size);
  yield* eachLookedUp(smallest!, function* (member) {
    if (yield* someItem(others, (set) => !hasMember(view, set, member))) return false;
    return take(member);
  });
}

/** Members of the first set that no other has. */
function* subtract(view: View, [first, ...rest]: Sources, take: Take<Buffer>): Slices<void> {
  if (first === undefined) return;
  const others = rest.filter((set) => set !== undefined);
  yield* eachLookedUp(first, function* (member) {
    if (yield* someItem(others, (set) => hasMember(view, set, member))) return false;
    return take(member);
  });
}

/** Members of each set that no earlier one has. */
function* unite(view: View, sources: Sources, take: Take<Buffer>): Slices<void> {
  const earlier: Collection[] = [];
  for (const set of sources) {
    if (set === undefined) continue;
    yield* eachLookedUp(set, function* (member) {
      if (yield* someItem(earlier, (other) => hasMember(view, other, member))) return false;
      return take(member);
    });
    earlier.push(set);
  }
}

/** Members of every set, those of several of them as often: what they are stored in has each once. */
function* uniteAll(_view: View, sources: Sources, take: Take<Buffer>): Slices<void> {
  for (const set of sources) if (set !== undefined) yield* eachMember(set, take);
}

function* eachMember(set: Collection, take: Take<Buffer>): Slices<void> {
  yield* eachPair(membersOf(set).range, ([key]) => take(decodeMember(key)));
}

/** The same where each member is looked up in other sets, of which there may be many. */
function eachLookedUp(set: Collection, work: (member: Buffer) => Slices<unknown>): Slices<void> {
  return workOnEach<Buffer>((take) => eachMember(set, take), work);
}

/** SINTER key [key ...], SUNION, SDIFF likewise */
function runRead(operation: Operation) {
  return (view: View, keys: readonly Buffer[], { nowMs }: RunContext): RunResult => {
    return atOnce(gather(operation, view, keys, nowMs));
  };
}

function* gather(
  operation: Operation,
  view: View,
  keys: readonly Buffer[],
  nowMs: number,
): Slices<Reply> {
  const sources = yield* readSources(view, keys, nowMs);
  if (sources === 'wrong-type') return WRONG_TYPE;
  const pile = new ReplyPile('set', 'a form that stores the result, and SSCAN');
  yield* operation(view, sources, (member) => {
    pile.add(bulk(member));
  });
  return pile.reply();
}

/** SINTERSTORE destination key [key ...], SUNIONSTORE, SDIFFSTORE likewise */
function runStore(operation: Operation, event: string) {
  return (view: WriteView, request: Store, { nowMs }: RunContext): RunResult =>
    atOnce(store(operation, view, request, { event, nowMs }));
}

function* store(
  operation: Operation,
  view: WriteView,
  { target, keys }: Store,
  { event, nowMs }: { readonly event: string; readonly nowMs: number },
): Slices<Reply> {
  const sources = yield* readSources(view, keys, nowMs);
  if (sources === 'wrong-type') return WRONG_TYPE;
  const found = findKey(view, target, nowMs);
  const result = newSet(view, found);
  yield* operation(view, sources, (member) => {
    addMember(view, result, member);
  });
  const { size } = result.collection;
  if (size === 0) deleteKey(view, found);
  else {
    saveSet(view, result);
    view.notify?.('set', event, found.key);
  }
  return integer(size);
}

/** SINTERCARD numkeys key [key ...] [LIMIT limit] */
function parseCard(args: readonly Buffer[]): CardRequest {
  const tooFew = 'ERR numkeys should be greater than 0';
  const count = countArgument(argument(args, 1), tooFew);
  if (count < 1) throw new ArgumentError(tooFew);
  if (count > args.length - 2) {
    throw new ArgumentError("ERR Number of keys can't be greater than number of args");
  }
  let limit = 0;
  for (let at = 2 + count; at < args.length; at += 2) {
    if (word(argument(args, at)) !== 'limit' || at + 1 >= args.length) throw syntaxError();
    const negative = "ERR LIMIT can't be negative";
    limit = countArgument(argument(args, at + 1), negative);
    if (limit < 0) throw new ArgumentError(negative);
  }
  return { keys: args.slice(2, 2 + count), limit };
}

function cardKeys(args: readonly Buffer[]): readonly Buffer[] {
  const count = args[1] === undefined ? 0 : Number(args[1].toString('latin1'));
  return Number.isSafeInteger(count) && count > 0 ? args.slice(2, 2 + count) : [];
}

function runCard(view: View, request: CardRequest, { nowMs }: RunContext): RunResult {
  return atOnce(countShared(view, request, nowMs));
}

function* countShared(view: View, { keys, limit }: CardRequest, nowMs: number): Slices<Reply> {
  const sources = yield* readSources(view, keys, nowMs);
  if (sources === 'wrong-type') return WRONG_TYPE;
  let count = 0;
  yield* intersect(view, sources, () => ++count === limit);
  return integer(count);
}

function parseStore(args: readonly Buffer[]): Store {
  return { target: argument(args, 1), keys: args.slice(2) };
}

const column = { categories: ['set'], group: 'set', keys: ALL_KEYS, since: '1.0.0' };
const readRow = {
  ...column,
  arity: -2,
  flags: ['readonly'],
  gathers: ['set'],
  parse: (args: readonly Buffer[]) => args.slice(1),
} as const;
const storeRow = {
  ...column,
  arity: -3,
  flags: ['write', 'denyoom'],
  parse: parseStore,
} as const;

export const setAlgebraCommands: readonly Command[] = [
  read({
    ...readRow,
    name: 'sinter',
    summary: 'Returns the members that all of the sets have.',
    run: runRead(intersect),
  }),
  read({
    ...readRow,
    name: 'sunion',
    summary: 'Returns the members that any of the sets has.',
    run: runRead(unite),
  }),
  read({
    ...readRow,
    name: 'sdiff',
    summary: 'Returns the members of the first set that none of the others has.',
    run: runRead(subtract),
  }),
  write({
    ...storeRow,
    name: 'sinterstore',
    summary: 'Stores the members that all of the sets have under a key.',
    run: runStore(intersect, 'sinterstore'),
  }),
  write({
    ...storeRow,
    name: 'sunionstore',
    summary: 'Stores the members that any of the sets has under a key.',
    run: runStore(uniteAll, 'sunionstore'),
  }),
  write({
    ...storeRow,
    name: 'sdiffstore',
    summary: 'Stores the members of the first set that none of the others has under a key.',
    run: runStore(subtract, 'sdiffstore'),
  }),
  read({
    ...column,
    name: 'sintercard',
    arity: -3,
    flags: ['readonly', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: cardKeys,
    gathers: ['set'],
    since: '7.0.0',
    summary: 'Returns how many members all of the sets have.',
    parse: parseCard,
    run: runCard,
  }),
];
