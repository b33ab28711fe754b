/** Keys whatever their type: DEL, EXISTS, TYPE, RENAME, COPY. */
import { slotOfKey } from '../../../common/hash.ts';
import { placeValue } from '../../encoding/collections/collection.ts';
import { findKey, giveUpKey, outlineKey, removeKey } from '../../encoding/keyspace/keyspace.ts';
import { typeNameOf } from '../../encoding/records/header.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { error, integer, OK, type Reply } from '../../resp/reply.ts';
import { argument, intArgument, NO_SUCH_KEY, syntaxError, word } from '../rows/args.ts';
import {
  ALL_KEYS,
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inWeighedSteps, weightOf } from '../rows/in-steps.ts';
import { deleteKey } from '../rows/key-events.ts';

function parseKeys(args: readonly Buffer[]): readonly Buffer[] {
  return args.slice(1);
}

/** DEL key [key ...], UNLINK key [key ...] */
function runDel(view: WriteView, keys: readonly Buffer[], { nowMs }: RunContext): RunResult {
  let removed = 0;
  const remove = (key: Buffer) => {
    const outline = outlineKey(view, key, nowMs);
    if (deleteKey(view, outline)) removed++;
    return weightOf(outline);
  };
  return inWeighedSteps(keys, remove, () => integer(removed));
}

/** EXISTS key [key ...], TOUCH key [key ...] */
function runExists(view: View, keys: readonly Buffer[], { nowMs }: RunContext): RunResult {
  let found = 0;
  const find = (key: Buffer) => {
    const there = findKey(view, key, nowMs);
    if (there.live) found++;
    return weightOf(there);
  };
  return inWeighedSteps(keys, find, () => integer(found));
}

/** TYPE key */
function runType(view: View, key: Buffer, { nowMs }: RunContext): Reply {
  return { kind: 'simple', text: typeNameOf(findKey(view, key, nowMs).live?.type) };
}

interface Move {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly replace: boolean;
}

function parseMove(replace: boolean): (args: readonly Buffer[]) => Move {
  return (args) => ({ from: argument(args, 1), to: argument(args, 2), replace });
}

/** RENAME key newkey */
function runRename(view: WriteView, move: Move, { nowMs }: RunContext): RunResult {
  return rename(view, move, nowMs, () => OK);
}

/** RENAMENX key newkey */
function runRenameNx(view: WriteView, move: Move, { nowMs }: RunContext): RunResult {
  return rename(view, move, nowMs, (moved) => integer(moved ? 1 : 0));
}

function* rename(
  view: WriteView,
  { from, to, replace }: Move,
  nowMs: number,
  replyOf: (moved: boolean) => Reply,
): Slices<Reply> {
  const source = findKey(view, from, nowMs);
  const { live } = source;
  if (!live) return NO_SUCH_KEY;
  if (from.equals(to)) return replyOf(replace);
  const target = findKey(view, to, nowMs);
  if (target.live && !replace) return replyOf(false);
  if (slotOfKey(from) === slotOfKey(to)) giveUpKey(view, source, live);
  else removeKey(view, source);
  yield* placeValue(view, target, live, { key: from, givenUp: true });
  if (target.live) view.notify?.('new', 'new', to);
  view.notify?.('generic', 'rename_from', from);
  view.notify?.('generic', 'rename_to', to);
  return replyOf(true);
}

/** COPY source destination [DB destination-db] [REPLACE] */
function parseCopy(args: readonly Buffer[]): Move {
  let replace = false;
  for (let at = 3; at < args.length; at++) {
    const option = word(argument(args, at));
    if (option === 'replace') {
      replace = true;
    } else if (option === 'db' && at + 1 < args.length) {
      if (intArgument(argument(args, ++at)) !== 0)
        throw new ArgumentError('ERR DB index is out of range');
    } else {
      throw syntaxError();
    }
  }
  return { from: argument(args, 1), to: argument(args, 2), replace };
}

const SAME_OBJECT = error('ERR source and destination objects are the same');

function* runCopy(
  view: WriteView,
  { from, to, replace }: Move,
  { nowMs }: RunContext,
): Slices<Reply> {
  if (from.equals(to)) return SAME_OBJECT;
  const { live } = findKey(view, from, nowMs);
  const target = findKey(view, to, nowMs);
  if (!live || (target.live && !replace)) return integer(0);
  yield* placeValue(view, target, live, { key: from, givenUp: false });
  if (target.live) view.notify?.('new', 'new', to);
  view.notify?.('generic', 'copy_to', to);
  return integer(1);
}

const TWO_KEYS = { first: 1, last: 2, step: 1 };
const column = { categories: ['keyspace'], group: 'generic' };
const overKeys = {
  ...column,
  arity: -2,
  keys: ALL_KEYS,
  fanOut: { over: 'keys', merge: 'sum' },
  parse: parseKeys,
} as const;

export const keyCommands: readonly Command[] = [
  write({
    ...overKeys,
    name: 'del',
    flags: ['write'],
    since: '1.0.0',
    summary: 'Deletes one or more keys.',
    run: runDel,
  }),
  write({
    ...overKeys,
    name: 'unlink',
    flags: ['write', 'fast'],
    since: '4.0.0',
    summary: 'Asynchronously deletes one or more keys.',
    run: runDel,
  }),
  read({
    ...overKeys,
    name: 'exists',
    flags: ['readonly', 'fast'],
    since: '1.0.0',
    summary: 'Determines whether one or more keys exist.',
    run: runExists,
  }),
  read({
    ...overKeys,
    name: 'touch',
    flags: ['readonly', 'fast'],
    since: '3.2.1',
    summary: 'Returns the number of existing keys out of those specified.',
    run: runExists,
  }),
  read({
    ...column,
    name: 'type',
    arity: 2,
    flags: ['readonly', 'fast'],
    keys: FIRST_KEY,
    since: '1.0.0',
    summary: 'Determines the type of value stored at a key.',
    singlePoint: true,
    parse: (args) => argument(args, 1),
    run: runType,
  }),
  write({
    ...column,
    name: 'rename',
    arity: 3,
    flags: ['write'],
    keys: TWO_KEYS,
    since: '1.0.0',
    summary: 'Renames a key and overwrites the destination.',
    parse: parseMove(true),
    run: runRename,
  }),
  write({
    ...column,
    name: 'renamenx',
    arity: 3,
    flags: ['write', 'fast'],
    keys: TWO_KEYS,
    since: '1.0.0',
    summary: 'Renames a key only when the target key name doesn’t exist.',
    parse: parseMove(false),
    run: runRenameNx,
  }),
  write({
    ...column,
    name: 'copy',
    arity: -3,
    flags: ['write', 'denyoom'],
    keys: TWO_KEYS,
    since: '6.2.0',
    summary: 'Copies the value of a key to a new key.',
    parse: parseCopy,
    run: runCopy,
  }),
];
