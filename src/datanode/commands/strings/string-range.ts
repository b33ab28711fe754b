/** Parts of strings: APPEND, STRLEN, GETRANGE, SETRANGE. */
import { limits } from '../../../common/limits.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import {
  patchString,
  readString,
  sliceString,
  storeString,
} from '../../encoding/strings/string.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, integer, type Reply } from '../../resp/reply.ts';
import { argument, countArgument, integerArgument, TOO_LONG, WRONG_TYPE } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  read,
  write,
} from '../rows/command.ts';

const EMPTY = Buffer.alloc(0);
/** What this keeps is no more than a small value would. */
const ALONE_BYTES = 4_096;

/** APPEND key value */
function runAppend(
  view: WriteView,
  [key, tail]: readonly [Buffer, Buffer],
  { nowMs }: RunContext,
): Reply {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (!live) {
    storeString(view, found, tail, 0);
    view.notify?.('string', 'append', key);
    return integer(tail.length);
  }
  if (live.type !== 'string') return WRONG_TYPE;
  const length = live.body.length + tail.length;
  if (length > limits.valueBytesMax) return TOO_LONG;
  storeString(view, found, Buffer.concat([live.body, tail]), live.deadlineMs, 'edited');
  view.notify?.('string', 'append', key);
  return integer(length);
}

/** STRLEN key */
function runStrlen(view: View, key: Buffer, { nowMs }: RunContext): Reply {
  const found = readString(view, key, nowMs);
  return found === 'wrong-type' ? WRONG_TYPE : integer(found?.length ?? 0);
}

interface Slice {
  readonly key: Buffer;
  readonly start: number | bigint;
  readonly end: number | bigint;
}

/** GETRANGE key start end, SUBSTR key start end */
function parseSlice(args: readonly Buffer[]): Slice {
  return {
    key: argument(args, 1),
    start: integerArgument(argument(args, 2)),
    end: integerArgument(argument(args, 3)),
  };
}

function runGetRange(view: View, { key, start, end }: Slice, { nowMs }: RunContext): Reply {
  const found = readString(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  return bulk(found === undefined ? EMPTY : alone(sliceString(found, start, end), found));
}

/** A small part of a large value does not keep all of it in memory: nothing counts that. */
function alone(part: Buffer, whole: Buffer): Buffer {
  return whole.length > ALONE_BYTES && part.length < whole.length / 2 ? Buffer.from(part) : part;
}

interface Patch {
  readonly key: Buffer;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** SETRANGE key offset value */
function parsePatch(args: readonly Buffer[]): Patch {
  const offset = countArgument(argument(args, 2));
  if (offset < 0) throw new ArgumentError('ERR offset is out of range');
  return { key: argument(args, 1), offset, bytes: argument(args, 3) };
}

function runSetRange(view: WriteView, { key, offset, bytes }: Patch, { nowMs }: RunContext): Reply {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (live && live.type !== 'string') return WRONG_TYPE;
  const before = live?.body ?? EMPTY;
  if (bytes.length === 0) return integer(before.length);
  if (offset + bytes.length > limits.valueBytesMax) return TOO_LONG;
  const patched = patchString(before, offset, bytes);
  storeString(view, found, patched, live?.deadlineMs ?? 0, 'edited');
  view.notify?.('string', 'setrange', key);
  return integer(patched.length);
}

const column = { categories: ['string'], group: 'string', keys: FIRST_KEY };

export const stringRangeCommands: readonly Command[] = [
  write({
    ...column,
    name: 'append',
    arity: 3,
    flags: ['write', 'denyoom', 'fast'],
    since: '2.0.0',
    summary: 'Appends a string to the value of a key. Creates the key if it doesn’t exist.',
    parse: (args) => [argument(args, 1), argument(args, 2)] as const,
    run: runAppend,
  }),
  read({
    ...column,
    name: 'strlen',
    arity: 2,
    flags: ['readonly', 'fast'],
    since: '2.2.0',
    summary: 'Returns the length of a string value.',
    singlePoint: true,
    parse: (args) => argument(args, 1),
    run: runStrlen,
  }),
  read({
    ...column,
    name: 'getrange',
    arity: 4,
    flags: ['readonly'],
    since: '2.4.0',
    summary: 'Returns a substring of the string stored at a key.',
    singlePoint: true,
    parse: parseSlice,
    run: runGetRange,
  }),
  read({
    ...column,
    name: 'substr',
    arity: 4,
    flags: ['readonly'],
    since: '1.0.0',
    summary: 'Returns a substring from a string value.',
    singlePoint: true,
    parse: parseSlice,
    run: runGetRange,
  }),
  write({
    ...column,
    name: 'setrange',
    arity: 4,
    flags: ['write', 'denyoom'],
    since: '2.2.0',
    summary:
      'Overwrites a part of a string value with another by an offset. Creates the key if needed.',
    parse: parsePatch,
    run: runSetRange,
  }),
];
