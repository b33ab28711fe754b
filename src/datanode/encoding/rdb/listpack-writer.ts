/**
 * Listpacks, as Redis packs what is small: bytes u32 · count u16 · entries (encoding · data · their length
 * backwards) · 0xff. What is a whole number of 64 bits in its one spelling is stored as such.
 */
import { parseInteger } from '../strings/string.ts';

const HEAD_BYTES = 6;
const END = 0xff;
/** Counts that do not fit are said to be this. */
const UNKNOWN_COUNT = 0xffff;
const FIRST_BYTES = 512;
/** Of an entry beside its bytes: a length before them, and one behind. */
const AROUND_BYTES = 10;
/** Bits of a number, the byte before it, and how many bytes it takes. */
const INTEGERS = [
  [16, 0xf1, 2],
  [24, 0xf2, 3],
  [32, 0xf3, 4],
] as const;
const WIDE = 0xf4;

export class ListpackWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = HEAD_BYTES;
  #count = 0;

  /** What it takes as a whole by now. */
  get byteLength(): number {
    return this.#at + 1;
  }

  /** An entry as a reader takes it: as text, whether it is stored as a number or not. */
  text(entry: Buffer): void {
    const exact = parseInteger(entry);
    if (exact !== undefined) {
      this.integer(exact);
      return;
    }
    this.#reserve(entry.length);
    const from = this.#at;
    this.#textHead(entry.length);
    this.#bytes.set(entry, this.#at);
    this.#at += entry.length;
    this.#end(from);
  }

  integer(value: number | bigint): void {
    this.#reserve(8);
    const from = this.#at;
    this.#integer(value);
    this.#end(from);
  }

  /** Puts another number in the place of the first entry; both are below 128. */
  setFirst(value: number): void {
    this.#bytes[HEAD_BYTES] = value;
  }

  /** A copy of all of it. */
  finish(): Buffer {
    const whole = Buffer.allocUnsafe(this.byteLength);
    this.#bytes.copy(whole, 0, 0, this.#at);
    whole[this.#at] = END;
    whole.writeUInt32LE(whole.length, 0);
    whole.writeUInt16LE(Math.min(this.#count, UNKNOWN_COUNT), 4);
    return whole;
  }

  #textHead(length: number): void {
    if (length < 64) {
      this.#bytes[this.#at++] = 0x80 | length;
    } else if (length < 4_096) {
      this.#bytes[this.#at++] = 0xe0 | (length >> 8);
      this.#bytes[this.#at++] = length & 0xff;
    } else {
      this.#bytes[this.#at++] = 0xf0;
      this.#at = this.#bytes.writeUInt32LE(length, this.#at);
    }
  }

  #integer(value: number | bigint): void {
    const small = Number(value);
    if (small >= 0 && small <= 127) {
      this.#bytes[this.#at++] = small;
      return;
    }
    if (small >= -4_096 && small < 4_096) {
      this.#bytes[this.#at++] = 0xc0 | ((small >> 8) & 0x1f);
      this.#bytes[this.#at++] = small & 0xff;
      return;
    }
    for (const [bits, encoding, bytes] of INTEGERS) {
      if (small < -(2 ** (bits - 1)) || small >= 2 ** (bits - 1)) continue;
      this.#bytes[this.#at++] = encoding;
      this.#at = this.#bytes.writeIntLE(small, this.#at, bytes);
      return;
    }
    this.#bytes[this.#at++] = WIDE;
    this.#at = this.#bytes.writeBigInt64LE(BigInt(value), this.#at);
  }

  /** Its length, seven bits a byte, of which all but the first are marked. */
  #end(from: number): void {
    const length = this.#at - from;
    // the bounds are Redis's: from two bytes on, one less than the bits would hold
    let digits = 1;
    for (let bound = 127; length > bound; bound = 2 ** (7 * digits) - 2) digits++;
    for (let digit = digits - 1; digit >= 0; digit--) {
      const value = Math.floor(length / 2 ** (7 * digit)) & 0x7f;
      this.#bytes[this.#at++] = digit === digits - 1 ? value : value | 0x80;
    }
    this.#count++;
  }

  #reserve(length: number): void {
    const needed = this.#at + length + AROUND_BYTES + 1;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
