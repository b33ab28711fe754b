/** What blocking commands have in common (redis.io, "Blocking operations"): timeouts, forms. */
import { ceilThousandfold } from '../encoding/long-double.ts';
import { INT64_MAX } from '../encoding/string.ts';
import { ArgumentError } from './command.ts';

const NEGATIVE = 'ERR timeout is negative';
const OUT_OF_RANGE = 'ERR timeout is out of range';
/** Redis adds the time to it, in 64 bits; some hundred years less make no difference to anybody. */
const TIMEOUT_MS_MAX = INT64_MAX - 10_000_000_000_000n;

/** Seconds, fractions allowed, in milliseconds; 0: for ever. */
export function timeoutArgument(arg: Buffer): number {
  const timeoutMs = ceilThousandfold(arg.toString('latin1'));
  if (timeoutMs === 'invalid') {
    throw new ArgumentError('ERR timeout is not a float or out of range');
  }
  if (timeoutMs === 'infinite') throw new ArgumentError(OUT_OF_RANGE);
  if (timeoutMs === '-infinite' || timeoutMs < 0n) throw new ArgumentError(NEGATIVE);
  if (timeoutMs > TIMEOUT_MS_MAX) throw new ArgumentError(OUT_OF_RANGE);
  return Number(timeoutMs);
}

/** Arguments `NAME key [key ...] timeout`: the keys. */
export function keysBeforeTimeout(args: readonly Buffer[]): readonly Buffer[] {
  return args.slice(1, -1);
}

export const KEYS_BEFORE_TIMEOUT = { first: 1, last: -2, step: 1 };
export const NO_TIMEOUT = Buffer.from('0');
export const ONE_KEY = Buffer.from('1');
