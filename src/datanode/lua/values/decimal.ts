/**
 * Doubles in decimals as C's printf writes them: the exact value, rounded to even where two are as
 * near. JavaScript's toFixed and toExponential are exact as well, but take the larger of two.
 */
import { scaleByPowerOfTwo } from './binary.ts';

/** `%.{digits}f` of a number that is finite and not negative; up to 99 digits. */
export function fixedDecimal(x: number, digits: number): string {
  if (x >= 1e21) return BigInt(x).toString() + (digits > 0 ? `.${'0'.repeat(digits)}` : '');
  if (!isTie(x, digits)) return x.toFixed(digits);
  const below = x.toFixed(digits + 1).slice(0, -1);
  return endsEven(below) ? withoutPoint(below) : x.toFixed(digits);
}

/** Digits with a point behind the first, and the power of ten: `%.{digits}e` of the same. */
export function exponentDecimal(x: number, digits: number): readonly [string, number] {
  const [rounded, exponent] = halves(x.toExponential(digits));
  const [longer, exponentBelow] = halves(x.toExponential(digits + 1));
  if (!isTie(x, digits - exponentBelow)) return [rounded, exponent];
  const below = longer.slice(0, -1);
  return endsEven(below) ? [withoutPoint(below), exponentBelow] : [rounded, exponent];
}

/** `%.{precision}g` of the same; `isFull` (C's `#`): with the zeros at its end. */
export function generalDecimal(x: number, precision: number, isFull = false): string {
  const significant = Math.max(precision, 1);
  const [digits, exponent] = exponentDecimal(x, significant - 1);
  const isShort = exponent >= -4 && exponent < significant;
  const text = isShort ? placePoint(digits.replace('.', ''), exponent) : digits;
  const whole = isFull ? (text.includes('.') ? text : `${text}.`) : withoutZeros(text);
  return isShort ? whole : whole + exponentText(exponent);
}

/** As C writes it: with a sign, and at least two digits. */
export function exponentText(exponent: number): string {
  return `e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** Whether `x` is just in the middle of two numbers with so many digits behind the point. */
function isTie(x: number, digits: number): boolean {
  if (digits >= 0) {
    const scaled = scaleByPowerOfTwo(x, digits + 1);
    return Number.isInteger(scaled) && scaled % 2 === 1;
  }
  if (!Number.isInteger(x)) return false;
  const unit = 10n ** BigInt(-digits);
  return (BigInt(x) % unit) * 2n === unit;
}

function halves(text: string): [string, number] {
  const at = text.indexOf('e');
  return [text.slice(0, at), Number(text.slice(at + 1))];
}

function endsEven(digits: string): boolean {
  return /[02468]\.?$/.test(digits);
}

function withoutPoint(digits: string): string {
  return digits.endsWith('.') ? digits.slice(0, -1) : digits;
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0*$/, '') : text;
}

function placePoint(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1);
  return digits.length > exponent + 1 ? `${whole}.${digits.slice(exponent + 1)}` : whole;
}
