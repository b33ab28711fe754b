/** Arguments of sorted sets: numbers as C's strtod reads them, ranges of scores and of members. */
import { parseInteger } from '../../encoding/strings/string.ts';
import type { LexBound, LexBounds, ScoreBounds } from '../../encoding/zsets/zset-range.ts';
import type { Reply } from '../../resp/reply.ts';
import { ArgumentError } from '../rows/command.ts';

const NOT_A_FLOAT = 'ERR value is not a valid float';

// digits can be taken in one way only: what is none after a million of them is known in one go
const NUMBER =
  /^([+-]?)(?:(inf(?:inity)?)|0x(?:([\da-f]+)(?:\.([\da-f]*))?|\.([\da-f]+))(?:p([+-]?\d+))?|(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)$/i;
const NOT_ZERO = /^[+-]?(?:0x[\d.a-f]*[1-9a-f]|[\d.]*[1-9])/i;
/** Beyond, no power of two matters to a double. */
const BINARY_EXPONENT_MAX = 1_000_000;
const BINARY_STEP = 1_000;
const OPEN = 0x28;
const CLOSED = 0x5b;
const MINUS = 0x2d;
const PLUS = 0x2b;

export function scoreReply(score: number): Reply {
  return { kind: 'double', value: score };
}

/** A number that is an argument of its own; not nan, not too large, not too small. */
export function doubleArgument(arg: Buffer, message = NOT_A_FLOAT): number {
  const whole = parseInteger(arg);
  if (typeof whole === 'number') return whole;
  const text = arg.toString('latin1');
  const value = parseDouble(text);
  const isOut = Math.abs(value) === Number.POSITIVE_INFINITY && !/inf/i.test(text);
  const isGone = value === 0 && NOT_ZERO.test(text);
  if (Number.isNaN(value) || isOut || isGone) throw new ArgumentError(message);
  return value;
}

/** NaN when `text` is no number as a whole. */
function parseDouble(text: string): number {
  const match = NUMBER.exec(text);
  if (!match) return Number.NaN;
  const [, sign = '', infinite, whole, fraction = match[5], , power] = match;
  if (infinite !== undefined) return sign === '-' ? -Infinity : Infinity;
  if (whole === undefined && fraction === undefined) return Number(text);
  const value = hexadecimal(whole ?? '', fraction ?? '', Number(power ?? 0));
  return sign === '-' ? -value : value;
}

function hexadecimal(whole: string, fraction: string, power: number): number {
  let value = Number(BigInt(`0x${whole}${fraction}`));
  const bounded = Math.max(-BINARY_EXPONENT_MAX, Math.min(BINARY_EXPONENT_MAX, power));
  let exponent = bounded - 4 * fraction.length;
  while (exponent !== 0 && value !== 0 && Number.isFinite(value)) {
    const step = Math.max(-BINARY_STEP, Math.min(BINARY_STEP, exponent));
    value *= 2 ** step;
    exponent -= step;
  }
  return value;
}

/** min max: each with `(` when it is not part of the range itself. */
export function scoreBounds(min: Buffer, max: Buffer): ScoreBounds {
  const low = scoreBound(min);
  const high = scoreBound(max);
  return { min: low.score, max: high.score, minOpen: low.open, maxOpen: high.open };
}

function scoreBound(arg: Buffer): { readonly score: number; readonly open: boolean } {
  const open = arg[0] === OPEN;
  const text = arg.toString('latin1', open ? 1 : 0).split('\0', 1)[0]!;
  const score = text === '' ? 0 : parseDouble(text.replace(/^[ \t-\r]+/, ''));
  if (Number.isNaN(score)) throw new ArgumentError('ERR min or max is not a float');
  return { score, open };
}

/** min max: `[member`, `(member`, `-` or `+`. */
export function lexBounds(min: Buffer, max: Buffer): LexBounds {
  return { min: lexBound(min), max: lexBound(max) };
}

function lexBound(arg: Buffer): LexBound {
  const [kind, second = 0] = arg;
  if (kind === OPEN || kind === CLOSED) return { member: arg.subarray(1), open: kind === OPEN };
  if (kind === MINUS && second === 0) return '-';
  if (kind === PLUS && second === 0) return '+';
  throw new ArgumentError('ERR min or max not valid string range item');
}
