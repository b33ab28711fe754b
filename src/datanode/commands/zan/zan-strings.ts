/**
 * What ZanRedisDB does with strings and Redis does not: SETIFEQ, DELIFEQ, PLSET; and its SET, which
 * leaves alone what is no string: there each type has keys of its own, so a SET never meant to
 * replace a hash.
 */
import { findKey, outlineKey, removeKey } from '../../encoding/keyspace/keyspace.ts';
import { storeString } from '../../encoding/strings/string.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { error, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import {
  argument,
  deadlineOf,
  type ExpiryOption,
  expiryOption,
  invalidExpireTime,
  syntaxError,
  WRONG_TYPE,
  word,
  wrongArity,
} from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type KeyPositions,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';

const NO = integer(0);
const YES = integer(1);
const NOTHING = Buffer.alloc(0);

function expiryOf(command: string, option: Buffer, value: Buffer): ExpiryOption {
  if (word(option) !== 'ex') throw syntaxError();
  const expiry = expiryOption('ex', value);
  if (deadlineOf(expiry, 0, true) === undefined) {
    throw new ArgumentError(invalidExpireTime(command));
  }
  return expiry;
}

/** 0 without one. */
function deadlineFrom(expiry: ExpiryOption | undefined, nowMs: number): number | undefined {
  return expiry === undefined ? 0 : deadlineOf(expiry, nowMs, true);
}

interface StringSet {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly condition: 'nx' | 'xx' | undefined;
  readonly expiry: ExpiryOption | undefined;
}

/** ZAN.SET key value [NX | XX] [EX seconds] */
function parseSet(args: readonly Buffer[]): StringSet {
  let condition: StringSet['condition'];
  let expiry: ExpiryOption | undefined;
  for (let at = 3; at < args.length; at++) {
    const option = word(argument(args, at));
    if (option === 'nx' || option === 'xx') {
      if (condition !== undefined && condition !== option) throw syntaxError();
      condition = option;
    } else if (at + 1 < args.length) {
      expiry = expiryOf('set', argument(args, at), argument(args, ++at));
    } else {
      throw syntaxError();
    }
  }
  return { key: argument(args, 1), value: argument(args, 2), condition, expiry };
}

function runSet(view: WriteView, request: StringSet, { nowMs }: RunContext): Reply {
  const deadlineMs = deadlineFrom(request.expiry, nowMs);
  if (deadlineMs === undefined) return error(invalidExpireTime('set'));
  const found = outlineKey(view, request.key, nowMs);
  const { live } = found;
  if (live !== undefined && live.type !== 'string') return WRONG_TYPE;
  if (request.condition === 'nx' && live !== undefined) return NULL;
  if (request.condition === 'xx' && live === undefined) return NULL;
  storeString(view, found, request.value, deadlineMs);
  tellSet(view, request.key, deadlineMs);
  return OK;
}

function tellSet(view: WriteView, key: Buffer, deadlineMs: number): void {
  view.notify?.('string', 'set', key);
  if (deadlineMs > 0) view.notify?.('generic', 'expire', key);
}

interface SetIfEqual {
  readonly key: Buffer;
  readonly old: Buffer;
  readonly value: Buffer;
  readonly expiry: ExpiryOption | undefined;
}

/** SETIFEQ key old new [EX seconds]; a key that is not there counts as the empty string. */
function parseSetIfEqual(args: readonly Buffer[]): SetIfEqual {
  if (args.length !== 4 && args.length !== 6) throw syntaxError();
  const expiry =
    args.length === 6 ? expiryOf('setifeq', argument(args, 4), argument(args, 5)) : undefined;
  return { key: argument(args, 1), old: argument(args, 2), value: argument(args, 3), expiry };
}

function runSetIfEqual(view: WriteView, request: SetIfEqual, { nowMs }: RunContext): Reply {
  const deadlineMs = deadlineFrom(request.expiry, nowMs);
  if (deadlineMs === undefined) return error(invalidExpireTime('setifeq'));
  const found = findKey(view, request.key, nowMs);
  const { live } = found;
  if (live !== undefined && live.type !== 'string') return WRONG_TYPE;
  if (!(live?.body ?? NOTHING).equals(request.old)) return NO;
  storeString(view, found, request.value, deadlineMs);
  tellSet(view, request.key, deadlineMs);
  return YES;
}

/** DELIFEQ key old */
function runDeleteIfEqual(
  view: WriteView,
  { key, old }: Pick<SetIfEqual, 'key' | 'old'>,
  { nowMs }: RunContext,
): Reply {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (live === undefined) return NO;
  if (live.type !== 'string') return WRONG_TYPE;
  if (!live.body.equals(old)) return NO;
  removeKey(view, found);
  view.notify?.('generic', 'del', key);
  return YES;
}

/** PLSET key value [key value …] */
function parsePairs(args: readonly Buffer[]): readonly (readonly [Buffer, Buffer])[] {
  if (args.length % 2 === 0) throw wrongArity('plset');
  const pairs: (readonly [Buffer, Buffer])[] = [];
  for (let at = 1; at < args.length; at += 2) {
    pairs.push([argument(args, at), argument(args, at + 1)]);
  }
  return pairs;
}

/** All or, when one of the keys in this partition is no string, none. */
function runPairs(
  view: WriteView,
  pairs: readonly (readonly [Buffer, Buffer])[],
  { nowMs }: RunContext,
): RunResult {
  if (pairs.some(([key]) => isNoString(view, key, nowMs))) return WRONG_TYPE;
  return inSteps(
    pairs,
    ([key, value]) => {
      storeString(view, outlineKey(view, key, nowMs), value, 0);
      view.notify?.('string', 'set', key);
    },
    () => OK,
  );
}

function isNoString(view: WriteView, key: Buffer, nowMs: number): boolean {
  const { live } = outlineKey(view, key, nowMs);
  return live !== undefined && live.type !== 'string';
}

const PAIRS: KeyPositions = { first: 1, last: -1, step: 2 };
const column = {
  flags: ['write', 'denyoom'],
  categories: ['string'],
  group: 'string',
  since: '7.0.0',
  keys: FIRST_KEY,
} as const;

export const zanStringCommands: readonly Command[] = [
  write({
    ...column,
    name: 'zan.set',
    arity: -3,
    summary: 'Sets a string as ZanRedisDB does: a key of another type is left alone.',
    parse: parseSet,
    run: runSet,
  }),
  write({
    ...column,
    name: 'setifeq',
    arity: -4,
    summary: 'Sets a string if it has the value given; a missing key has the empty one.',
    parse: parseSetIfEqual,
    run: runSetIfEqual,
  }),
  write({
    ...column,
    name: 'delifeq',
    flags: ['write'],
    arity: 3,
    summary: 'Deletes a string if it has the value given.',
    parse: (args) => ({ key: argument(args, 1), old: argument(args, 2) }),
    run: runDeleteIfEqual,
  }),
  write({
    ...column,
    name: 'plset',
    arity: -3,
    keys: PAIRS,
    summary: 'Sets several strings, each partition its own; keys of other types are left alone.',
    fanOut: { over: 'keys', merge: 'ok' },
    parse: parsePairs,
    run: runPairs,
  }),
];
