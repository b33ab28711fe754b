/**
 * The arithmetic of INCRBYFLOAT: x87 long doubles (64-bit mantissa, as Redis on x86-64), exactly,
 * in bigints; printed with up to 17 decimals, trailing zeros removed.
 */
interface LongDouble {
  /** Signed; at most 64 bits. The value is mantissa × 2^exponent. */
  readonly mantissa: bigint;
  readonly exponent: number;
}

const MANTISSA_BITS = 64;
const EXPONENT_MIN = -16_445;
/** Values from 2^16384 on are infinite. */
const EXPONENT_TOP = 16_384;
const DECIMALS = 17;
const TEXT_MAX = 5 * 1024;
/** Decimal exponents beyond are infinite or zero whatever the digits (at most TEXT_MAX of them). */
const DECIMAL_EXPONENT_MAX = 12_000;
/** The same for binary exponents of hexadecimal numbers, whose digits have four bits each. */
const BINARY_EXPONENT_MAX = 40_000;
const HEXADECIMAL = /^([+-]?)0x(?:([\da-f]+)(?:\.([\da-f]*))?|\.([\da-f]+))(?:p([+-]?\d+))?$/i;
const DECIMAL = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:e([+-]?\d+))?$/i;
const INFINITY = /^[+-]?inf(?:inity)?$/i;

/** The sum of two numbers in C's notation (`strtold`); `invalid` where Redis says "not a valid float". */
export function addDecimal(left: string, right: string): string | 'invalid' | 'not-finite' {
  const a = parseLongDouble(left);
  const b = parseLongDouble(right);
  if (a === undefined || b === undefined) return 'invalid';
  if (a === 'infinite' || b === 'infinite') return 'not-finite';
  const exponent = Math.min(a.exponent, b.exponent);
  const sum = align(a, exponent) + align(b, exponent);
  const rounded = roundQuotient(sum, 1n, exponent);
  return rounded === 'infinite' ? 'not-finite' : printLongDouble(rounded);
}

/**
 * `text` × 1,000, in whole numbers, rounded up: seconds in milliseconds. `invalid` where `strtold`
 * or Redis refuses it; infinite ones have the sign of what they are.
 */
export function ceilThousandfold(text: string): bigint | 'invalid' | 'infinite' | '-infinite' {
  const value = parseLongDouble(text);
  if (value === undefined) return 'invalid';
  const infinite = text.startsWith('-') ? '-infinite' : 'infinite';
  if (value === 'infinite') return infinite;
  const product = roundQuotient(value.mantissa * 1_000n, 1n, value.exponent);
  if (product === 'infinite') return infinite;
  const { mantissa, exponent } = product;
  if (exponent >= 0) return mantissa << BigInt(exponent);
  return -(-mantissa >> BigInt(-exponent));
}

function align({ mantissa, exponent }: LongDouble, to: number): bigint {
  return mantissa << BigInt(exponent - to);
}

function parseLongDouble(text: string): LongDouble | 'infinite' | undefined {
  if (text.length === 0 || text.length >= TEXT_MAX) return undefined;
  if (INFINITY.test(text)) return 'infinite';
  const match = DECIMAL.exec(text);
  if (!match) return parseHexadecimal(text);
  const [, sign, whole = '', fraction = match[4] ?? '', , power = '0'] = match;
  const digits = BigInt(whole + fraction);
  if (digits === 0n) return { mantissa: 0n, exponent: 0 };
  const scale = Number(power) - fraction.length;
  if (Math.abs(scale) > DECIMAL_EXPONENT_MAX) return undefined;
  const signed = sign === '-' ? -digits : digits;
  const rounded =
    scale >= 0
      ? roundQuotient(signed * 10n ** BigInt(scale), 1n, 0)
      : roundQuotient(signed, 10n ** BigInt(-scale), 0);
  // Redis refuses what overflows, and what underflows to zero.
  return rounded === 'infinite' || rounded.mantissa === 0n ? undefined : rounded;
}

function parseHexadecimal(text: string): LongDouble | undefined {
  const match = HEXADECIMAL.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = match[4] ?? '', , power = '0'] = match;
  const digits = BigInt(`0x${whole}${fraction}`);
  if (digits === 0n) return { mantissa: 0n, exponent: 0 };
  const exponent = Number(power) - 4 * fraction.length;
  if (Math.abs(exponent) > BINARY_EXPONENT_MAX) return undefined;
  const rounded = roundQuotient(sign === '-' ? -digits : digits, 1n, exponent);
  return rounded === 'infinite' || rounded.mantissa === 0n ? undefined : rounded;
}

/** numerator / denominator × 2^exponent, to the nearest long double, ties to even. */
function roundQuotient(
  numerator: bigint,
  denominator: bigint,
  exponent: number,
): LongDouble | 'infinite' {
  if (numerator === 0n) return { mantissa: 0n, exponent: 0 };
  const negative = numerator < 0n;
  const top = negative ? -numerator : numerator;
  const shift = Math.min(
    MANTISSA_BITS - (bitLength(top) - bitLength(denominator)),
    exponent - EXPONENT_MIN,
  );
  let mantissa = divideRounded(top, denominator, shift);
  let shifted = exponent - shift;
  if (bitLength(mantissa) > MANTISSA_BITS) {
    // one bit too many: round again from the exact value
    mantissa = divideRounded(top, denominator, shift - 1);
    shifted++;
  }
  if (bitLength(mantissa) + shifted > EXPONENT_TOP) return 'infinite';
  return { mantissa: negative ? -mantissa : mantissa, exponent: shifted };
}

/** top / bottom × 2^shift, rounded to the nearest whole number, ties to even. */
function divideRounded(top: bigint, bottom: bigint, shift: number): bigint {
  const scaledTop = shift > 0 ? top << BigInt(shift) : top;
  const scaledBottom = shift < 0 ? bottom << BigInt(-shift) : bottom;
  const quotient = scaledTop / scaledBottom;
  const twice = (scaledTop % scaledBottom) * 2n;
  const up = twice > scaledBottom || (twice === scaledBottom && (quotient & 1n) === 1n);
  return up ? quotient + 1n : quotient;
}

function printLongDouble({ mantissa, exponent }: LongDouble): string {
  const negative = mantissa < 0n;
  const digits = divideRounded(
    (negative ? -mantissa : mantissa) * 10n ** BigInt(DECIMALS),
    1n,
    exponent,
  )
    .toString()
    .padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  const whole = digits.slice(0, -DECIMALS);
  const text = fraction === '' ? whole : `${whole}.${fraction}`;
  return negative && text !== '0' ? `-${text}` : text;
}

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(16).length * 4 - leadingZeros(value);
}

function leadingZeros(value: bigint): number {
  const first = Number.parseInt(value.toString(16)[0]!, 16);
  return Math.clz32(first) - 28;
}
