/** What blocking commands have in common (redis.io, "Blocking operations"): timeouts, forms. */
import { ceilThousandfold } from '../../encoding/strings/long-double.ts';
import { INT64_MAX } from '../../encoding/strings/string.ts';
import { argument } from '../rows/args.ts';
import { ArgumentError, type BlockingForm } from '../rows/command.ts';
import { countedKeys } from '../zsets/zset-keys.ts';

const NEGATIVE = 'ERR timeout is negative';
const OUT_OF_RANGE = 'ERR timeout is out of range';
/** Redis adds the time to it, in 64 bits; some hundred years less make no difference to anybody. */
const TIMEOUT_MS_MAX = INT64_MAX - 10_000_000_000_000n;
const NO_TIMEOUT = Buffer.from('0');
const ONE_KEY = Buffer.from('1');

type Form = (args: readonly Buffer[]) => BlockingForm;

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

export const KEYS_BEFORE_TIMEOUT = { first: 1, last: -2, step: 1 };

/** NAME key [key ...] timeout */
export function keysThenTimeout(args: readonly Buffer[]) {
  return { keys: args.slice(1, -1), timeoutMs: timeoutArgument(args.at(-1)!) };
}

/** Of commands with those arguments. */
export function popForm(type: BlockingForm['type']): Form {
  return (args) => ({
    ...keysThenTimeout(args),
    type,
    only: (key) => [args[0]!, key, NO_TIMEOUT],
  });
}

/** NAME timeout numkeys key [key ...] …: the keys. */
export const multiPopKeys = (args: readonly Buffer[]) => countedKeys(1)(args.slice(1));

/** Those arguments, of which `parse` takes what its command has without the timeout. */
export function afterTimeout<Parsed>(parse: (args: readonly Buffer[]) => Parsed) {
  return (args: readonly Buffer[]): Parsed => {
    const parsed = parse(args.slice(1));
    timeoutArgument(argument(args, 1));
    return parsed;
  };
}

export function multiPopForm(type: BlockingForm['type']): Form {
  return (args) => {
    const keys = multiPopKeys(args);
    return {
      keys,
      type,
      timeoutMs: timeoutArgument(argument(args, 1)),
      only: (key) => [args[0]!, NO_TIMEOUT, ONE_KEY, key, ...args.slice(3 + keys.length)],
    };
  };
}
