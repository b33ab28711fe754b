/** Integers of any width within a string: BITFIELD, BITFIELD_RO. */
import { limits } from '../../../common/limits.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import {
  GLANCE,
  giveWay,
  isGlanceDue,
  type Slices,
  STEP_ITEMS,
} from '../../encoding/steps/slices.ts';
import {
  type BitField,
  fieldValueToSet,
  fitField,
  type Overflow,
  readField,
  widened,
  writeField,
} from '../../encoding/strings/bits.ts';
import { parseInteger, readString, storeString } from '../../encoding/strings/string.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { integer, NULL, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import {
  argument,
  integerArgument,
  syntaxError,
  TOO_LONG,
  WRONG_TYPE,
  word,
} from '../rows/args.ts';
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
import { lateReply } from '../rows/late-error.ts';
import { bitOffsetArgument } from './bit.ts';

const BAD_TYPE =
  'ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.';
/** More are read by the run. */
const ARGUMENTS_AT_ONCE_MAX = 1_024;
const EMPTY = Buffer.alloc(0);
const [LETTER_I, LETTER_U] = [0x69, 0x75];

type FieldStep =
  | { readonly kind: 'get'; readonly field: BitField }
  | {
      readonly kind: 'set' | 'incrby';
      readonly field: BitField;
      readonly operand: bigint;
      readonly overflow: Overflow;
    };

interface FieldRequest {
  readonly key: Buffer;
  readonly steps: readonly FieldStep[];
  /** Length that the string has at least once the steps that write are done; 0: none writes. */
  readonly bytesNeeded: number;
}

/** A request; one of many arguments is read by the run, in steps, before it does anything else. */
type Fields = FieldRequest | { readonly unread: readonly Buffer[] };

/**
 * BITFIELD key [GET encoding offset | [OVERFLOW WRAP | SAT | FAIL] SET encoding offset value |
 * INCRBY encoding offset increment ...]
 */
function parseBitField(args: readonly Buffer[]): Fields {
  if (args.length > ARGUMENTS_AT_ONCE_MAX) return { unread: args };
  const reading = readRequest(args);
  let step = reading.next();
  while (!step.done) step = reading.next([]);
  return step.value;
}

function* readRequest(args: readonly Buffer[]): Slices<FieldRequest> {
  const steps: FieldStep[] = [];
  let overflow: Overflow = 'wrap';
  let bytesNeeded = 0;
  let at = 2;
  let done = 0;
  while (at < args.length) {
    if (++done % STEP_ITEMS === 0) yield* giveWay();
    else if (isGlanceDue(done)) yield GLANCE;
    const kind = word(argument(args, at));
    const left = args.length - at - 1;
    if (kind === 'overflow' && left >= 1) {
      overflow = overflowArgument(argument(args, at + 1));
      at += 2;
    } else if (kind === 'get' && left >= 2) {
      steps.push({ kind, field: fieldArguments(args, at + 1) });
      at += 3;
    } else if ((kind === 'set' || kind === 'incrby') && left >= 3) {
      const field = fieldArguments(args, at + 1);
      const operand = BigInt(integerArgument(argument(args, at + 3)));
      steps.push({ kind, field, operand, overflow });
      const lastBit = field.offset + field.bits - 1;
      bytesNeeded = Math.max(bytesNeeded, Math.floor(lastBit / 8) + 1);
      at += 4;
    } else {
      throw syntaxError();
    }
  }
  return { key: argument(args, 1), steps, bytesNeeded };
}

function overflowArgument(arg: Buffer): Overflow {
  const overflow = word(arg);
  if (overflow === 'wrap' || overflow === 'sat' || overflow === 'fail') return overflow;
  throw new ArgumentError('ERR Invalid OVERFLOW type specified');
}

/** Encoding (`i8`, `u16`, …) and offset. */
function fieldArguments(args: readonly Buffer[], at: number): BitField {
  const encoding = argument(args, at);
  const signed = encoding[0] === LETTER_I;
  const bits = parseInteger(encoding.subarray(1));
  const known = signed || encoding[0] === LETTER_U;
  if (!known || typeof bits !== 'number' || bits < 1 || bits > (signed ? 64 : 63)) {
    throw new ArgumentError(BAD_TYPE);
  }
  return { signed, bits, offset: bitOffsetArgument(argument(args, at + 1), bits) };
}

