/** Numbers of JSON documents: how they are read, written and added up (as RedisJSON's, which are serde_json's). */
import { INT64_MAX, INT64_MIN } from '../strings/string.ts';
import { Double, type Json } from './json-value.ts';

const UINT64_MAX = 2n ** 64n - 1n;
/** With a sign. What is longer has no 64 bits, and millions of digits take long to become a bigint. */
const WHOLE_DIGITS_MAX = 21;

/** Undefined: no number is so large. `text` has the form of a JSON number. */
export function jsonNumber(text: string): number | bigint | Double | undefined {
  if (text.length <= WHOLE_DIGITS_MAX && isWhole(text)) {
    const number = Number(text);
    if (Number.isSafeInteger(number)) return Object.is(number, -0) ? new Double(-0) : number;
    const exact = BigInt(text);
    if (exact >= INT64_MIN && exact <= UINT64_MAX) return exact;
  }
  const value = Number(text);
  return Number.isFinite(value) ? new Double(value) : undefined;
}

function isWhole(text: string): boolean {
  return !/[.eE]/.test(text);
}

/** A whole number in the form in which documents have it. */
export function wholeNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * The shortest digits that are read back as the same double, with a point or an exponent: `1.0`, `1e16`.
 * As Rust's ryu writes them: without an exponent while the point lies within 16 digits or 5 zeros.
 */
export function doubleText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  if (value === 0) return '0.0';
  const [mantissa = '', exponent = ''] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const sign = value < 0 ? '-' : '';
  return sign + placed(digits, Number(exponent) + 1);
}

/** `point`: how many digits stand before it; 0 and less: zeros come first. */
function placed(digits: string, point: number): string {
  const { length } = digits;
  if (point >= length && point <= 16) return `${digits}${'0'.repeat(point - length)}.0`;
  if (point > 0 && point <= 16) return `${digits.slice(0, point)}.${digits.slice(point)}`;
  if (point > -5 && point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
  const rest = length > 1 ? `.${digits.slice(1)}` : '';
  return `${digits[0]}${rest}e${point - 1}`;
}

type Operation = 'add' | 'multiply';

/**
 * Whole numbers give a whole one while it has 64 bits, others a double. Undefined: the result is none
 * that JSON has.
 */
export function combined(
  operation: Operation,
  a: number | bigint | Double,
  b: number | bigint | Double,
): Json | undefined {
  if (!(a instanceof Double) && !(b instanceof Double)) {
    const exact = operation === 'add' ? BigInt(a) + BigInt(b) : BigInt(a) * BigInt(b);
    if (exact >= INT64_MIN && exact <= INT64_MAX) return wholeNumber(exact);
  }
  const [x, y] = [doubleOf(a), doubleOf(b)];
  const value = operation === 'add' ? x + y : x * y;
  return Number.isFinite(value) ? new Double(value) : undefined;
}

function doubleOf(value: number | bigint | Double): number {
  return value instanceof Double ? value.value : Number(value);
}
