/** Deadlines of hash fields: HEXPIRE and its relatives, HTTL, HPERSIST. */
import {
  deleteField,
  type Field,
  getField,
  type OpenHash,
  readHash,
  reopenHash,
  saveHash,
  setFieldDeadline,
} from '../../encoding/hashes/hash.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { array, integer, type Reply } from '../../resp/reply.ts';
import { argument, countArgument, invalidExpireTime, WRONG_TYPE, word } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { tellChange } from '../rows/key-events.ts';
import { late, lateReply } from '../rows/late-error.ts';

type Condition = 'nx' | 'xx' | 'gt' | 'lt';

interface Fields {
  readonly fields: readonly Buffer[];
}

/** Until when a field is to be kept, as it was given. */
export interface GivenTime {
  readonly command: string;
  /** Milliseconds, from now or since 1970. */
  readonly timeMs: number;
  readonly relative: boolean;
}

interface Expire extends Fields, GivenTime {
  readonly condition: Condition | undefined;
}

interface Request<Asked extends Fields> {
  readonly key: Buffer;
  readonly asked: Asked | ArgumentError;
}

const NO_FIELD = integer(-2);
const NO_DEADLINE = integer(-1);
const NOT_MET = integer(0);
const DONE = integer(1);
const DELETED = integer(2);

/** Redis keeps deadlines of fields in 46 bits: until the year 4199. */
const DEADLINE_MAX_MS = 2 ** 46 - 1;
const conditions: readonly string[] = ['nx', 'xx', 'gt', 'lt'];

/** HEXPIRE key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...], and its relatives */
function parseExpire(
  command: string,
  unitMs: number,
  relative: boolean,
): (args: readonly Buffer[]) => Request<Expire> {
  const parse = (args: readonly Buffer[]) => {
    const time = parseTime(command, unitMs, relative, argument(args, 2));
    const option = word(argument(args, 3));
    const condition = conditions.includes(option) ? (option as Condition) : undefined;
    const at = condition === undefined ? 3 : 4;
    const fields = parseFields(args, at, 'ERR Parameter `numFields` should be greater than 0');
    return { ...time, condition, fields };
  };
  return (args) => ({ key: argument(args, 1), asked: late(() => parse(args)) });
}

function parseTime(command: string, unitMs: number, relative: boolean, arg: Buffer): GivenTime {
  const time = countArgument(arg);
  if (time < 0) throw new ArgumentError('ERR invalid expire time, must be >= 0');
  if (time > DEADLINE_MAX_MS / unitMs) throw new ArgumentError(invalidExpireTime(command));
  return { command, timeMs: time * unitMs, relative };
}

/** EX, PX, EXAT or PXAT of a field. Throws ArgumentError. */
export function fieldTime(command: string, option: string, arg: Buffer): GivenTime {
  return parseTime(command, option.startsWith('p') ? 1 : SECOND_MS, !option.endsWith('at'), arg);
}

/** Milliseconds since 1970. Throws ArgumentError beyond what Redis keeps. */
export function fieldDeadline({ command, timeMs, relative }: GivenTime, nowMs: number): number {
  const deadlineMs = relative ? nowMs + timeMs : timeMs;
  if (deadlineMs > DEADLINE_MAX_MS) throw new ArgumentError(invalidExpireTime(command));
  return deadlineMs;
}

/** FIELDS numfields field [field ...], from argument `at` to the end */
export function parseFields(
  args: readonly Buffer[],
  at: number,
  tooFew: string,
): readonly Buffer[] {
  if (args[at] === undefined || word(args[at]) !== 'fields') {
    throw new ArgumentError(
      'ERR Mandatory argument FIELDS is missing or not at the right position',
    );
  }
  const count = args[at + 1] === undefined ? 0 : countArgument(args[at + 1]!, tooFew);
  if (count < 1) throw new ArgumentError(tooFew);
  const fields = args.slice(at + 2);
  if (count !== fields.length) {
    throw new ArgumentError('ERR The `numfields` parameter must match the number of arguments');
  }
  return fields;
}

function runExpire(view: WriteView, request: Request<Expire>, context: RunContext): RunResult {
  const { nowMs } = context;
  return changeFields(view, request, context, 'hexpire', ({ condition, ...time }) => {
    const deadlineMs = fieldDeadline(time, nowMs);
    return (hash, name, field) => {
      if (!isMet(condition, field.deadlineMs, deadlineMs)) return NOT_MET;
      if (deadlineMs <= nowMs) {
        deleteField(view, hash, name);
        return DELETED;
      }
      setFieldDeadline(view, hash, name, field, deadlineMs);
      return DONE;
    };
  });
}

/** A field without a deadline counts as one that lives for ever. */
function isMet(condition: Condition | undefined, currentMs: number, wantedMs: number): boolean {
  const effectiveMs = currentMs === 0 ? Number.POSITIVE_INFINITY : currentMs;
  switch (condition) {
    case 'nx':
      return currentMs === 0;
    case 'xx':
      return currentMs !== 0;
    case 'gt':
      return wantedMs > effectiveMs;
    case 'lt':
      return wantedMs < effectiveMs;
    default:
      return true;
  }
}