/** BITFIELD_RO key [GET encoding offset ...] */
function parseBitFieldRo(args: readonly Buffer[]): Fields {
  const fields = parseBitField(args);
  return 'unread' in fields ? fields : readsOnly(fields);
}

function readsOnly(request: FieldRequest): FieldRequest {
  if (request.bytesNeeded > 0) {
    throw new ArgumentError('ERR BITFIELD_RO only supports the GET subcommand');
  }
  return request;
}

/** What is wrong with the arguments is told first, as if all had been read before. */
function* afterReading(
  args: readonly Buffer[],
  run: (request: FieldRequest) => RunResult,
): Slices<Reply> {
  let result: RunResult;
  try {
    result = run(yield* readRequest(args));
  } catch (failure) {
    if (!(failure instanceof ArgumentError)) throw failure;
    return lateReply(failure);
  }
  return 'kind' in result ? result : yield* result;
}

function runBitField(view: WriteView, fields: Fields, context: RunContext): RunResult {
  if (!('unread' in fields)) return runFields(view, fields, context);
  return afterReading(fields.unread, (request) => runFields(view, request, context));
}

function runBitFieldRo(view: View, fields: Fields, { nowMs }: RunContext): RunResult {
  if (!('unread' in fields)) return getFields(readString(view, fields.key, nowMs), fields);
  // the one key is read in the turn in which the command was to run
  const found = readString(view, argument(fields.unread, 1), nowMs);
  return afterReading(fields.unread, (request) => getFields(found, readsOnly(request)));
}

function runFields(view: WriteView, request: FieldRequest, context: RunContext): RunResult {
  const { key, steps, bytesNeeded } = request;
  if (bytesNeeded === 0) return getFields(readString(view, key, context.nowMs), request);
  const found = findKey(view, key, context.nowMs);
  const { live } = found;
  if (live && live.type !== 'string') return WRONG_TYPE;
  if (bytesNeeded > limits.valueBytesMax) return TOO_LONG;
  const bytes = widened(live?.body ?? EMPTY, bytesNeeded);
  const grown = bytes.length > (live?.body.length ?? 0);
  const replies = repliesPile();
  let told = false;
  const runOne = (step: FieldStep) => {
    const { reply, before, after } = runStep(bytes, step);
    told ||= after !== undefined && (grown || after !== before);
    replies.add(reply);
  };
  return inSteps(steps, runOne, () => {
    if (told || grown || live?.origin !== 'edited') {
      storeString(view, found, bytes, live?.deadlineMs ?? 0, 'edited');
    }
    if (told) view.notify?.('string', 'setbit', key);
    return replies.reply();
  });
}

function getFields(found: Buffer | undefined | 'wrong-type', { steps }: FieldRequest): RunResult {
  if (found === 'wrong-type') return WRONG_TYPE;
  const replies = repliesPile();
  const runOne = ({ field }: FieldStep) => replies.add(integer(readField(found ?? EMPTY, field)));
  return inSteps(steps, runOne, () => replies.reply());
}

function repliesPile(): ReplyPile {
  return new ReplyPile('array', 'fewer subcommands in one BITFIELD');
}

interface Done {
  readonly reply: Reply;
  readonly before: bigint;
  /** Undefined: the step wrote nothing. */
  readonly after: bigint | undefined;
}

/** Changes `bytes` where the step writes. */
function runStep(bytes: Buffer, step: FieldStep): Done {
  const { kind, field } = step;
  const before = readField(bytes, field);
  if (kind === 'get') return { reply: integer(before), before, after: undefined };
  const wanted = kind === 'set' ? fieldValueToSet(field, step.operand) : before + step.operand;
  const after = fitField(field, wanted, step.overflow);
  if (after === undefined) return { reply: NULL, before, after };
  writeField(bytes, field, after);
  return { reply: integer(kind === 'set' ? before : after), before, after };
}

const column = { categories: ['bitmap'], group: 'bitmap', keys: FIRST_KEY, arity: -2 };

export const bitFieldCommands: readonly Command[] = [
  write({
    ...column,
    name: 'bitfield',
    flags: ['write', 'denyoom'],
    since: '3.2.0',
    summary: 'Reads and changes integers of any width within a string.',
    parse: parseBitField,
    run: runBitField,
  }),
  read({
    ...column,
    name: 'bitfield_ro',
    flags: ['readonly', 'fast'],
    since: '6.0.0',
    summary: 'Reads integers of any width within a string.',
    singlePoint: true,
    parse: parseBitFieldRo,
    run: runBitFieldRo,
  }),
];
