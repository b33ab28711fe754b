/**
 * The number that a text is to SORT: what C's strtod makes of it, if that uses all of it. Leading
 * space, hexadecimal and infinity are numbers to it, and so is nothing at all. Each expression takes
 * digits in one way only: what is no number after a million of them is known in one go.
 */
const DECIMAL = /^[ \t-\r]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const INFINITY = /^[ \t-\r]*([+-]?)inf(?:inity)?$/i;
const HEXADECIMAL =
  /^[ \t-\r]*([+-]?)0x(?=[0-9a-f]|\.[0-9a-f])([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?\d+))?$/i;
/** Below, strtod says that the result is out of range. */
const NORMAL_MIN = 2 ** -1022;

/** Undefined where Redis says that it can't be converted into a double. */
export function sortScore(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(0);
  const text = bytes.toString('latin1', 0, end === -1 ? bytes.length : end);
  if (text === '') return 0;
  if (DECIMAL.test(text)) return inRange(Number(text), /[1-9]/.test(text.replace(/e.*/i, '')));
  const infinity = INFINITY.exec(text);
  if (infinity) return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const hexadecimal = HEXADECIMAL.exec(text);
  return hexadecimal ? hexadecimalScore(hexadecimal) : undefined;
}

function hexadecimalScore(match: RegExpExecArray): number | undefined {
  const [, sign, whole = '', fraction = '', power = '0'] = match;
  const mantissa = Number(BigInt(`0x${whole}${fraction}`));
  const exponent = Number(power) - 4 * fraction.length;
  // two steps: a power of two may be out of range where the product is not
  const half = Math.trunc(exponent / 2);
  const value = mantissa === 0 ? 0 : mantissa * 2 ** half * 2 ** (exponent - half);
  return inRange(sign === '-' ? -value : value, mantissa !== 0);
}

function inRange(value: number, nonZero: boolean): number | undefined {
  if (!Number.isFinite(value)) return undefined;
  return nonZero && Math.abs(value) < NORMAL_MIN ? undefined : value;
}
