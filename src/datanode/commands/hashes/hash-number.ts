/** Fields of hashes as numbers: HINCRBY and HINCRBYFLOAT. */
import { getField, openHash, saveHash, setField } from '../../encoding/hashes/hash.ts';
import { addDecimal } from '../../encoding/strings/long-double.ts';
import { addIntegers, parseInteger } from '../../encoding/strings/string.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, integer } from '../../resp/reply.ts';
import { argument, integerArgument, WRONG_TYPE } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';

interface Increment<Amount> {
  readonly key: Buffer;
  readonly field: Buffer;
  readonly by: Amount;
}

const NOT_AN_INTEGER = error('ERR hash value is not an integer');
const OVERFLOW = error('ERR increment or decrement would overflow');
const NOT_A_FLOAT = error('ERR hash value is not a float');
const NOT_FINITE = error('ERR increment would produce NaN or Infinity');

/** HINCRBY key field increment */
function parseIncrBy(args: readonly Buffer[]): Increment<number | bigint> {
  const by = integerArgument(argument(args, 3));
  return { key: argument(args, 1), field: argument(args, 2), by };
}

function runIncrBy(
  view: WriteView,
  { key, field, by }: Increment<number | bigint>,
  { nowMs }: RunContext,
): RunResult {
  const hash = openHash(view, key, nowMs);
  if (hash === 'wrong-type') return WRONG_TYPE;
  const live = getField(view, hash, field);
  const before = live ? parseInteger(live.value) : 0;
  if (before === undefined) return NOT_AN_INTEGER;
  const after = addIntegers(before, by);
  if (after === undefined) return OVERFLOW;
  setField(view, hash, field, Buffer.from(after.toString(), 'latin1'), 'keep');
  const reply = saveHash(view, hash, integer(after));
  view.notify?.('hash', 'hincrby', key);
  return reply;
}

/** HINCRBYFLOAT key field increment */
function parseIncrByFloat(args: readonly Buffer[]): Increment<string> {
  const by = argument(args, 3).toString('latin1');
  const alone = addDecimal('0', by);
  if (alone === 'invalid') throw new ArgumentError('ERR value is not a valid float');
  if (alone === 'not-finite') throw new ArgumentError('ERR value is NaN or Infinity');
  return { key: argument(args, 1), field: argument(args, 2), by };
}

function runIncrByFloat(
  view: WriteView,
  { key, field, by }: Increment<string>,
  { nowMs }: RunContext,
): RunResult {
  const hash = openHash(view, key, nowMs);
  if (hash === 'wrong-type') return WRONG_TYPE;
  const live = getField(view, hash, field);
  const sum = addDecimal(live ? live.value.toString('latin1') : '0', by);
  if (sum === 'invalid') return NOT_A_FLOAT;
  if (sum === 'not-finite') return NOT_FINITE;
  const value = Buffer.from(sum, 'latin1');
  setField(view, hash, field, value, 'keep');
  const reply = saveHash(view, hash, bulk(value));
  view.notify?.('hash', 'hincrbyfloat', key);
  return reply;
}

const column = {
  arity: 4,
  flags: ['write', 'denyoom', 'fast'],
  categories: ['hash'],
  group: 'hash',
  keys: FIRST_KEY,
} as const;

export const hashNumberCommands: readonly Command[] = [
  write({
    ...column,
    name: 'hincrby',
    since: '2.0.0',
    summary: 'Increments the integer value of a field in a hash by a number.',
    parse: parseIncrBy,
    run: runIncrBy,
  }),
  write({
    ...column,
    name: 'hincrbyfloat',
    since: '2.6.0',
    summary: 'Increments the floating point value of a field in a hash by a number.',
    parse: parseIncrByFloat,
    run: runIncrByFloat,
  }),
];