/** HPERSIST key FIELDS numfields field [field ...] */
function runPersist(view: WriteView, request: Request<Fields>, context: RunContext): RunResult {
  return changeFields(view, request, context, 'hpersist', () => (hash, name, field) => {
    if (field.deadlineMs === 0) return NO_DEADLINE;
    setFieldDeadline(view, hash, name, field, 0);
    return DONE;
  });
}

type Change = (hash: OpenHash, name: Buffer, field: Field) => Reply;

/** One reply per field; the change that is asked for is made to those that are there. */
function changeFields<Asked extends Fields>(
  view: WriteView,
  { key, asked }: Request<Asked>,
  { nowMs }: RunContext,
  doneEvent: string,
  changeOf: (asked: Asked) => Change,
): RunResult {
  const found = readHash(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  const change = asked instanceof ArgumentError ? asked : late(() => changeOf(asked));
  if (asked instanceof ArgumentError || change instanceof ArgumentError) {
    return lateReply(change as ArgumentError);
  }
  if (found === undefined) return array(asked.fields.map(() => NO_FIELD));
  const hash = reopenHash(found.collection, nowMs);
  const replies: Reply[] = [];
  const changeOne = (name: Buffer) => {
    const field = getField(view, hash, name);
    replies.push(field === undefined ? NO_FIELD : change(hash, name, field));
  };
  return inSteps(asked.fields, changeOne, () => {
    const reply = saveHash(view, hash, array(replies));
    const event = replies.includes(DELETED) ? 'hdel' : doneEvent;
    const isTold = event === 'hdel' || replies.includes(DONE);
    if (isTold) tellChange(view, 'hash', event, hash.collection);
    return reply;
  });
}

/** HTTL key FIELDS numfields field [field ...], and HPTTL, HEXPIRETIME, HPEXPIRETIME likewise */
function deadlineReplies(shown: (deadlineMs: number, nowMs: number) => number) {
  return (view: View, { key, asked }: Request<Fields>, { nowMs }: RunContext): RunResult => {
    const hash = readHash(view, key, nowMs);
    if (hash === 'wrong-type') return WRONG_TYPE;
    if (asked instanceof ArgumentError) return lateReply(asked);
    const replies: Reply[] = [];
    const show = (name: Buffer) => {
      const field = hash && getField(view, hash, name);
      if (field === undefined) replies.push(NO_FIELD);
      else if (field.deadlineMs === 0) replies.push(NO_DEADLINE);
      else replies.push(integer(shown(field.deadlineMs, nowMs)));
    };
    return inSteps(asked.fields, show, () => array(replies));
  };
}

function parseKeyFields(args: readonly Buffer[]): Request<Fields> {
  const tooFew = 'ERR Number of fields must be a positive integer';
  const asked = late(() => ({ fields: parseFields(args, 2, tooFew) }));
  return { key: argument(args, 1), asked };
}

const SECOND_MS = 1_000;

function inSeconds(ms: number): number {
  return Math.ceil(ms / SECOND_MS);
}

const column = { categories: ['hash'], group: 'hash', keys: FIRST_KEY, since: '7.4.0' };
const expireRow = {
  ...column,
  arity: -6,
  flags: ['write', 'denyoom', 'fast'],
  run: runExpire,
} as const;
const readRow = {
  ...column,
  arity: -5,
  flags: ['readonly', 'fast'],
  parse: parseKeyFields,
} as const;

export const hashExpiryCommands: readonly Command[] = [
  write({
    ...expireRow,
    name: 'hexpire',
    summary: 'Sets how many seconds hash fields are kept.',
    parse: parseExpire('hexpire', SECOND_MS, true),
  }),
  write({
    ...expireRow,
    name: 'hpexpire',
    summary: 'Sets how many milliseconds hash fields are kept.',
    parse: parseExpire('hpexpire', 1, true),
  }),
  write({
    ...expireRow,
    name: 'hexpireat',
    summary: 'Sets the Unix time, in seconds, until which hash fields are kept.',
    parse: parseExpire('hexpireat', SECOND_MS, false),
  }),
  write({
    ...expireRow,
    name: 'hpexpireat',
    summary: 'Sets the Unix time, in milliseconds, until which hash fields are kept.',
    parse: parseExpire('hpexpireat', 1, false),
  }),
  write({
    ...column,
    name: 'hpersist',
    arity: -5,
    flags: ['write', 'fast'],
    summary: 'Keeps hash fields for good.',
    parse: parseKeyFields,
    run: runPersist,
  }),
  read({
    ...readRow,
    name: 'httl',
    summary: 'Returns for how many seconds hash fields are kept.',
    run: deadlineReplies((deadlineMs, nowMs) => inSeconds(deadlineMs - nowMs)),
  }),
  read({
    ...readRow,
    name: 'hpttl',
    summary: 'Returns for how many milliseconds hash fields are kept.',
    run: deadlineReplies((deadlineMs, nowMs) => deadlineMs - nowMs),
  }),
  read({
    ...readRow,
    name: 'hexpiretime',
    summary: 'Returns the Unix time, in seconds, until which hash fields are kept.',
    run: deadlineReplies(inSeconds),
  }),
  read({
    ...readRow,
    name: 'hpexpiretime',
    summary: 'Returns the Unix time, in milliseconds, until which hash fields are kept.',
    run: deadlineReplies((deadlineMs) => deadlineMs),
  }),
];
