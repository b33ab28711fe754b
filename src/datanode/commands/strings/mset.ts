/** Many strings at once: MSET, MSETNX, MSETEX. */
import { outlineKey } from '../../encoding/keyspace/keyspace.ts';
import { parseInteger, storeString } from '../../encoding/strings/string.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { error, integer, OK, type Reply } from '../../resp/reply.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import {
  argument,
  deadlineOf,
  type ExpiryOption,
  invalidExpireTime,
  syntaxError,
  word,
  wrongArity,
} from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  type CountedPairs,
  NO_KEYS,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';
import { inWeighedSteps, weightOf } from '../rows/in-steps.ts';
import { checkedExpiry, isExpiryWord } from './string.ts';

type Pair = readonly [key: Buffer, value: Buffer];
type Pairs = readonly Pair[];

const NOTHING_SET = integer(0);
const ALL_SET = integer(1);

/** MSET key value [key value ...], MSETNX key value [key value ...] */
function parsePairs(name: string): (args: readonly Buffer[]) => Pairs {
  return (args) => {
    if (args.length % 2 === 0) throw wrongArity(name);
    return pairsOf(args, 1, args.length);
  };
}

function pairsOf(args: readonly Buffer[], from: number, end: number): Pairs {
  const pairs: Pair[] = [];
  for (let at = from; at < end; at += 2) pairs.push([argument(args, at), argument(args, at + 1)]);
  return pairs;
}

function runMSet(view: WriteView, pairs: Pairs, context: RunContext): RunResult {
  return setAll(view, pairs, context, 0, OK);
}

function runMSetNx(view: WriteView, pairs: Pairs, context: RunContext): RunResult {
  return setAllIf('nx', view, pairs, context, 0);
}

/** `keep`: the deadline that each has. */
type Deadline = number | 'keep';

/** Only where none of the keys is there (`nx`), or all of them are (`xx`). */
function setAllIf(
  condition: 'nx' | 'xx',
  view: WriteView,
  pairs: Pairs,
  context: RunContext,
  deadline: Deadline,
): RunResult {
  let isMet = true;
  const look = ([key]: Pair) => {
    if (!isMet) return 0;
    const outline = outlineKey(view, key, context.nowMs);
    isMet = (outline.live === undefined) === (condition === 'nx');
    return weightOf(outline);
  };
  return inWeighedSteps(pairs, look, () =>
    isMet ? setAll(view, pairs, context, deadline, ALL_SET) : NOTHING_SET,
  );
}

function setAll(
  view: WriteView,
  pairs: Pairs,
  { nowMs }: RunContext,
  deadline: Deadline,
  reply: Reply,
): RunResult {
  const set = ([key, value]: Pair) => {
    const outline = outlineKey(view, key, nowMs);
    const deadlineMs = deadline === 'keep' ? (outline.live?.deadlineMs ?? 0) : deadline;
    storeString(view, outline, value, deadlineMs);
    view.notify?.('string', 'set', key);
    if (deadline !== 'keep' && deadline > 0) view.notify?.('generic', 'expire', key);
    return weightOf(outline);
  };
  return inWeighedSteps(pairs, set, () => reply);
}

/** Where the first key of MSETEX stands, behind the number of them. */
const COUNTED_AT = 2;
const INT_MAX = 2 ** 31 - 1;

/** How many keys a line of MSETEX has; undefined: its number is none, or it has not so many. */
function countOf(args: readonly Buffer[]): number | undefined {
  const count = args[1] && parseInteger(args[1]);
  if (typeof count !== 'number' || count < 1 || count > INT_MAX) return undefined;
  return COUNTED_AT + 2 * count <= args.length ? count : undefined;
}

function keysOfMSetEx(args: readonly Buffer[]): readonly Buffer[] {
  const count = countOf(args) ?? 0;
  return Array.from({ length: count }, (_, at) => args[COUNTED_AT + 2 * at]!);
}

interface SetMany {
  readonly pairs: Pairs;
  readonly condition: 'nx' | 'xx' | undefined;
  readonly expiry: ExpiryOption | 'keep' | undefined;
}

