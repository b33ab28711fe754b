/** Doubles with a fixed number of decimals, as C's printf rounds them: exactly, ties to even. */

const FRACTION_BITS = 52;
const EXPONENT_BIAS = 1_075;

export function fixedDecimal(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const digits = scaledUp(Math.abs(value), decimals)
    .toString()
    .padStart(decimals + 1, '0');
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Up to 17 decimals without the zeros at the end: how Redis prints coordinates. */
export function humanDecimal(value: number): string {
  const text = fixedDecimal(value, 17).replace(/\.?0+$/, '');
  return text === '-0' ? '0' : text;
}

/** value × 10^decimals as the nearest whole number. */
function scaledUp(value: number, decimals: number): bigint {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  const bits = bytes.readBigUInt64BE();
  const power = Number(bits >> BigInt(FRACTION_BITS));
  const fraction = bits & ((1n << BigInt(FRACTION_BITS)) - 1n);
  const mantissa = power === 0 ? fraction : fraction | (1n << BigInt(FRACTION_BITS));
  const exponent = Math.max(power, 1) - EXPONENT_BIAS;
  const scaled = mantissa * 10n ** BigInt(decimals);
  if (exponent >= 0) return scaled << BigInt(exponent);
  const shift = BigInt(-exponent);
  const whole = scaled >> shift;
  const rest = scaled - (whole << shift);
  const half = 1n << (shift - 1n);
  return rest > half || (rest === half && (whole & 1n) === 1n) ? whole + 1n : whole;
}
