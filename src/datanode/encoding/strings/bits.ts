/**
 * Strings as arrays of bits: bit 0 is the highest bit of the first byte. Pure over bytes; whatever
 * lies behind the end of a string reads as zeros.
 */

/** Bits `first` to `last`, both inclusive. */
export interface BitRange {
  readonly first: number;
  readonly last: number;
}

/** An integer of `bits` bits within a string. */
export interface BitField {
  readonly signed: boolean;
  /** 1 to 64, unsigned ones to 63. */
  readonly bits: number;
  /** Of the highest bit. */
  readonly offset: number;
}

/** What an integer that does not fit becomes: cut to its lowest bits, the nearest that fits, nothing. */
export type Overflow = 'wrap' | 'sat' | 'fail';
export type BitOperation = 'and' | 'or' | 'xor' | 'not' | 'diff' | 'diff1' | 'andor' | 'one';
/** What two strings come to, bit by bit; `andnot`: what the first has and the other has not. */
export type PairOperation = 'and' | 'or' | 'xor' | 'andnot';

const WORD_BYTES = 4;
/** Of a search for a word: what is copied at once where it has to be. */
const CHUNK_BYTES = 64 * 1024;

export function bitAt(bytes: Buffer, offset: number): 0 | 1 {
  const byte = bytes[Math.floor(offset / 8)] ?? 0;
  return (byte & (0x80 >> (offset % 8))) === 0 ? 0 : 1;
}

/** Changes `bytes`, which must be long enough. */
export function setBitAt(bytes: Buffer, offset: number, bit: 0 | 1): void {
  const at = Math.floor(offset / 8);
  const mask = 0x80 >> (offset % 8);
  if (bit === 1) bytes[at]! |= mask;
  else bytes[at]! &= ~mask;
}

/** A copy with `length` bytes at least; zeros are added. */
export function widened(bytes: Buffer, length: number): Buffer {
  const copy = Buffer.alloc(Math.max(bytes.length, length));
  copy.set(bytes);
  return copy;
}

/** How many bits of the range, which lies within `bytes`, are set. */
export function countBits(bytes: Buffer, { first, last }: BitRange): number {
  if (first > last) return 0;
  const from = first >>> 3;
  const to = last >>> 3;
  const head = bytes[from]! & (0xff >>> (first & 7));
  const tailMask = 0xff00 >>> ((last & 7) + 1);
  if (from === to) return ones(head & tailMask);
  let count = ones(head) + ones(bytes[to]! & tailMask);
  const words = wordsOf(bytes.subarray(from + 1, to));
  for (let at = 0; at < words.length; at++) count += ones(words[at]!);
  for (let at = from + 1 + words.length * WORD_BYTES; at < to; at++) count += ones(bytes[at]!);
  return count;
}

/** The first bit of the range, which lies within `bytes`, that is `bit`; −1 when there is none. */
export function findBit(bytes: Buffer, bit: 0 | 1, { first, last }: BitRange): number {
  const skipped = bit === 1 ? 0 : 0xff;
  let at = first;
  while (at <= last) {
    if ((at & 7) === 0 && bytes[at >>> 3] === skipped) {
      at = skipBytes(bytes, (at >>> 3) + 1, last >>> 3, bit === 1 ? 0 : -1) * 8;
    } else if (bitAt(bytes, at) === bit) {
      return at;
    } else {
      at++;
    }
  }
  return -1;
}

/** The end of the words, from `from` on, that are all `skipped`: at most `end`. */
function skipBytes(bytes: Buffer, from: number, end: number, skipped: 0 | -1): number {
  let at = from;
  while (at + WORD_BYTES <= end) {
    const words = wordsOf(bytes.subarray(at, Math.min(end, at + CHUNK_BYTES)));
    let found = 0;
    while (found < words.length && words[found] === skipped) found++;
    at += found * WORD_BYTES;
    if (found < words.length) return at;
  }
  return at;
}

