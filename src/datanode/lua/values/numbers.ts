/** Numbers as texts, as Lua 5.1 with a C library of GNU writes and reads them. */
import { scaleByPowerOfTwo } from './binary.ts';
import { generalDecimal } from './decimal.ts';

/** What all NaNs are written as: JavaScript does not show their sign, and processors make this one. */
const NAN_TEXT = '-nan';

/** From here on `%.14g` writes whole numbers with an exponent. */
const LONGEST_WHOLE = 1e14;

/** As `tostring` and `..` write it: C's `%.14g`. */
export function formatNumber(n: number): string {
  if (Number.isInteger(n) && n > -LONGEST_WHOLE && n < LONGEST_WHOLE) {
    return n === 0 && 1 / n < 0 ? '-0' : String(n);
  }
  if (!Number.isFinite(n)) return unusualText(n);
  return n < 0 ? `-${generalDecimal(-n, 14)}` : generalDecimal(n, 14);
}

/** Of a number that is not finite. */
export function unusualText(n: number): string {
  if (Number.isNaN(n)) return NAN_TEXT;
  return n < 0 ? '-inf' : 'inf';
}

// A point has to be there between two runs of digits: else what is no number takes time of its length squared.
const DECIMAL = /^(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const HEXADECIMAL = /^0x(?=\.?[0-9a-f])([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?\d+))?$/i;
const INFINITE = /^inf(?:inity)?$/i;
const NOT_A_NUMBER = /^nan(?:\(\w*\))?$/i;
/** C's isspace. */
const SPACES = ' \t\n\v\f\r';

/** As `tonumber` without a base reads it, and arithmetic with strings: C's strtod, up to a zero byte. */
export function parseNumber(text: string): number | undefined {
  const zero = text.indexOf('\0');
  const trimmed = trim(zero < 0 ? text : text.slice(0, zero));
  const sign = trimmed[0];
  const digits = sign === '-' || sign === '+' ? trimmed.slice(1) : trimmed;
  const size = parseUnsigned(digits);
  return size !== undefined && sign === '-' ? -size : size;
}

function parseUnsigned(digits: string): number | undefined {
  if (DECIMAL.test(digits)) return Number(digits);
  const hexadecimal = HEXADECIMAL.exec(digits);
  if (hexadecimal) {
    const [, whole, fraction, exponent] = hexadecimal;
    return ofHexadecimal(whole!, fraction ?? '', exponent ?? '0');
  }
  if (INFINITE.test(digits)) return Infinity;
  return NOT_A_NUMBER.test(digits) ? Number.NaN : undefined;
}

/** Rounded once, to even, also where the result is smaller than normal numbers. */
function ofHexadecimal(whole: string, fraction: string, power: string): number {
  const all = BigInt(`0x${whole}${fraction}`);
  if (all === 0n) return 0;
  const bits = bitLength(all);
  const exponent = Number(power) - 4 * fraction.length;
  if (exponent + bits > 1024) return Infinity;
  if (exponent + bits < -1074) return 0;
  const cut = Math.max(bits - 53, -1074 - exponent, 0);
  return scaleByPowerOfTwo(Number(roundedRight(all, cut)), exponent + cut);
}

function bitLength(positive: bigint): number {
  const digits = positive.toString(16);
  return 4 * (digits.length - 1) + (32 - Math.clz32(Number.parseInt(digits[0]!, 16)));
}

function roundedRight(value: bigint, bits: number): bigint {
  if (bits === 0) return value;
  const floor = value >> BigInt(bits);
  const rest = value - (floor << BigInt(bits));
  const half = 1n << BigInt(bits - 1);
  return rest > half || (rest === half && (floor & 1n) === 1n) ? floor + 1n : floor;
}

function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACES.includes(text[start]!)) start++;
  while (end > start && SPACES.includes(text[end - 1]!)) end--;
  return text.slice(start, end);
}
