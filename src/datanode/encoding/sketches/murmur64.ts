/**
 * MurmurHash64A (public domain, Appleby) with the seed of Redis's HyperLogLogs: it decides which
 * register an element belongs to, so sketches are only interchangeable with this very hash.
 * 64-bit numbers are two unsigned halves: several times as fast as bigints.
 */
const M_HIGH = 0xc6a4a793;
const M_LOW = 0x5bd1e995;
const SEED = 0xadc83b19;
const SHIFT = 47 - 32;

/** Halves of the state, low and high, as the steps below leave them. */
interface State {
  low: number;
  high: number;
}

/** The 64-bit hash as unsigned halves, the more significant first. */
export function sketchHash(bytes: Buffer): readonly [high: number, low: number] {
  const { length } = bytes;
  const hash: State = { low: length >>> 0, high: 0 };
  multiply(hash);
  hash.low = (hash.low ^ SEED) >>> 0;
  const part: State = { low: 0, high: 0 };
  const blocksEnd = length & ~7;
  for (let at = 0; at < blocksEnd; at += 8) {
    part.low = bytes.readUInt32LE(at);
    part.high = bytes.readUInt32LE(at + 4);
    multiply(part);
    fold(part);
    multiply(part);
    hash.low = (hash.low ^ part.low) >>> 0;
    hash.high = (hash.high ^ part.high) >>> 0;
    multiply(hash);
  }
  if (blocksEnd < length) {
    for (let at = blocksEnd; at < length; at++) {
      const shift = (at - blocksEnd) * 8;
      if (shift < 32) hash.low = (hash.low ^ (bytes[at]! << shift)) >>> 0;
      else hash.high = (hash.high ^ (bytes[at]! << (shift - 32))) >>> 0;
    }
    multiply(hash);
  }
  fold(hash);
  multiply(hash);
  fold(hash);
  return [hash.high, hash.low];
}

/** state ^= state >> 47 */
function fold(state: State): void {
  state.low = (state.low ^ (state.high >>> SHIFT)) >>> 0;
}

/** state *= M, modulo 2^64 */
function multiply(state: State): void {
  const { low, high } = state;
  const cross = Math.imul(low, M_HIGH) + Math.imul(high, M_LOW);
  const [lowTop, lowBottom] = [low >>> 16, low & 0xffff];
  const [mTop, mBottom] = [M_LOW >>> 16, M_LOW & 0xffff];
  const bottom = lowBottom * mBottom;
  const middle = lowTop * mBottom + (bottom >>> 16);
  const other = lowBottom * mTop + (middle & 0xffff);
  const carried = lowTop * mTop + Math.floor(middle / 0x1_0000) + Math.floor(other / 0x1_0000);
  state.low = Math.imul(low, M_LOW) >>> 0;
  state.high = (cross + carried) >>> 0;
}
