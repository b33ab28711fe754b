/**
 * ZanRedisDB's commands for keys of one type: exists, clear, ttl, expire, persist. There each type
 * has keys of its own; here a key of another type is, for these commands, not there.
 */
import { collectionOf } from '../../encoding/collections/collection.ts';
import { type Found, findKey, removeKey, setDeadline } from '../../encoding/keyspace/keyspace.ts';
import { isCollectionType } from '../../encoding/records/element-key.ts';
import type { Header, ValueType } from '../../encoding/records/header.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { error, integer, type Reply } from '../../resp/reply.ts';
import {
  argument,
  deadlineOf,
  type ExpiryOption,
  integerArgument,
  invalidExpireTime,
} from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  type KeyPositions,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { typeArgument } from './zan-types.ts';

const NO = integer(0);
const YES = integer(1);
const NO_DEADLINE = integer(-1);

interface TypedKeys {
  readonly type: ValueType;
  readonly keys: readonly Buffer[];
}

interface TypedKey {
  readonly type: ValueType;
  readonly key: Buffer;
}

function parseKeys(args: readonly Buffer[]): TypedKeys {
  return { type: typeArgument(args, 1), keys: args.slice(2) };
}

function parseKey(args: readonly Buffer[]): TypedKey {
  return { type: typeArgument(args, 1), key: argument(args, 2) };
}

interface OfType {
  readonly found: Found;
  readonly live: Header;
}

function findOfType(view: View, { type, key }: TypedKey, nowMs: number): OfType | undefined {
  const found = findKey(view, key, nowMs);
  return found.live?.type === type ? { found, live: found.live } : undefined;
}

/** ZAN.EXISTS type key [key …] */
function runExists(view: View, { type, keys }: TypedKeys, { nowMs }: RunContext): RunResult {
  let count = 0;
  const find = (key: Buffer) => {
    if (findOfType(view, { type, key }, nowMs)) count++;
  };
  return inSteps(keys, find, () => integer(count));
}

/** ZAN.CLEAR type key [key …]: how many elements they had; a string counts as one. */
function runClear(view: WriteView, { type, keys }: TypedKeys, { nowMs }: RunContext): RunResult {
  let elements = 0;
  const clear = (key: Buffer) => {
    const there = findOfType(view, { type, key }, nowMs);
    if (there === undefined) return;
    elements += sizeOf(there);
    removeKey(view, there.found);
    view.notify?.('generic', 'del', key);
  };
  return inSteps(keys, clear, () => integer(elements));
}

function sizeOf({ found, live }: OfType): number {
  return isCollectionType(live.type) ? collectionOf(found, live, live.type).size : 1;
}

/** ZAN.TTL type key: −1 without a deadline, and without the key. */
function runTtl(view: View, request: TypedKey, { nowMs }: RunContext): Reply {
  const deadlineMs = findOfType(view, request, nowMs)?.live.deadlineMs ?? 0;
  return deadlineMs === 0 ? NO_DEADLINE : integer(Math.floor((deadlineMs - nowMs + 500) / 1000));
}

interface TypedExpire extends TypedKey {
  readonly expiry: ExpiryOption;
}

/** ZAN.EXPIRE type key seconds */
function parseExpire(args: readonly Buffer[]): TypedExpire {
  const value = integerArgument(argument(args, 3));
  const expiry: ExpiryOption = { value, unit: 'seconds', relative: true };
  if (deadlineOf(expiry, 0, false) === undefined) {
    throw new ArgumentError(invalidExpireTime('expire'));
  }
  return { ...parseKey(args), expiry };
}

function runExpire(view: WriteView, request: TypedExpire, { nowMs }: RunContext): Reply {
  const deadlineMs = deadlineOf(request.expiry, nowMs, false);
  if (deadlineMs === undefined) return error(invalidExpireTime('expire'));
  const there = findOfType(view, request, nowMs);
  if (there === undefined) return NO;
  const passed = deadlineMs <= nowMs;
  if (passed) removeKey(view, there.found);
  else setDeadline(view, there.found, there.live, deadlineMs);
  view.notify?.('generic', passed ? 'del' : 'expire', request.key);
  return YES;
}

/** ZAN.PERSIST type key */
function runPersist(view: WriteView, request: TypedKey, { nowMs }: RunContext): Reply {
  const there = findOfType(view, request, nowMs);
  if (there === undefined || there.live.deadlineMs === 0) return NO;
  setDeadline(view, there.found, there.live, 0);
  view.notify?.('generic', 'persist', request.key);
  return YES;
}

const ONE_KEY: KeyPositions = { first: 2, last: 2, step: 1 };
const KEYS: KeyPositions = { first: 2, last: -1, step: 1 };
const column = {
  categories: ['keyspace'],
  group: 'generic',
  since: '7.0.0',
} as const;

export const zanKeyCommands: readonly Command[] = [
  read({
    ...column,
    name: 'zan.exists',
    arity: -3,
    flags: ['readonly', 'fast'],
    keys: KEYS,
    summary: 'Tells how many of the keys are there and of the type.',
    fanOut: { over: 'keys', merge: 'sum' },
    parse: parseKeys,
    run: runExists,
  }),
  write({
    ...column,
    name: 'zan.clear',
    arity: -3,
    flags: ['write'],
    keys: KEYS,
    summary: 'Deletes keys of one type; returns how many elements they had.',
    fanOut: { over: 'keys', merge: 'sum' },
    parse: parseKeys,
    run: runClear,
  }),
  read({
    ...column,
    name: 'zan.ttl',
    arity: 3,
    flags: ['readonly', 'fast'],
    keys: ONE_KEY,
    summary: 'Returns the seconds that a key of the type has left; -1 without a deadline or key.',
    singlePoint: true,
    parse: parseKey,
    run: runTtl,
  }),
  write({
    ...column,
    name: 'zan.expire',
    arity: 4,
    flags: ['write', 'fast'],
    keys: ONE_KEY,
    summary: 'Sets the seconds that a key of the type has left.',
    parse: parseExpire,
    run: runExpire,
  }),
  write({
    ...column,
    name: 'zan.persist',
    arity: 3,
    flags: ['write', 'fast'],
    keys: ONE_KEY,
    summary: 'Removes the deadline of a key of the type.',
    parse: parseKey,
    run: runPersist,
  }),
];
