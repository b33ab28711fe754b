/** Whole strings: SET, GET and their relatives, MGET. */

import { findKey, outlineKey, removeKey, setDeadline } from '../../encoding/keyspace/keyspace.ts';
import { readString, storeString } from '../../encoding/strings/string.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import {
  argument,
  deadlineOf,
  type ExpiryOption,
  expiryOption,
  invalidExpireTime,
  syntaxError,
  WRONG_TYPE,
  word,
} from '../rows/args.ts';
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
import { isComparison } from '../rows/comparison-words.ts';
import { inWeighedSteps } from '../rows/in-steps.ts';
import { type Comparison, meets, setAppliesFrom } from './compare.ts';

interface SetRequest {
  readonly command: string;
  readonly key: Buffer;
  readonly value: Buffer;
  readonly condition?: 'nx' | 'xx' | Comparison | undefined;
  readonly expiry?: ExpiryOption | 'keep' | undefined;
  readonly get?: boolean;
}

const NOTHING_SET = integer(0);

/**
 * SET key value [NX | XX | IFEQ value | IFNE value | IFDEQ digest | IFDNE digest] [GET]
 *   [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
 */
function parseSet(args: readonly Buffer[]): SetRequest {
  let condition: SetRequest['condition'];
  let expiry: ExpiryOption | 'keep' | undefined;
  let expiryArgument: [option: string, value: Buffer] | undefined;
  let get = false;
  for (let at = 3; at < args.length; at++) {
    const option = word(argument(args, at));
    const free = expiry === undefined && (expiryArgument?.[0] ?? option) === option;
    if ((option === 'nx' || option === 'xx') && (condition ?? option) === option) {
      condition = option;
    } else if (isComparison(option) && condition === undefined && at + 1 < args.length) {
      condition = { kind: option, operand: argument(args, ++at) };
    } else if (option === 'get') {
      get = true;
    } else if (option === 'keepttl' && expiryArgument === undefined) {
      expiry = 'keep';
    } else if (isExpiryWord(option) && free && at + 1 < args.length) {
      expiryArgument = [option, argument(args, ++at)];
    } else {
      throw syntaxError();
    }
  }
  if (expiryArgument) expiry = checkedExpiry('set', ...expiryArgument);
  const [key, value] = [argument(args, 1), argument(args, 2)];
  return { command: 'set', key, value, condition, expiry, get };
}

export function isExpiryWord(option: string): boolean {
  return option === 'ex' || option === 'px' || option === 'exat' || option === 'pxat';
}

/** What can be refused without knowing the time is refused before the log. */
export function checkedExpiry(command: string, option: string, arg: Buffer): ExpiryOption {
  const expiry = expiryOption(option, arg);
  if (deadlineOf(expiry, 0, true) === undefined)
    throw new ArgumentError(invalidExpireTime(command));
  return expiry;
}

function runSet(view: WriteView, request: SetRequest, { nowMs }: RunContext): Reply {
  const { expiry, condition } = request;
  const deadlineMs = expiry && expiry !== 'keep' ? deadlineOf(expiry, nowMs, true) : 0;
  if (deadlineMs === undefined) return error(invalidExpireTime(request.command));
  const compared = typeof condition === 'object' ? condition : undefined;
  const read = request.get || compared ? findKey(view, request.key, nowMs) : undefined;
  if (read?.live && read.live.type !== 'string') return WRONG_TYPE;
  const found = read ?? outlineKey(view, request.key, nowMs);
  const { live } = found;
  const old = request.get && read?.live ? bulk(read.live.body) : NULL;
  if (condition === 'nx' && live) return old;
  if (condition === 'xx' && !live) return old;
  const isMet = compared === undefined || meets(compared, read?.live?.body);
  if (isMet !== true) return isMet || old;
  const kept = expiry === 'keep' ? (live?.deadlineMs ?? 0) : deadlineMs;
  storeString(view, found, request.value, kept);
  view.notify?.('string', 'set', request.key);
  if (deadlineMs > 0) view.notify?.('generic', 'expire', request.key);
  return request.get ? old : OK;
}

/** SETEX key seconds value, PSETEX key milliseconds value */
function parseSetExpiring(
  command: string,
  option: string,
): (args: readonly Buffer[]) => SetRequest {
  return (args) => ({
    command,
    key: argument(args, 1),
    value: argument(args, 3),
    expiry: checkedExpiry(command, option, argument(args, 2)),
  });
}

/** SETNX key value */
function runSetNx(view: WriteView, request: SetRequest, { nowMs }: RunContext): Reply {
  const found = outlineKey(view, request.key, nowMs);
  if (found.live) return NOTHING_SET;
  storeString(view, found, request.value, 0);
  view.notify?.('string', 'set', request.key);
  return integer(1);
}

function parseKeyValue(args: readonly Buffer[]): SetRequest {
  return { command: 'set', key: argument(args, 1), value: argument(args, 2) };
}

function parseKey(args: readonly Buffer[]): Buffer {
  return argument(args, 1);
}

