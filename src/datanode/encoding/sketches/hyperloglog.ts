/**
 * HyperLogLog sketches in Redis's bytes: `HYLL` · encoding u8 · 3 unused · cached cardinality u64
 * little-endian, whose highest bit says that it is stale · 16,384 registers. Dense: 6 bits each,
 * the lowest bits of a byte first. Sparse: run lengths, see `sparse-sketch.ts`. A register holds
 * the longest run of zeros seen in the hashes that fall on it, plus one.
 */
import { sketchHash } from './murmur64.ts';
import { expandSparse, patchSparse } from './sparse-sketch.ts';

export const REGISTERS = 16_384;
const INDEX_BITS = 14;
/** Bits of the hash that runs of zeros are counted in. */
const RUN_BITS = 64 - INDEX_BITS;
const REGISTER_BITS = 6;
const SKETCH_HEADER_BYTES = 16;
const DENSE_BYTES = SKETCH_HEADER_BYTES + (REGISTERS * REGISTER_BITS) / 8;
/** Redis's default of hll-sparse-max-bytes, the header included. */
const SPARSE_BYTES_MAX = 3_000;
/** 1 / (2 ln 2) */
const ALPHA_INFINITY = 0.7213475204444817;

const MAGIC = Buffer.from('HYLL');
const ENCODING_AT = 4;
const CARDINALITY_AT = 8;
const STALE_AT = 15;
const STALE = 0x80;
const [DENSE, SPARSE] = [0, 1];

/** Registers one by one, a byte each. */
export type Registers = Uint8Array;

/** A sketch of nothing: sparse, one run of zeros. */
export function emptySketch(): Buffer {
  const sketch = Buffer.alloc(SKETCH_HEADER_BYTES + 2);
  MAGIC.copy(sketch);
  sketch[ENCODING_AT] = SPARSE;
  sketch.writeUInt16BE(0x4000 | (REGISTERS - 1), SKETCH_HEADER_BYTES);
  return sketch;
}

/** True when header and length are those of a sketch; its runs may still be corrupt. */
export function isSketch(bytes: Buffer): boolean {
  if (bytes.length < SKETCH_HEADER_BYTES || !bytes.subarray(0, 4).equals(MAGIC)) return false;
  const encoding = bytes[ENCODING_AT]!;
  return encoding === SPARSE || (encoding === DENSE && bytes.length === DENSE_BYTES);
}

export function isDense(sketch: Buffer): boolean {
  return sketch[ENCODING_AT] === DENSE;
}

/** Changes `sketch`: whoever reads the cardinality next has to count. */
export function markStale(sketch: Buffer): void {
  sketch[STALE_AT]! |= STALE;
}

/** The cardinality that Redis left in the sketch; undefined when it is stale. */
export function cachedCardinality(sketch: Buffer): bigint | undefined {
  if ((sketch[STALE_AT]! & STALE) !== 0) return undefined;
  return sketch.readBigUInt64LE(CARDINALITY_AT);
}

/** The sketch, changed in place or replaced, after an element; `corrupt` when its runs are. */
export function addElement(
  sketch: Buffer,
  element: Buffer,
): { readonly sketch: Buffer; readonly changed: boolean } | 'corrupt' {
  const [high, low] = sketchHash(element);
  return raiseRegister(sketch, low & (REGISTERS - 1), zerosOf(high, low) + 1);
}

/** Sets a register that is lower than `value` to it. */
export function raiseRegister(
  sketch: Buffer,
  index: number,
  value: number,
): { readonly sketch: Buffer; readonly changed: boolean } | 'corrupt' {
  if (isDense(sketch)) {
    const changed = readDense(sketch, index) < value;
    if (changed) writeDense(sketch, index, value);
    return { sketch, changed };
  }
  const patched = patchSparse(sketch, SKETCH_HEADER_BYTES, index, value, SPARSE_BYTES_MAX);
  if (patched === 'corrupt') return 'corrupt';
  if (patched === 'lower') return { sketch, changed: false };
  if (patched !== 'full') {
    markStale(patched);
    return { sketch: patched, changed: true };
  }
  const dense = toDense(sketch);
  return dense === 'corrupt' ? 'corrupt' : raiseRegister(dense, index, value);
}

