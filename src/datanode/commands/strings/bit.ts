/** Strings as arrays of bits: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP. */
import { limits } from '../../../common/limits.ts';
import { type Found, findKey } from '../../encoding/keyspace/keyspace.ts';
import {
  GLANCE,
  giveWay,
  isGlanceDue,
  type Slices,
  STEP_ITEMS,
} from '../../encoding/steps/slices.ts';
import { BitCombination } from '../../encoding/strings/bit-combination.ts';
import {
  type BitOperation,
  type BitRange,
  bitAt,
  countBits,
  findBit,
  setBitAt,
  widened,
} from '../../encoding/strings/bits.ts';
import { parseInteger, readString, storeString } from '../../encoding/strings/string.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { integer, type Reply } from '../../resp/reply.ts';
import { applyVersions } from '../rows/apply-versions.ts';
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
import { deleteKey } from '../rows/key-events.ts';
import { SeenKeys } from '../rows/seen-keys.ts';

const BAD_OFFSET = 'ERR bit offset is not an integer or out of range';
const BAD_BIT = 'ERR bit is not an integer or out of range';
/** Redis's own bound on bit offsets, whatever fits a value here. */
const BIT_OFFSET_MAX = limits.requestBulkBytesMax * 8 - 1;
const EMPTY = Buffer.alloc(0);

/** `#n` means the n-th field of `fieldBits` bits, where it is allowed. */
export function bitOffsetArgument(arg: Buffer, fieldBits = 0): number {
  const counted = fieldBits > 0 && arg[0] === 0x23;
  const value = parseInteger(counted ? arg.subarray(1) : arg);
  if (value === undefined) throw new ArgumentError(BAD_OFFSET);
  const offset = counted ? BigInt.asIntN(64, BigInt(value) * BigInt(fieldBits)) : value;
  if (offset < 0 || offset > BIT_OFFSET_MAX) throw new ArgumentError(BAD_OFFSET);
  return Number(offset);
}

interface BitRequest {
  readonly key: Buffer;
  readonly offset: number;
  readonly bit: 0 | 1;
}

/** SETBIT key offset value */
function parseSetBit(args: readonly Buffer[]): BitRequest {
  const offset = bitOffsetArgument(argument(args, 2));
  const bit = integerArgument(argument(args, 3), BAD_BIT);
  if (bit !== 0 && bit !== 1) throw new ArgumentError(BAD_BIT);
  return { key: argument(args, 1), offset, bit };
}

function runSetBit(view: WriteView, { key, offset, bit }: BitRequest, context: RunContext): Reply {
  const found = findKey(view, key, context.nowMs);
  const { live } = found;
  if (live && live.type !== 'string') return WRONG_TYPE;
  const bytesNeeded = Math.floor(offset / 8) + 1;
  if (bytesNeeded > limits.valueBytesMax) return TOO_LONG;
  const body = live?.body ?? EMPTY;
  const before = bitAt(body, offset);
  const changes = before !== bit || body.length < bytesNeeded;
  if (changes || live?.origin !== 'edited') {
    const patched = widened(body, bytesNeeded);
    setBitAt(patched, offset, bit);
    storeString(view, found, patched, live?.deadlineMs ?? 0, 'edited');
  }
  if (changes) view.notify?.('string', 'setbit', key);
  return integer(before);
}

/** GETBIT key offset */
function parseGetBit(args: readonly Buffer[]): Omit<BitRequest, 'bit'> {
  return { key: argument(args, 1), offset: bitOffsetArgument(argument(args, 2)) };
}

function runGetBit(
  view: View,
  { key, offset }: Omit<BitRequest, 'bit'>,
  { nowMs }: RunContext,
): Reply {
  const found = readString(view, key, nowMs);
  return found === 'wrong-type' ? WRONG_TYPE : integer(bitAt(found ?? EMPTY, offset));
}

/** A part of a string as given: negative numbers count from the end. */
interface Part {
  readonly start: number | bigint;
  readonly end: number | bigint;
  readonly unit: 'byte' | 'bit';
}

function unitArgument(arg: Buffer): 'byte' | 'bit' {
  const unit = word(arg);
  if (unit !== 'byte' && unit !== 'bit') throw syntaxError();
  return unit;
}

