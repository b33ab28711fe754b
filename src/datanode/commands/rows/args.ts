/** Parsing of arguments. Parsers throw ArgumentError with Redis's text; the builders catch it. */
import { assert } from '../../../common/assert.ts';
import { INT64_MAX, parseInteger } from '../../encoding/strings/string.ts';
import { error } from '../../resp/reply.ts';
import { ArgumentError } from './command.ts';

const INT_MIN = -(2 ** 31);
const INT_MAX = 2 ** 31 - 1;
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';
export const SYNTAX_ERROR = 'ERR syntax error';
export const WRONG_TYPE = error(
  'WRONGTYPE Operation against a key holding the wrong kind of value',
);
export const NO_SUCH_KEY = error('ERR no such key');
export const TOO_LONG = error('ERR string exceeds maximum allowed size (proto-max-bulk-len)');

/** Argument `at`, which the arity (checked before) promises. */
export function argument(args: readonly Buffer[], at: number): Buffer {
  const found = args[at];
  if (found === undefined) assert(false, `argument ${at} is there: arity was checked`);
  return found;
}

/** The argument as C sees a text: up to a zero byte. So Redis reads options and cursors. */
export function textBytes(arg: Buffer): Buffer {
  const end = arg.indexOf(0);
  return end < 0 ? arg : arg.subarray(0, end);
}

/** An option or subcommand word, lower case. */
export function word(arg: Buffer): string {
  return textBytes(arg).toString('latin1').toLowerCase();
}

/** An argument as an error repeats it. */
export function shownText(arg: Buffer): string {
  return textBytes(arg).toString();
}

/** A 64-bit integer: a number when short, a bigint otherwise. */
export function integerArgument(arg: Buffer, message = NOT_AN_INTEGER): number | bigint {
  const value = parseInteger(arg);
  if (value === undefined) throw new ArgumentError(message);
  return value;
}

/** A 32-bit integer, as numbers of databases are. */
export function intArgument(arg: Buffer): number {
  const value = integerArgument(arg);
  if (value < INT_MIN || value > INT_MAX) {
    throw new ArgumentError(
      `ERR value is out of range, value must between ${INT_MIN} and ${INT_MAX}`,
    );
  }
  return Number(value);
}

/** An integer that is used as a count: what exceeds a safe integer is cut to one. */
export function countArgument(arg: Buffer, message = NOT_AN_INTEGER): number {
  const value = integerArgument(arg, message);
  if (typeof value === 'number') return value;
  return value > 0 ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
}

export function syntaxError(): ArgumentError {
  return new ArgumentError(SYNTAX_ERROR);
}

export function wrongArity(name: string): ArgumentError {
  return new ArgumentError(`ERR wrong number of arguments for '${name}' command`);
}

export interface ExpiryOption {
  /** As given: seconds or milliseconds, from now or since 1970. */
  readonly value: number | bigint;
  readonly unit: 'seconds' | 'milliseconds';
  readonly relative: boolean;
}

/** EX, PX, EXAT or PXAT. */
export function expiryOption(option: string, arg: Buffer): ExpiryOption {
  return {
    value: integerArgument(arg),
    unit: option.startsWith('p') ? 'milliseconds' : 'seconds',
    relative: !option.endsWith('at'),
  };
}

/**
 * The deadline in milliseconds since 1970, or undefined where Redis says "invalid expire time".
 * Deadlines beyond 2^53 ms (the year 287,396) are cut to that.
 */
export function deadlineOf(
  { value, unit, relative }: ExpiryOption,
  nowMs: number,
  positive: boolean,
): number | undefined {
  if (positive && value <= 0) return undefined;
  let exact = BigInt(value);
  if (unit === 'seconds') {
    exact *= 1000n;
    if (exact > INT64_MAX || exact < -INT64_MAX) return undefined;
  }
  if (relative) {
    exact += BigInt(nowMs);
    if (exact > INT64_MAX) return undefined;
  }
  return clampToSafe(exact);
}

export function invalidExpireTime(command: string): string {
  return `ERR invalid expire time in '${command}' command`;
}

function clampToSafe(exact: bigint): number {
  if (exact > BigInt(Number.MAX_SAFE_INTEGER)) return Number.MAX_SAFE_INTEGER;
  if (exact < BigInt(Number.MIN_SAFE_INTEGER)) return Number.MIN_SAFE_INTEGER;
  return Number(exact);
}
