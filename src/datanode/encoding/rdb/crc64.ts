/**
 * CRC-64 as Redis puts it behind a DUMP (Jones's polynomial 0xad93d23594c935a9, reflected, without
 * inversions). 64-bit numbers are two halves: several times as fast as bigints.
 */
import { GLANCE, giveWay, type Slices } from '../steps/slices.ts';

const POLYNOMIAL_HIGH = 0x95ac9329;
const POLYNOMIAL_LOW = 0xac4bc9b5;

const highs = new Int32Array(256);
const lows = new Int32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let [high, low] = [0, byte];
  for (let bit = 0; bit < 8; bit++) {
    const odd = (low & 1) === 1;
    low = (low >>> 1) | (high << 31);
    high >>>= 1;
    if (odd) {
      low ^= POLYNOMIAL_LOW;
      high ^= POLYNOMIAL_HIGH;
    }
  }
  highs[byte] = high;
  lows[byte] = low;
}

/** Bytes between two pauses: a quarter of a millisecond. */
const STEP_BYTES = 131_072;
/** Between two looks at the clock: the first ones take V8 thirty times as long, uncompiled. */
const GLANCE_BYTES = 8_192;

/** Eight bytes, little-endian, as they stand at the end of a DUMP. */
export function* crc64(bytes: Uint8Array): Slices<Buffer> {
  let sum: Sum = [0, 0];
  for (let at = 0; at < bytes.length; at += GLANCE_BYTES) {
    if (at % STEP_BYTES === STEP_BYTES - GLANCE_BYTES) yield* giveWay();
    else if (at > 0) yield GLANCE;
    sum = continued(sum, bytes.subarray(at, at + GLANCE_BYTES));
  }
  return encoded(sum);
}

/** The same of bytes that come one after the other, as of a whole file. */
export class RunningCrc64 {
  #sum: Sum = [0, 0];

  update(bytes: Uint8Array): void {
    this.#sum = continued(this.#sum, bytes);
  }

  /** Of all bytes until now, as they stand at the end of an RDB file. */
  digest(): Buffer {
    return encoded(this.#sum);
  }
}

type Sum = readonly [high: number, low: number];

function encoded([high, low]: Sum): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeInt32LE(low | 0, 0);
  bytes.writeInt32LE(high | 0, 4);
  return bytes;
}

function continued([startHigh, startLow]: Sum, bytes: Uint8Array): Sum {
  let [high, low] = [startHigh, startLow];
  for (let at = 0; at < bytes.length; at++) {
    const index = (low ^ bytes[at]!) & 0xff;
    low = ((low >>> 8) | (high << 24)) ^ lows[index]!;
    high = (high >>> 8) ^ highs[index]!;
  }
  return [high, low];
}
