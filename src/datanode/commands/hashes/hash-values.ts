/** Values of hash fields, and what becomes of the fields with it: HGETDEL, HGETEX, HSETEX. */
import {
  deleteField,
  expectFields,
  type Field,
  getField,
  type OpenHash,
  openHash,
  readHash,
  reopenHash,
  saveHash,
  setField,
  setFieldDeadline,
} from '../../encoding/hashes/hash.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { array, bulk, integer, NULL, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { argument, countArgument, shownText, WRONG_TYPE, word, wrongArity } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { tellChange } from '../rows/key-events.ts';
import { late, lateReply } from '../rows/late-error.ts';
import { fieldDeadline, fieldTime, type GivenTime, parseFields } from './hash-expiry.ts';

interface Get {
  readonly key: Buffer;
  readonly asked: Asked | ArgumentError;
}

interface Asked {
  readonly fields: readonly Buffer[];
  /** What becomes of the fields that are there; undefined: nothing. */
  readonly fate: GivenTime | 'delete' | 'persist' | undefined;
}

type Pair = readonly [field: Buffer, value: Buffer];

interface Set {
  readonly key: Buffer;
  readonly condition: 'fnx' | 'fxx' | undefined;
  readonly expiry: GivenTime | 'keep' | undefined;
  readonly pairs: readonly Pair[];
}

const NOT_SET = integer(0);
const SET = integer(1);
const TOO_FEW = 'ERR Number of fields must be a positive integer';
const FIELDS_MAX = 2 ** 31 - 1;
const times: readonly string[] = ['ex', 'px', 'exat', 'pxat'];

/** HGETDEL key FIELDS numfields field [field ...] */
function parseGetDelete(args: readonly Buffer[]): Get {
  const parse = (): Asked => ({ fields: parseFields(args, 2, TOO_FEW), fate: 'delete' });
  return { key: argument(args, 1), asked: late(parse) };
}

/** HGETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST] FIELDS numfields field [field ...] */
function parseGetExpire(args: readonly Buffer[]): Get {
  const parse = (): Asked => {
    const option = word(argument(args, 2));
    if (times.includes(option)) {
      const fate = fieldTime('hgetex', option, argument(args, 3));
      return { fields: parseFields(args, 4, TOO_FEW), fate };
    }
    if (option !== 'persist') return { fields: parseFields(args, 2, TOO_FEW), fate: undefined };
    return { fields: parseFields(args, 3, TOO_FEW), fate: 'persist' };
  };
  return { key: argument(args, 1), asked: late(parse) };
}

