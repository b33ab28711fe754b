/** Deadlines of keys: EXPIRE and its relatives, TTL, PERSIST. */
import { withoutEnd } from '../../../common/without-end.ts';
import { findKey, removeKey, setDeadline } from '../../encoding/keyspace/keyspace.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { integer, type Reply } from '../../resp/reply.ts';
import {
  argument,
  deadlineOf,
  type ExpiryOption,
  integerArgument,
  invalidExpireTime,
  shownText,
  word,
} from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  read,
  write,
} from '../rows/command.ts';

interface ExpireRequest {
  readonly key: Buffer;
  readonly command: string;
  readonly expiry: ExpiryOption;
  readonly conditions: ReadonlySet<string>;
}

const NO = integer(0);
const YES = integer(1);
const ABSENT = integer(-2);
const NO_DEADLINE = integer(-1);

/** EXPIRE key seconds [NX | XX | GT | LT], and PEXPIRE, EXPIREAT, PEXPIREAT likewise */
function parseExpire(
  command: string,
  unit: ExpiryOption['unit'],
  relative: boolean,
): (args: readonly Buffer[]) => ExpireRequest {
  return (args) => {
    const conditions = parseConditions(args.slice(3));
    const expiry = { value: integerArgument(argument(args, 2)), unit, relative };
    if (deadlineOf(expiry, 0, false) === undefined) {
      throw new ArgumentError(invalidExpireTime(command));
    }
    return { key: argument(args, 1), command, expiry, conditions };
  };
}

function parseConditions(words: readonly Buffer[]): ReadonlySet<string> {
  const conditions = new Set<string>();
  for (const given of words) {
    const condition = word(given);
    if (!['nx', 'xx', 'gt', 'lt'].includes(condition)) {
      // as Redis ends a text
      const shown = withoutEnd(shownText(given), '\r\n');
      throw new ArgumentError(`ERR Unsupported option ${shown}`);
    }
    conditions.add(condition);
  }
  const has = (condition: string) => conditions.has(condition);
  if (has('nx') && conditions.size > 1) {
    throw new ArgumentError('ERR NX and XX, GT or LT options at the same time are not compatible');
  }
  if (has('gt') && has('lt')) {
    throw new ArgumentError('ERR GT and LT options at the same time are not compatible');
  }
  return conditions;
}

function runExpire(view: WriteView, request: ExpireRequest, { nowMs }: RunContext): Reply {
  const deadlineMs = deadlineOf(request.expiry, nowMs, false);
  if (deadlineMs === undefined) {
    return { kind: 'error', text: invalidExpireTime(request.command) };
  }
  const found = findKey(view, request.key, nowMs);
  const { live } = found;
  if (!live || !isMet(request.conditions, live.deadlineMs, deadlineMs)) return NO;
  const passed = deadlineMs <= nowMs;
  if (passed) removeKey(view, found);
  else setDeadline(view, found, live, deadlineMs);
  view.notify?.('generic', passed ? 'del' : 'expire', request.key);
  return YES;
}

/** A key without a deadline counts as one that lives for ever. */
function isMet(conditions: ReadonlySet<string>, currentMs: number, wantedMs: number): boolean {
  const effectiveMs = currentMs === 0 ? Number.POSITIVE_INFINITY : currentMs;
  if (conditions.has('nx') && currentMs !== 0) return false;
  if (conditions.has('xx') && currentMs === 0) return false;
  if (conditions.has('gt') && wantedMs <= effectiveMs) return false;
  return !(conditions.has('lt') && wantedMs >= effectiveMs);
}

/** PERSIST key */
function runPersist(view: WriteView, key: Buffer, { nowMs }: RunContext): Reply {
  const found = findKey(view, key, nowMs);
  if (!found.live || found.live.deadlineMs === 0) return NO;
  setDeadline(view, found, found.live, 0);
  view.notify?.('generic', 'persist', key);
  return YES;
}

/** TTL key, PTTL key, EXPIRETIME key, PEXPIRETIME key: −2 without the key, −1 without a deadline. */
function deadlineReply(shown: (deadlineMs: number, nowMs: number) => number) {
  return (view: View, key: Buffer, { nowMs }: RunContext): Reply => {
    const { live } = findKey(view, key, nowMs);
    if (!live) return ABSENT;
    return live.deadlineMs === 0 ? NO_DEADLINE : integer(shown(live.deadlineMs, nowMs));
  };
}

/** Redis rounds to the nearest second. */
function inSeconds(ms: number): number {
  return Math.floor((ms + 500) / 1000);
}

function parseKey(args: readonly Buffer[]): Buffer {
  return argument(args, 1);
}

const column = { categories: ['keyspace'], group: 'generic', keys: FIRST_KEY };
const expireRow = { ...column, arity: -3, flags: ['write', 'fast'], run: runExpire } as const;
const readRow = {
  ...column,
  arity: 2,
  flags: ['readonly', 'fast'],
  singlePoint: true,
  parse: parseKey,
} as const;

export const expiryCommands: readonly Command[] = [
  write({
    ...expireRow,
    name: 'expire',
    since: '1.0.0',
    summary: 'Sets the expiration time of a key in seconds.',
    parse: parseExpire('expire', 'seconds', true),
  }),
  write({
    ...expireRow,
    name: 'pexpire',
    since: '2.6.0',
    summary: 'Sets the expiration time of a key in milliseconds.',
    parse: parseExpire('pexpire', 'milliseconds', true),
  }),
  write({
    ...expireRow,
    name: 'expireat',
    since: '1.2.0',
    summary: 'Sets the expiration time of a key to a Unix timestamp.',
    parse: parseExpire('expireat', 'seconds', false),
  }),
  write({
    ...expireRow,
    name: 'pexpireat',
    since: '2.6.0',
    summary: 'Sets the expiration time of a key to a Unix milliseconds timestamp.',
    parse: parseExpire('pexpireat', 'milliseconds', false),
  }),
  write({
    ...column,
    name: 'persist',
    arity: 2,
    flags: ['write', 'fast'],
    since: '2.2.0',
    summary: 'Removes the expiration time of a key.',
    parse: parseKey,
    run: runPersist,
  }),
  read({
    ...readRow,
    name: 'ttl',
    since: '1.0.0',
    summary: 'Returns the expiration time in seconds of a key.',
    run: deadlineReply((deadlineMs, nowMs) => inSeconds(deadlineMs - nowMs)),
  }),
  read({
    ...readRow,
    name: 'pttl',
    since: '2.6.0',
    summary: 'Returns the expiration time in milliseconds of a key.',
    run: deadlineReply((deadlineMs, nowMs) => deadlineMs - nowMs),
  }),
  read({
    ...readRow,
    name: 'expiretime',
    since: '7.0.0',
    summary: 'Returns the expiration time of a key as a Unix timestamp.',
    run: deadlineReply((deadlineMs) => inSeconds(deadlineMs)),
  }),
  read({
    ...readRow,
    name: 'pexpiretime',
    since: '7.0.0',
    summary: 'Returns the expiration time of a key as a Unix milliseconds timestamp.',
    run: deadlineReply((deadlineMs) => deadlineMs),
  }),
];
