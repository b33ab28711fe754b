/**
 * `x ^ y`, as `math.pow` and the operator have it. `Math.pow` may differ in its last bit from one version
 * of Node.js to the next, so powers that people calculate with are made of products here: whole ones, with
 * twice the digits of a double in between, so that they are rounded once.
 */
import { scaleByPowerOfTwo, splitByPowerOfTwo } from './binary.ts';

const EXPONENT_MAX = 1100;
const SPLITTER = 2 ** 27 + 1;

export function power(x: number, y: number): number {
  if (y === 2) return x * x;
  if (y === 0.5 && x >= 0) return Math.sqrt(x);
  if (Number.isInteger(y) && Math.abs(y) <= EXPONENT_MAX && Number.isFinite(x) && x !== 0) {
    return wholePower(x, y);
  }
  // C: 1 to whatever power is 1, and so is −1 to an infinite one.
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  return x ** y;
}

/** A number as a sum of two, of which the second is less than the first's last digit, times a power of 2. */
interface Long {
  readonly high: number;
  readonly low: number;
  readonly exponent: number;
}

function wholePower(x: number, y: number): number {
  const [mantissa, exponent] = splitByPowerOfTwo(x);
  let square: Long = { high: mantissa, low: 0, exponent };
  let product: Long = { high: 1, low: 0, exponent: 0 };
  for (let left = Math.abs(y); left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) product = times(product, square);
    if (left > 1) square = times(square, square);
  }
  const { high, low, exponent: power } = y < 0 ? inverse(product) : product;
  return scaleByPowerOfTwo(high + low, power);
}

function times(a: Long, b: Long): Long {
  const high = a.high * b.high;
  const low = productRest(a.high, b.high, high) + (a.high * b.low + a.low * b.high);
  return normal(high, low, a.exponent + b.exponent);
}

function inverse(a: Long): Long {
  const high = 1 / a.high;
  const product = a.high * high;
  const rest = 1 - product - productRest(a.high, high, product) - a.low * high;
  return normal(high, rest / a.high, -a.exponent);
}

/** `a * b - product`, which is a double (Dekker). */
function productRest(a: number, b: number, product: number): number {
  const [aHigh, aLow] = halves(a);
  const [bHigh, bLow] = halves(b);
  return aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

function halves(a: number): readonly [number, number] {
  const scaled = SPLITTER * a;
  const high = scaled - (scaled - a);
  return [high, a - high];
}

function normal(high: number, low: number, exponent: number): Long {
  const sum = high + low;
  const rest = low - (sum - high);
  const [mantissa, shift] = splitByPowerOfTwo(sum);
  return { high: mantissa, low: scaleByPowerOfTwo(rest, -shift), exponent: exponent + shift };
}