/** Changes `bytes`. */
export function invert(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at++) bytes[at] = ~bytes[at]! & 0xff;
}

/** Changes `result`, whose memory must be aligned; `other` is as long. */
export function combineInto(operation: PairOperation, result: Buffer, other: Buffer): void {
  combineEach(operation, wordsOf(result), wordsOf(other));
  const done = other.length - (other.length % WORD_BYTES);
  combineEach(operation, result.subarray(done), other.subarray(done));
}

function combineEach(
  operation: PairOperation,
  result: Int32Array | Buffer,
  other: Int32Array | Buffer,
): void {
  const shared = Math.min(result.length, other.length);
  if (operation === 'or') for (let at = 0; at < shared; at++) result[at]! |= other[at]!;
  if (operation === 'xor') for (let at = 0; at < shared; at++) result[at]! ^= other[at]!;
  if (operation === 'and') for (let at = 0; at < shared; at++) result[at]! &= other[at]!;
  if (operation === 'andnot') for (let at = 0; at < shared; at++) result[at]! &= ~other[at]!;
}

/** The whole 32-bit words of `bytes`, in the host's order: the same memory if that is aligned. */
function wordsOf(bytes: Buffer): Int32Array {
  const count = Math.floor(bytes.length / WORD_BYTES);
  if (bytes.byteOffset % WORD_BYTES === 0) {
    return new Int32Array(bytes.buffer, bytes.byteOffset, count);
  }
  const copy = new Uint8Array(count * WORD_BYTES);
  copy.set(bytes.subarray(0, copy.length));
  return new Int32Array(copy.buffer);
}

export function readField(bytes: Buffer, { signed, bits, offset }: BitField): bigint {
  let value = 0n;
  let taken = 0;
  for (let at = Math.floor(offset / 8); taken < (offset % 8) + bits; at++, taken += 8) {
    value = (value << 8n) | BigInt(bytes[at] ?? 0);
  }
  value >>= BigInt(taken - (offset % 8) - bits);
  return signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
}

/** Changes `bytes`, which must be long enough. */
export function writeField(bytes: Buffer, { bits, offset }: BitField, value: bigint): void {
  let left = BigInt.asUintN(bits, value);
  let end = offset + bits;
  while (end > offset) {
    const at = Math.floor((end - 1) / 8);
    const spare = (at + 1) * 8 - end;
    const width = Math.min(8 - spare, end - offset);
    const mask = ((1 << width) - 1) << spare;
    bytes[at] = (bytes[at]! & ~mask) | ((Number(left & 0xffn) << spare) & mask);
    left >>= BigInt(width);
    end -= width;
  }
}

/** `value`, or what becomes of it where it does not fit the field; undefined: nothing is written. */
export function fitField(field: BitField, value: bigint, overflow: Overflow): bigint | undefined {
  const { signed, bits } = field;
  const max = fieldMax(field);
  const min = signed ? -max - 1n : 0n;
  if (value >= min && value <= max) return value;
  if (overflow === 'fail') return undefined;
  if (overflow === 'sat') return value > max ? max : min;
  return signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
}

/**
 * A 64-bit value that is set as Redis's arithmetic takes it. Unsigned fields take it as unsigned,
 * so that negative ones are too large. So are, in signed fields, those so far below the smallest
 * that their distance from the largest is no signed 64-bit number.
 */
export function fieldValueToSet(field: BitField, value: bigint): bigint {
  if (!field.signed) return BigInt.asUintN(64, value);
  const tooFar = field.bits < 64 && fieldMax(field) - value >= 1n << 63n;
  return tooFar ? BigInt.asUintN(64, value) : value;
}

function fieldMax({ signed, bits }: BitField): bigint {
  return (1n << BigInt(signed ? bits - 1 : bits)) - 1n;
}

/** Set bits of a 32-bit number. */
function ones(word: number): number {
  let v = word - ((word >>> 1) & 0x5555_5555);
  v = (v & 0x3333_3333) + ((v >>> 2) & 0x3333_3333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