/** GET key */
function runGet(view: View, key: Buffer, { nowMs }: RunContext): Reply {
  const found = readString(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  return found === undefined ? NULL : bulk(found);
}

/** GETSET key value */
function runGetSet(view: WriteView, request: SetRequest, { nowMs }: RunContext): Reply {
  const found = findKey(view, request.key, nowMs);
  if (found.live && found.live.type !== 'string') return WRONG_TYPE;
  storeString(view, found, request.value, 0);
  view.notify?.('string', 'set', request.key);
  return found.live ? bulk(found.live.body) : NULL;
}

/** GETDEL key */
function runGetDel(view: WriteView, key: Buffer, { nowMs }: RunContext): Reply {
  const found = findKey(view, key, nowMs);
  if (!found.live) return NULL;
  if (found.live.type !== 'string') return WRONG_TYPE;
  removeKey(view, found);
  view.notify?.('generic', 'del', key);
  return bulk(found.live.body);
}

interface GetExRequest {
  readonly key: Buffer;
  /** Checked when it is known that the key is there: Redis's order. */
  readonly expiry: readonly [option: string, value: Buffer] | 'persist' | undefined;
}

/** GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST] */
function parseGetEx(args: readonly Buffer[]): GetExRequest {
  let expiry: GetExRequest['expiry'];
  for (let at = 2; at < args.length; at++) {
    const option = word(argument(args, at));
    if (option === 'persist' && (expiry === undefined || expiry === 'persist')) {
      expiry = 'persist';
    } else if (isExpiryWord(option) && isFree(expiry, option) && at + 1 < args.length) {
      expiry = [option, argument(args, ++at)];
    } else {
      throw syntaxError();
    }
  }
  return { key: argument(args, 1), expiry };
}

/** An option may be repeated, and the last one counts; two different ones exclude each other. */
function isFree(expiry: GetExRequest['expiry'], option: string): boolean {
  return expiry === undefined || (expiry !== 'persist' && expiry[0] === option);
}

function runGetEx(view: WriteView, { key, expiry }: GetExRequest, { nowMs }: RunContext): Reply {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (!live) return NULL;
  if (live.type !== 'string') return WRONG_TYPE;
  if (expiry === undefined) return bulk(live.body);
  const deadlineMs = expiry === 'persist' ? 0 : getExDeadline(expiry, nowMs);
  if (typeof deadlineMs === 'string') return error(deadlineMs);
  const passed = deadlineMs > 0 && deadlineMs <= nowMs;
  if (passed) removeKey(view, found);
  else setDeadline(view, found, live, deadlineMs);
  const persisted = deadlineMs === 0;
  const event = passed ? 'del' : persisted ? 'persist' : 'expire';
  if (!persisted || live.deadlineMs > 0) view.notify?.('generic', event, key);
  return bulk(live.body);
}

function getExDeadline(
  [option, value]: readonly [option: string, value: Buffer],
  nowMs: number,
): number | string {
  try {
    return deadlineOf(expiryOption(option, value), nowMs, true) ?? invalidExpireTime('getex');
  } catch (failure) {
    if (failure instanceof ArgumentError) return failure.message;
    throw failure;
  }
}

/** MGET key [key ...] */
function runMGet(view: View, keys: readonly Buffer[], { nowMs }: RunContext): RunResult {
  const pile = new ReplyPile('array', 'fewer keys');
  const read = (key: Buffer) => {
    const found = readString(view, key, nowMs);
    const isString = found !== undefined && found !== 'wrong-type';
    pile.add(isString ? bulk(found) : NULL);
    return isString ? found.length : 0;
  };
  return inWeighedSteps(keys, read, () => pile.reply());
}

const column = { categories: ['string'], group: 'string', keys: FIRST_KEY };

export const stringCommands: readonly Command[] = [
  write({
    ...column,
    name: 'set',
    arity: -3,
    flags: ['write', 'denyoom'],
    since: '1.0.0',
    summary:
      'Sets the string value of a key, ignoring its type. The key is created if it doesn’t exist.',
    appliesFrom: setAppliesFrom,
    refusedBefore: true,
    parse: parseSet,
    run: runSet,
  }),
  write({
    ...column,
    name: 'setex',
    arity: 4,
    flags: ['write', 'denyoom'],
    since: '2.0.0',
    summary: 'Sets the string value and expiration time of a key. Creates the key if needed.',
    parse: parseSetExpiring('setex', 'ex'),
    run: runSet,
  }),
  write({
    ...column,
    name: 'psetex',
    arity: 4,
    flags: ['write', 'denyoom'],
    since: '2.6.0',
    summary: 'Sets both string value and expiration time in milliseconds of a key.',
    parse: parseSetExpiring('psetex', 'px'),
    run: runSet,
  }),
  write({
    ...column,
    name: 'setnx',
    arity: 3,
    flags: ['write', 'denyoom', 'fast'],
    since: '1.0.0',
    summary: 'Sets the string value of a key only when the key doesn’t exist.',
    parse: parseKeyValue,
    run: runSetNx,
  }),
  read({
    ...column,
    name: 'get',
    arity: 2,
    flags: ['readonly', 'fast'],
    since: '1.0.0',
    summary: 'Returns the string value of a key.',
    singlePoint: true,
    parse: parseKey,
    run: runGet,
  }),
  write({
    ...column,
    name: 'getset',
    arity: 3,
    flags: ['write', 'denyoom', 'fast'],
    since: '1.0.0',
    summary: 'Returns the previous string value of a key after setting it to a new value.',
    parse: parseKeyValue,
    run: runGetSet,
  }),
  write({
    ...column,
    name: 'getdel',
    arity: 2,
    flags: ['write', 'fast'],
    since: '6.2.0',
    summary: 'Returns the string value of a key after deleting the key.',
    parse: parseKey,
    run: runGetDel,
  }),
  write({
    ...column,
    name: 'getex',
    arity: -2,
    flags: ['write', 'fast'],
    since: '6.2.0',
    summary: 'Returns the string value of a key after setting its expiration time.',
    parse: parseGetEx,
    run: runGetEx,
  }),
  read({
    ...column,
    name: 'mget',
    arity: -2,
    flags: ['readonly', 'fast'],
    keys: ALL_KEYS,
    since: '1.0.0',
    summary: 'Atomically returns the string values of one or more keys.',
    fanOut: { over: 'keys', merge: 'keyOrder' },
    parse: (args) => args.slice(1),
    run: runMGet,
  }),
];