/** All values are read before anything changes: the reply may be too large. */
function runGet(view: WriteView, { key, asked }: Get, { nowMs }: RunContext): RunResult {
  const found = readHash(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  if (asked instanceof ArgumentError) return lateReply(asked);
  const change = late(() => changeOf(asked, nowMs));
  if (change instanceof ArgumentError) return lateReply(change);
  if (found === undefined) return array(asked.fields.map(() => NULL));
  const pile = new ReplyPile('array', 'fewer fields');
  const live = new Map<string, NamedField>();
  const look = (name: Buffer) => {
    const text = name.toString('latin1');
    const before = live.get(text);
    const field = before === undefined ? getField(view, found, name) : before.field;
    if (before === undefined && field !== undefined) live.set(text, { name, field });
    const isGone = field === undefined || (before !== undefined && change.event === 'hdel');
    pile.add(isGone ? NULL : bulk(field.value));
  };
  return inSteps(asked.fields, look, () => {
    const reply = pile.reply();
    if (change.event === undefined) return reply;
    const hash = reopenHash(found.collection, nowMs);
    return changed(view, hash, [...live.values()], change, reply);
  });
}

interface NamedField {
  readonly name: Buffer;
  readonly field: Field;
}

interface Change {
  /** Undefined: nothing changes. */
  readonly event: 'hdel' | 'hpersist' | 'hexpire' | undefined;
  /** That the fields get; 0: none. */
  readonly deadlineMs: number;
}

function changeOf({ fate }: Asked, nowMs: number): Change {
  if (fate === undefined) return { event: undefined, deadlineMs: 0 };
  if (fate === 'delete') return { event: 'hdel', deadlineMs: 0 };
  if (fate === 'persist') return { event: 'hpersist', deadlineMs: 0 };
  const deadlineMs = fieldDeadline(fate, nowMs);
  return { event: deadlineMs <= nowMs ? 'hdel' : 'hexpire', deadlineMs };
}

function changed(
  view: WriteView,
  hash: OpenHash,
  fields: readonly NamedField[],
  { event, deadlineMs }: Change,
  reply: Reply,
): RunResult {
  const wanted = event === 'hpersist' ? fields.filter(({ field }) => field.deadlineMs > 0) : fields;
  const changeOne = ({ name, field }: NamedField) => {
    if (event === 'hdel') deleteField(view, hash, name);
    else setFieldDeadline(view, hash, name, field, deadlineMs);
  };
  return inSteps(wanted, changeOne, () => {
    const saved = saveHash(view, hash, reply);
    if (wanted.length > 0) tellChange(view, 'hash', event!, hash.collection);
    return saved;
  });
}

/**
 * HSETEX key [FNX | FXX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
 *   FIELDS numfields field value [field value ...]
 */
function parseSet(args: readonly Buffer[]): Set {
  let condition: Set['condition'];
  let expiry: Set['expiry'];
  for (let at = 2; at < args.length; at++) {
    const arg = argument(args, at);
    const option = word(arg);
    if (option === 'fields') {
      return { key: argument(args, 1), condition, expiry, pairs: parsePairs(args, at) };
    }
    if (option === 'fnx' || option === 'fxx') {
      if (condition !== undefined) throw new ArgumentError(ONE_CONDITION);
      condition = option;
    } else if (option === 'keepttl' || times.includes(option)) {
      if (expiry !== undefined) throw new ArgumentError(ONE_EXPIRY);
      if (option === 'keepttl') {
        expiry = 'keep';
        continue;
      }
      if (++at === args.length) throw new ArgumentError('ERR missing expire time');
      expiry = fieldTime('hsetex', option, argument(args, at));
    } else {
      throw new ArgumentError(`ERR unknown argument: ${shownText(arg)}`);
    }
  }
  throw wrongArity('hsetex');
}

const ONE_CONDITION = 'ERR Only one of FXX or FNX arguments can be specified';
const ONE_EXPIRY = 'ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified';

/** FIELDS numfields field value [field value ...], from argument `at` to the end */
function parsePairs(args: readonly Buffer[], at: number): readonly Pair[] {
  if (at >= args.length - 3) throw wrongArity('hsetex');
  const invalid = 'ERR invalid number of fields';
  const count = countArgument(argument(args, at + 1), invalid);
  if (count < 1 || count > FIELDS_MAX) throw new ArgumentError(invalid);
  const pairs: Pair[] = [];
  for (let next = at + 2; next + 1 < args.length; next += 2) {
    pairs.push([args[next]!, args[next + 1]!]);
  }
  if (args.length - at - 2 !== 2 * count) throw wrongArity('hsetex');
  return pairs;
}

function runSet(view: WriteView, request: Set, { nowMs }: RunContext): RunResult {
  const { key, condition, expiry, pairs } = request;
  const given = typeof expiry === 'object' ? expiry : undefined;
  const deadlineMs = late(() => ({ value: given && fieldDeadline(given, nowMs) }));
  if (deadlineMs instanceof ArgumentError) return lateReply(deadlineMs);
  const hash = openHash(view, key, nowMs);
  if (hash === 'wrong-type') return WRONG_TYPE;
  const set = () => setPairs(view, hash, request, deadlineMs.value, nowMs);
  if (condition === undefined) return set();
  let isMet = true;
  const look = ([field]: Pair) => {
    if (!isMet) return;
    isMet = (getField(view, hash, field) !== undefined) === (condition === 'fxx');
  };
  return inSteps(pairs, look, () => (isMet ? set() : NOT_SET));
}

/** A deadline that has passed deletes, once all was set. */
function setPairs(
  view: WriteView,
  hash: OpenHash,
  { expiry, pairs }: Set,
  deadlineMs: number | undefined,
  nowMs: number,
): RunResult {
  expectFields(hash, pairs.length);
  const isPast = deadlineMs !== undefined && deadlineMs <= nowMs;
  const deadline = expiry === 'keep' ? 'keep' : isPast ? 0 : (deadlineMs ?? 0);
  const set = ([field, value]: Pair) => {
    setField(view, hash, field, value, deadline);
    if (isPast) deleteField(view, hash, field);
  };
  return inSteps(pairs, set, () => {
    const reply = saveHash(view, hash, SET);
    const { found } = hash.collection;
    view.notify?.('hash', 'hset', found.key);
    if (isPast) tellChange(view, 'hash', 'hdel', hash.collection);
    else if (deadlineMs !== undefined) view.notify?.('hash', 'hexpire', found.key);
    return reply;
  });
}

const column = {
  categories: ['hash'],
  group: 'hash',
  keys: FIRST_KEY,
  since: '8.0.0',
  appliesFrom: () => applyVersions.comparisons,
};

export const hashValueCommands: readonly Command[] = [
  write({
    ...column,
    name: 'hgetdel',
    arity: -5,
    flags: ['write', 'fast'],
    summary:
      'Returns the values of hash fields after deleting them; the hash too when none remains.',
    parse: parseGetDelete,
    run: runGet,
  }),
  write({
    ...column,
    name: 'hgetex',
    arity: -5,
    flags: ['write', 'fast'],
    summary: 'Returns the values of hash fields after setting how long they are kept.',
    parse: parseGetExpire,
    run: runGet,
  }),
  write({
    ...column,
    name: 'hsetex',
    arity: -6,
    flags: ['write', 'denyoom', 'fast'],
    summary: 'Sets hash fields on condition, and how long they are kept.',
    parse: parseSet,
    run: runSet,
  }),
];