/** The bits that a part means in a string of `length` bytes; first > last: none. */
function rangeOf({ start, end, unit }: Part, length: number): BitRange {
  const total = unit === 'bit' ? length * 8 : length;
  const place = (given: number | bigint) => {
    return Math.max(0, given < 0 ? total + Number(given) : Number(given));
  };
  const first = place(start);
  const last = Math.min(place(end), total - 1);
  if (first > last) return { first: 1, last: 0 };
  return unit === 'bit' ? { first, last } : { first: first * 8, last: last * 8 + 7 };
}

interface CountRequest {
  readonly key: Buffer;
  readonly part: Part;
}

const WHOLE: Part = { start: 0, end: -1, unit: 'byte' };

/** BITCOUNT key [start end [BYTE | BIT]] */
function parseBitCount(args: readonly Buffer[]): CountRequest {
  const key = argument(args, 1);
  if (args.length === 2) return { key, part: WHOLE };
  if (args.length < 4 || args.length > 5) throw syntaxError();
  const start = integerArgument(argument(args, 2));
  const end = integerArgument(argument(args, 3));
  return { key, part: { start, end, unit: args[4] ? unitArgument(args[4]) : 'byte' } };
}

function runBitCount(view: View, { key, part }: CountRequest, { nowMs }: RunContext): RunResult {
  const found = readString(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  if (found === undefined) return integer(0);
  // Redis's order: both counted from the end and crossed is empty before they are cut.
  if (part.start < 0 && part.end < 0 && part.start > part.end) return integer(0);
  const range = rangeOf(part, found.length);
  return isLong(range) ? countLong(found, range) : integer(countBits(found, range));
}

/** Bits looked at between two pauses. */
const PIECE_BYTES = 524_288;
const PIECE_BITS = PIECE_BYTES * 8;

function isLong({ first, last }: BitRange): boolean {
  return last - first >= PIECE_BITS;
}

function pieceAt(at: number, { last }: BitRange): BitRange {
  return { first: at, last: Math.min(last, at + PIECE_BITS - 1) };
}

function* countLong(bytes: Buffer, range: BitRange): Slices<Reply> {
  let count = 0;
  for (let at = range.first; at <= range.last; at += PIECE_BITS) {
    yield* giveWay();
    count += countBits(bytes, pieceAt(at, range));
  }
  return integer(count);
}

interface PositionRequest {
  readonly key: Buffer;
  readonly bit: 0 | 1;
  readonly part: Part;
  /** The string does not go on with zeros behind the part. */
  readonly ended: boolean;
}

/** BITPOS key bit [start [end [BYTE | BIT]]] */
function parseBitPos(args: readonly Buffer[]): PositionRequest {
  const bit = integerArgument(argument(args, 2));
  if (bit !== 0 && bit !== 1) throw new ArgumentError('ERR The bit argument must be 1 or 0.');
  if (args.length > 6) throw syntaxError();
  const start = args[3] ? integerArgument(args[3]) : 0;
  const unit = args[5] ? unitArgument(args[5]) : 'byte';
  const end = args[4] ? integerArgument(args[4]) : -1;
  return {
    key: argument(args, 1),
    bit,
    part: { start, end, unit },
    ended: args.length > 4,
  };
}

function runBitPos(view: View, request: PositionRequest, { nowMs }: RunContext): RunResult {
  const { bit, part } = request;
  const found = readString(view, request.key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  if (found === undefined) return integer(bit === 1 ? -1 : 0);
  const range = rangeOf(part, found.length);
  if (range.first > range.last) return integer(-1);
  if (isLong(range)) return findLong(found, range, request);
  return positionReply(found, findBit(found, bit, range), request);
}

function* findLong(bytes: Buffer, range: BitRange, request: PositionRequest): Slices<Reply> {
  let found = -1;
  for (let at = range.first; found < 0 && at <= range.last; at += PIECE_BITS) {
    found = findBit(bytes, request.bit, pieceAt(at, range));
    yield* giveWay();
  }
  return positionReply(bytes, found, request);
}

function positionReply(bytes: Buffer, at: number, { bit, ended }: PositionRequest): Reply {
  return integer(at < 0 && bit === 0 && !ended ? bytes.length * 8 : at);
}

interface CombineRequest {
  readonly operation: BitOperation;
  readonly to: Buffer;
  readonly from: readonly Buffer[];
}

/**
 * BITOP AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE destkey key [key ...]; the last four as Redis 8.2
 * has them (redis.io, BITOP).
 */
function parseBitOp(args: readonly Buffer[]): CombineRequest {
  const operation = operations.get(word(argument(args, 1)));
  if (operation === undefined) throw syntaxError();
  const from = args.slice(3);
  if (operation === 'not' && from.length !== 1) {
    throw new ArgumentError('ERR BITOP NOT must be called with a single source key.');
  }
  if (isAgainstFirst(operation) && from.length < 2) {
    const name = operation.toUpperCase();
    throw new ArgumentError(`ERR BITOP ${name} must be called with at least two source keys.`);
  }
  return { operation, to: argument(args, 2), from };
}

const oldOperations: readonly BitOperation[] = ['and', 'or', 'xor', 'not'];
const operations: ReadonlyMap<string, BitOperation> = new Map(
  [...oldOperations, 'diff', 'diff1', 'andor', 'one'].map((name) => [name, name as BitOperation]),
);

/** Builds before know four of them. */
function bitOpAppliesFrom(args: readonly Buffer[]): number {
  const operation = args[1] && operations.get(word(args[1]));
  const isNew = operation !== undefined && !oldOperations.includes(operation);
  return isNew ? applyVersions.redis84 : applyVersions.plain;
}

/** The first source has another part in it than those that follow. */
function isAgainstFirst(operation: BitOperation): boolean {
  return operation === 'diff' || operation === 'diff1' || operation === 'andor';
}

function* runBitOp(
  view: WriteView,
  { operation, to, from }: CombineRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const combination = new BitCombination(operation);
  const seen = new SeenKeys();
  let done = 0;
  for (const key of from) {
    if (++done % STEP_ITEMS === 0) yield* giveWay();
    else if (isGlanceDue(done)) yield GLANCE;
    const isApart = done === 1 && isAgainstFirst(operation);
    if (!isApart && !countsRepeats(operation) && !seen.isNew(key)) continue;
    const found = readString(view, key, nowMs);
    if (found === 'wrong-type') return WRONG_TYPE;
    yield* combination.add(found ?? EMPTY);
  }
  return saveCombined(view, findKey(view, to, nowMs), yield* combination.result());
}

/** Elsewhere twice the same is as once; what XOR has set it clears again, and ONE takes it for two. */
function countsRepeats(operation: BitOperation): boolean {
  return operation === 'xor' || operation === 'one';
}

function saveCombined(view: WriteView, target: Found, result: Buffer): Reply {
  if (result.length > 0) {
    storeString(view, target, result, 0, 'edited');
    view.notify?.('string', 'set', target.key);
  } else {
    deleteKey(view, target);
  }
  return integer(result.length);
}

const column = { categories: ['bitmap'], group: 'bitmap', keys: FIRST_KEY };

export const bitCommands: readonly Command[] = [
  write({
    ...column,
    name: 'setbit',
    arity: 4,
    flags: ['write', 'denyoom'],
    since: '2.2.0',
    summary: 'Sets or clears one bit of a string. Creates the key if it doesn’t exist.',
    parse: parseSetBit,
    run: runSetBit,
  }),
  read({
    ...column,
    name: 'getbit',
    arity: 3,
    flags: ['readonly', 'fast'],
    since: '2.2.0',
    summary: 'Returns one bit of a string.',
    singlePoint: true,
    parse: parseGetBit,
    run: runGetBit,
  }),
  read({
    ...column,
    name: 'bitcount',
    arity: -2,
    flags: ['readonly'],
    since: '2.6.0',
    summary: 'Counts the bits that are set in a string or a part of it.',
    singlePoint: true,
    parse: parseBitCount,
    run: runBitCount,
  }),
  read({
    ...column,
    name: 'bitpos',
    arity: -3,
    flags: ['readonly'],
    since: '2.8.7',
    summary: 'Finds the first bit of a string that is set, or that is clear.',
    singlePoint: true,
    parse: parseBitPos,
    run: runBitPos,
  }),
  write({
    ...column,
    name: 'bitop',
    arity: -4,
    flags: ['write', 'denyoom'],
    keys: { first: 2, last: -1, step: 1 },
    since: '2.6.0',
    summary: 'Combines strings bit by bit and stores the result.',
    appliesFrom: bitOpAppliesFrom,
    refusedBefore: true,
    parse: parseBitOp,
    run: runBitOp,
  }),
];
