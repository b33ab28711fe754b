/** Hashes: fields one by one and as a whole. */

import { eachSlice } from '../../encoding/collections/member-walk.ts';
import {
  countFields,
  decodeField,
  deleteField,
  expectFields,
  type Field,
  fieldsOf,
  getField,
  type Hash,
  hasDue,
  openHash,
  readHash,
  reopenHash,
  saveHash,
  setField,
} from '../../encoding/hashes/hash.ts';
import { decodeMember } from '../../encoding/records/element-key.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import type { KeyValue } from '../../engine/engine.ts';
import { bulk, EMPTY_ARRAY, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, WRONG_TYPE, wrongArity } from '../rows/args.ts';
import {
  type Command,
  FIRST_KEY,
  type ReadRun,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { tellChange } from '../rows/key-events.ts';

interface FieldValues {
  readonly key: Buffer;
  readonly pairs: readonly (readonly [field: Buffer, value: Buffer])[];
}

interface Fields {
  readonly key: Buffer;
  readonly fields: readonly Buffer[];
}

const NO = integer(0);
const YES = integer(1);
const EMPTY_MAP: Reply = { kind: 'map', pairs: [] };

/** HSET key field value [field value ...], HMSET likewise */
function parsePairs(command: string): (args: readonly Buffer[]) => FieldValues {
  return (args) => {
    if (args.length % 2 !== 0) throw wrongArity(command);
    const pairs: (readonly [Buffer, Buffer])[] = [];
    for (let at = 2; at < args.length; at += 2) {
      pairs.push([argument(args, at), argument(args, at + 1)]);
    }
    return { key: argument(args, 1), pairs };
  };
}

function setPairs(replyOf: (added: number) => Reply) {
  return (view: WriteView, { key, pairs }: FieldValues, { nowMs }: RunContext): RunResult => {
    const hash = openHash(view, key, nowMs);
    if (hash === 'wrong-type') return WRONG_TYPE;
    expectFields(hash, pairs.length);
    let added = 0;
    const set = ([field, value]: readonly [Buffer, Buffer]) => {
      if (setField(view, hash, field, value)) added++;
    };
    return inSteps(pairs, set, () => {
      const reply = saveHash(view, hash, replyOf(added));
      view.notify?.('hash', 'hset', key);
      return reply;
    });
  };
}

/** HSETNX key field value */
function runSetNx(view: WriteView, { key, pairs }: FieldValues, { nowMs }: RunContext): RunResult {
  const hash = openHash(view, key, nowMs);
  if (hash === 'wrong-type') return WRONG_TYPE;
  const [field, value] = pairs[0]!;
  if (getField(view, hash, field) !== undefined) return NO;
  setField(view, hash, field, value);
  const reply = saveHash(view, hash, YES);
  view.notify?.('hash', 'hset', key);
  return reply;
}

/** HDEL key field [field ...] */
function runDelete(view: WriteView, { key, fields }: Fields, { nowMs }: RunContext): RunResult {
  const found = readHash(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  if (found === undefined) return NO;
  const hash = reopenHash(found.collection, nowMs);
  let deleted = 0;
  const remove = (field: Buffer) => {
    if (deleteField(view, hash, field)) deleted++;
  };
  return inSteps(fields, remove, () => {
    const reply = saveHash(view, hash, integer(deleted));
    if (deleted > 0) tellChange(view, 'hash', 'hdel', hash.collection);
    return reply;
  });
}

/** HMGET key field [field ...] */
function runMultiGet(view: View, { key, fields }: Fields, { nowMs }: RunContext): RunResult {
  const hash = readHash(view, key, nowMs);
  if (hash === 'wrong-type') return WRONG_TYPE;
  const pile = new ReplyPile('array', 'fewer fields');
  const read = (name: Buffer) => {
    const field = hash && getField(view, hash, name);
    pile.add(field === undefined ? NULL : bulk(field.value));
  };
  return inSteps(fields, read, () => pile.reply());
}

/** HGET key field, HEXISTS key field, HSTRLEN key field */
function ofField(replyOf: (field: Field | undefined) => Reply) {
  return (view: View, { key, fields }: Fields, { nowMs }: RunContext): Reply => {
    const hash = readHash(view, key, nowMs);
    if (hash === 'wrong-type') return WRONG_TYPE;
    return replyOf(hash && getField(view, hash, fields[0]!));
  };
}

/** HLEN key: fields that have expired and are still stored do not count. */
function runLength(view: View, key: Buffer, { nowMs }: RunContext): RunResult {
  const hash = readHash(view, key, nowMs);
  if (hash === 'wrong-type') return WRONG_TYPE;
  if (hash === undefined) return NO;
  return hasDue(hash) ? countedLength(hash) : integer(hash.collection.size);
}

function* countedLength(hash: Hash): Slices<Reply> {
  return integer(yield* countFields(hash));
}

/** HKEYS key, HVALS key, HGETALL key */
function ofAll(empty: Reply, shape: 'array' | 'map', ...parts: readonly ReplyOf[]) {
  return (view: View, key: Buffer, { nowMs }: RunContext): ReturnType<ReadRun> => {
    const hash = readHash(view, key, nowMs);
    if (hash === 'wrong-type') return WRONG_TYPE;
    return hash === undefined ? empty : gather(hash, shape, parts);
  };
}

type ReplyOf = (element: KeyValue) => Reply;

function* gather(
  hash: Hash,
  shape: 'array' | 'map',
  [first, second]: readonly ReplyOf[],
): Slices<Reply> {
  const { range, isLive } = yield* fieldsOf(hash);
  const pile = new ReplyPile(shape, 'HSCAN');
  yield* eachSlice(range, (pairs) => {
    for (const pair of pairs) if (isLive(pair)) pile.add(first!(pair), second?.(pair));
  });
  return pile.reply();
}

export function nameReply([key]: KeyValue): Reply {
  return bulk(decodeMember(key));
}

export function valueReply(element: KeyValue): Reply {
  return bulk(decodeField(element).value);
}

function parseKey(args: readonly Buffer[]): Buffer {
  return argument(args, 1);
}

function parseFields(args: readonly Buffer[]): Fields {
  return { key: argument(args, 1), fields: args.slice(2) };
}

const column = { categories: ['hash'], group: 'hash', keys: FIRST_KEY, since: '2.0.0' };
const setRow = { ...column, flags: ['write', 'denyoom', 'fast'] } as const;
const fieldRow = {
  ...column,
  arity: 3,
  flags: ['readonly', 'fast'],
  parse: parseFields,
} as const;
const allRow = {
  ...column,
  arity: 2,
  flags: ['readonly'],
  parse: parseKey,
} as const;

export const hashCommands: readonly Command[] = [
  write({
    ...setRow,
    name: 'hset',
    arity: -4,
    summary: 'Creates or modifies the value of fields in a hash.',
    parse: parsePairs('hset'),
    run: setPairs(integer),
  }),
  write({
    ...setRow,
    name: 'hmset',
    arity: -4,
    summary: 'Sets the values of multiple fields.',
    parse: parsePairs('hmset'),
    run: setPairs(() => OK),
  }),
  write({
    ...setRow,
    name: 'hsetnx',
    arity: 4,
    summary: 'Sets the value of a field in a hash only when the field doesn’t exist.',
    parse: parsePairs('hsetnx'),
    run: runSetNx,
  }),
  write({
    ...column,
    name: 'hdel',
    arity: -3,
    flags: ['write', 'fast'],
    summary: 'Deletes fields and their values from a hash; the hash too when none remains.',
    parse: parseFields,
    run: runDelete,
  }),
  read({
    ...fieldRow,
    name: 'hget',
    summary: 'Returns the value of a field in a hash.',
    run: ofField((field) => (field === undefined ? NULL : bulk(field.value))),
  }),
  read({
    ...fieldRow,
    name: 'hexists',
    summary: 'Determines whether a field exists in a hash.',
    run: ofField((field) => (field === undefined ? NO : YES)),
  }),
  read({
    ...fieldRow,
    name: 'hstrlen',
    since: '3.2.0',
    summary: 'Returns the length of the value of a field.',
    run: ofField((field) => integer(field?.value.length ?? 0)),
  }),
  read({
    ...fieldRow,
    name: 'hmget',
    arity: -3,
    summary: 'Returns the values of the given fields in a hash.',
    run: runMultiGet,
  }),
  read({
    ...column,
    name: 'hlen',
    arity: 2,
    flags: ['readonly', 'fast'],
    summary: 'Returns the number of fields in a hash.',
    parse: parseKey,
    run: runLength,
  }),
  read({
    ...allRow,
    name: 'hkeys',
    summary: 'Returns all fields in a hash.',
    run: ofAll(EMPTY_ARRAY, 'array', nameReply),
  }),
  read({
    ...allRow,
    name: 'hvals',
    summary: 'Returns all values in a hash.',
    run: ofAll(EMPTY_ARRAY, 'array', valueReply),
  }),
  read({
    ...allRow,
    name: 'hgetall',
    summary: 'Returns all fields and values in a hash.',
    run: ofAll(EMPTY_MAP, 'map', nameReply, valueReply),
  }),
];
