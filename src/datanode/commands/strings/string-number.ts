/** Strings as numbers: INCR, DECR and their relatives. */
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { addDecimal } from '../../encoding/strings/long-double.ts';
import {
  addIntegers,
  INT64_MIN,
  parseInteger,
  storeString,
} from '../../encoding/strings/string.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, integer, type Reply } from '../../resp/reply.ts';
import { argument, integerArgument, NOT_AN_INTEGER, WRONG_TYPE } from '../rows/args.ts';
import { ArgumentError, type Command, FIRST_KEY, type RunContext, write } from '../rows/command.ts';

interface Increment {
  readonly key: Buffer;
  readonly by: number | bigint;
}

const NOT_INTEGER = error(NOT_AN_INTEGER);
const OVERFLOW = error('ERR increment or decrement would overflow');
const NOT_A_FLOAT = 'ERR value is not a valid float';
const NOT_FINITE = error('ERR increment would produce NaN or Infinity');

/** INCR key, DECR key */
function parseStep(by: number): (args: readonly Buffer[]) => Increment {
  return (args) => ({ key: argument(args, 1), by });
}

/** INCRBY key increment */
function parseIncrBy(args: readonly Buffer[]): Increment {
  return { key: argument(args, 1), by: integerArgument(argument(args, 2)) };
}

/** DECRBY key decrement */
function parseDecrBy(args: readonly Buffer[]): Increment {
  const by = integerArgument(argument(args, 2));
  if (by === INT64_MIN) throw new ArgumentError('ERR decrement would overflow');
  return { key: argument(args, 1), by: by === 0 ? 0 : -by };
}

function runIncrement(view: WriteView, { key, by }: Increment, { nowMs }: RunContext): Reply {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (live && live.type !== 'string') return WRONG_TYPE;
  const before = live ? parseInteger(live.body) : 0;
  if (before === undefined) return NOT_INTEGER;
  const after = addIntegers(before, by);
  if (after === undefined) return OVERFLOW;
  storeString(view, found, Buffer.from(after.toString(), 'latin1'), live?.deadlineMs ?? 0);
  view.notify?.('string', 'incrby', key);
  return integer(after);
}

/** INCRBYFLOAT key increment */
function parseIncrByFloat(args: readonly Buffer[]): readonly [key: Buffer, by: Buffer] {
  return [argument(args, 1), argument(args, 2)];
}

function runIncrByFloat(
  view: WriteView,
  [key, by]: readonly [Buffer, Buffer],
  { nowMs }: RunContext,
): Reply {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (live && live.type !== 'string') return WRONG_TYPE;
  const sum = addDecimal(live ? live.body.toString('latin1') : '0', by.toString('latin1'));
  if (sum === 'invalid') return error(NOT_A_FLOAT);
  if (sum === 'not-finite') return NOT_FINITE;
  const body = Buffer.from(sum, 'latin1');
  storeString(view, found, body, live?.deadlineMs ?? 0, 'float');
  view.notify?.('string', 'incrbyfloat', key);
  return bulk(body);
}

const column = {
  flags: ['write', 'denyoom', 'fast'],
  categories: ['string'],
  group: 'string',
  keys: FIRST_KEY,
} as const;

export const stringNumberCommands: readonly Command[] = [
  write({
    ...column,
    name: 'incr',
    arity: 2,
    since: '1.0.0',
    summary:
      'Increments the integer value of a key by one. Uses 0 as initial value if the key is absent.',
    parse: parseStep(1),
    run: runIncrement,
  }),
  write({
    ...column,
    name: 'decr',
    arity: 2,
    since: '1.0.0',
    summary:
      'Decrements the integer value of a key by one. Uses 0 as initial value if the key is absent.',
    parse: parseStep(-1),
    run: runIncrement,
  }),
  write({
    ...column,
    name: 'incrby',
    arity: 3,
    since: '1.0.0',
    summary: 'Increments the integer value of a key by a number. Uses 0 as initial value.',
    parse: parseIncrBy,
    run: runIncrement,
  }),
  write({
    ...column,
    name: 'decrby',
    arity: 3,
    since: '1.0.0',
    summary: 'Decrements a number from the integer value of a key. Uses 0 as initial value.',
    parse: parseDecrBy,
    run: runIncrement,
  }),
  write({
    ...column,
    name: 'incrbyfloat',
    arity: 3,
    since: '2.6.0',
    summary: 'Increments the floating point value of a key by a number. Uses 0 as initial value.',
    parse: parseIncrByFloat,
    run: runIncrByFloat,
  }),
];
