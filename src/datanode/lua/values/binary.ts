/** Doubles taken apart and put together by powers of two, exactly: `Math.pow` promises no last bit. */

const cell = new DataView(new ArrayBuffer(8));

/** 2 to the power of a whole number from -1022 to 1023. */
function powerOfTwo(exponent: number): number {
  cell.setUint32(0, (exponent + 1023) << 20);
  cell.setUint32(4, 0);
  return cell.getFloat64(0);
}

const LARGEST = powerOfTwo(1023);
/** Leaves 53 bits above what is not normal any more, so that only the last product rounds. */
const SMALL = powerOfTwo(-969);

/** `x * 2^exponent`, rounded once. */
export function scaleByPowerOfTwo(x: number, exponent: number): number {
  let scaled = x;
  let left = exponent;
  for (let step = 0; step < 2 && left > 1023; step++) {
    scaled *= LARGEST;
    left -= 1023;
  }
  for (let step = 0; step < 2 && left < -1022; step++) {
    scaled *= SMALL;
    left += 969;
  }
  return scaled * powerOfTwo(Math.max(-1022, Math.min(1023, left)));
}

/** `[m, e]` with `x = m * 2^e` and 0.5 <= |m| < 1, or m = x and e = 0 where there is none. */
export function splitByPowerOfTwo(x: number): [number, number] {
  if (x === 0 || !Number.isFinite(x)) return [x, 0];
  cell.setFloat64(0, x);
  const high = cell.getUint32(0);
  const exponent = (high >>> 20) & 0x7ff;
  if (exponent === 0) {
    const [mantissa, lower] = splitByPowerOfTwo(x * powerOfTwo(64));
    return [mantissa, lower - 64];
  }
  cell.setUint32(0, ((high & 0x800fffff) | (1022 << 20)) >>> 0);
  return [cell.getFloat64(0), exponent - 1022];
}