/**
 * MSETEX numkeys key value [key value ...] [NX | XX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL], as Redis
 * 8.4 has it (redis.io, MSETEX).
 */
function parseMSetEx(args: readonly Buffer[]): SetMany {
  const said = parseInteger(argument(args, 1));
  if (typeof said !== 'number' || said < 1 || said > INT_MAX) {
    throw new ArgumentError('ERR invalid numkeys value');
  }
  const count = countOf(args);
  if (count === undefined) throw new ArgumentError('ERR wrong number of key-value pairs');
  const end = COUNTED_AT + 2 * count;
  return { pairs: pairsOf(args, COUNTED_AT, end), ...optionsFrom(args, end) };
}

/** An option may be repeated, and the last one counts; two different ones exclude each other. */
function optionsFrom(args: readonly Buffer[], from: number): Omit<SetMany, 'pairs'> {
  let condition: SetMany['condition'];
  let given: readonly [option: string, value?: Buffer] | undefined;
  for (let at = from; at < args.length; at++) {
    const option = word(argument(args, at));
    const isFree = (given?.[0] ?? option) === option;
    if ((option === 'nx' || option === 'xx') && (condition ?? option) === option) {
      condition = option;
    } else if (option === 'keepttl' && isFree) {
      given = [option];
    } else if (isExpiryWord(option) && isFree && at + 1 < args.length) {
      given = [option, argument(args, ++at)];
    } else {
      throw syntaxError();
    }
  }
  if (given === undefined) return { condition, expiry: undefined };
  const [option, value] = given;
  return {
    condition,
    expiry: value === undefined ? 'keep' : checkedExpiry('msetex', option, value),
  };
}

function runMSetEx(
  view: WriteView,
  { pairs, condition, expiry }: SetMany,
  context: RunContext,
): RunResult {
  const deadline = deadlineFor(expiry, context.nowMs);
  if (deadline === undefined) return error(invalidExpireTime('msetex'));
  return condition === undefined
    ? setAll(view, pairs, context, deadline, ALL_SET)
    : setAllIf(condition, view, pairs, context, deadline);
}

function deadlineFor(expiry: SetMany['expiry'], nowMs: number): Deadline | undefined {
  if (expiry === undefined || expiry === 'keep') return expiry ?? 0;
  return deadlineOf(expiry, nowMs, true);
}

/** Whether all keys are there, or none, is known where all of them are. */
function pairsApart(args: readonly Buffer[]): CountedPairs | undefined {
  const count = countOf(args);
  if (count === undefined || optionsFrom(args, COUNTED_AT + 2 * count).condition) return undefined;
  return { at: COUNTED_AT, count };
}

const column = { categories: ['string'], group: 'string' };
const PAIR_KEYS = { first: 1, last: -1, step: 2 };

export const mSetCommands: readonly Command[] = [
  write({
    ...column,
    name: 'mset',
    arity: -3,
    flags: ['write', 'denyoom'],
    keys: PAIR_KEYS,
    since: '1.0.1',
    summary: 'Atomically creates or modifies the string values of one or more keys.',
    fanOut: { over: 'keys', merge: 'ok' },
    parse: parsePairs('mset'),
    run: runMSet,
  }),
  write({
    ...column,
    name: 'msetnx',
    arity: -3,
    flags: ['write', 'denyoom'],
    keys: PAIR_KEYS,
    since: '1.0.1',
    summary: 'Atomically modifies the string values of one or more keys only when none exists.',
    parse: parsePairs('msetnx'),
    run: runMSetNx,
  }),
  write({
    ...column,
    name: 'msetex',
    arity: -4,
    flags: ['write', 'denyoom', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: keysOfMSetEx,
    since: '8.4.0',
    summary: 'Atomically sets the string values of one or more keys, with one expiration time.',
    appliesFrom: () => applyVersions.redis84,
    fanOut: { over: 'keys', merge: 'any', pairs: pairsApart },
    parse: parseMSetEx,
    run: runMSetEx,
  }),
];