/** The dense form of the same registers and header; a dense sketch as it is. */
export function toDense(sketch: Buffer): Buffer | 'corrupt' {
  if (isDense(sketch)) return sketch;
  const registers = new Uint8Array(REGISTERS);
  if (!expandSparse(sketch.subarray(SKETCH_HEADER_BYTES), registers)) return 'corrupt';
  const dense = Buffer.alloc(DENSE_BYTES);
  sketch.copy(dense, 0, 0, SKETCH_HEADER_BYTES);
  dense[ENCODING_AT] = DENSE;
  for (let index = 0; index < REGISTERS; index++) {
    if (registers[index] !== 0) writeDense(dense, index, registers[index]!);
  }
  return dense;
}

/** Raises each of `registers` to the sketch's; false when the sketch's runs are corrupt. */
export function mergeInto(registers: Registers, sketch: Buffer): boolean {
  if (!isDense(sketch)) return expandSparse(sketch.subarray(SKETCH_HEADER_BYTES), registers);
  for (let index = 0; index < REGISTERS; index++) {
    const value = readDense(sketch, index);
    if (value > registers[index]!) registers[index] = value;
  }
  return true;
}

/**
 * How many different elements the registers have seen, by Ertl's estimator ("New cardinality
 * estimation algorithms for HyperLogLog sketches", arXiv:1702.01284), in Redis's order of
 * floating-point operations.
 */
export function estimate(registers: Registers): number {
  const counts = new Array<number>(64).fill(0);
  for (const value of registers) counts[value]!++;
  let z = REGISTERS * tau((REGISTERS - counts[RUN_BITS + 1]!) / REGISTERS);
  for (let value = RUN_BITS; value >= 1; value--) {
    z += counts[value]!;
    z *= 0.5;
  }
  z += REGISTERS * sigma(counts[0]! / REGISTERS);
  const exact = (ALPHA_INFINITY * REGISTERS * REGISTERS) / z;
  // half away from zero; adding 0.5 first would round what is just below a half up
  const floor = Math.floor(exact);
  return exact - floor >= 0.5 ? floor + 1 : floor;
}

function sigma(start: number): number {
  if (start === 1) return Number.POSITIVE_INFINITY;
  let [x, y, z, before] = [start, 1, start, Number.NaN];
  while (z !== before) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

function tau(start: number): number {
  if (start === 0 || start === 1) return 0;
  let [x, y, z, before] = [start, 1, 1 - start, Number.NaN];
  while (z !== before) {
    x = Math.sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  }
  return z / 3;
}

/** Zeros below the lowest set bit among the hash's upper 50 bits; 50 when all are zero. */
function zerosOf(high: number, low: number): number {
  const rest = low >>> INDEX_BITS;
  if (rest !== 0) return 31 - Math.clz32(rest & -rest);
  const lowBits = 32 - INDEX_BITS;
  return high === 0 ? RUN_BITS : lowBits + 31 - Math.clz32(high & -high);
}

function readDense(sketch: Buffer, index: number): number {
  const at = SKETCH_HEADER_BYTES + ((index * REGISTER_BITS) >>> 3);
  const shift = (index * REGISTER_BITS) & 7;
  return ((sketch[at]! | ((sketch[at + 1] ?? 0) << 8)) >>> shift) & 0x3f;
}

function writeDense(sketch: Buffer, index: number, value: number): void {
  const at = SKETCH_HEADER_BYTES + ((index * REGISTER_BITS) >>> 3);
  const shift = (index * REGISTER_BITS) & 7;
  const both = sketch[at]! | ((sketch[at + 1] ?? 0) << 8);
  const changed = (both & ~(0x3f << shift)) | (value << shift);
  sketch[at] = changed & 0xff;
  if (at + 1 < sketch.length) sketch[at + 1] = changed >>> 8;
}
