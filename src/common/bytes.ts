/**
 * Bytes: big-endian numbers, comparison, and a writer that allocates once in the common case.
 * u64 values are JavaScript numbers and must be safe integers (asserted): two u32 halves are four
 * times as fast as BigInt.
 */
import { assert } from './assert.ts';

const TWO_32 = 0x1_0000_0000;

export function writeU64(target: Buffer, value: number, offset: number): void {
  // a function that tells what is wrong is made only where it is
  if (!Number.isSafeInteger(value) || value < 0) assert(false, `u64 out of range: ${value}`);
  const high = Math.floor(value / TWO_32);
  writeU32(target, high, offset);
  writeU32(target, value - high * TWO_32, offset + 4);
}

/** `value` fits, and `target` has room: a third of what Buffer's own takes, which checks both. */
export function writeU32(target: Buffer, value: number, offset: number): void {
  target[offset] = value >>> 24;
  target[offset + 1] = value >>> 16;
  target[offset + 2] = value >>> 8;
  target[offset + 3] = value;
}

/** So few bytes are copied sooner by a loop than by a call. */
const LOOPED_MAX = 32;

/** Copies all of `source`; `target` has room. */
export function copyInto(target: Buffer, source: Uint8Array, offset: number): void {
  const { length } = source;
  if (length > LOOPED_MAX) target.set(source, offset);
  else for (let at = 0; at < length; at++) target[offset + at] = source[at]!;
}

/** NaN where `source` ends before. */
export function readU32(source: Buffer, offset: number): number {
  const high = source[offset]! * 0x100_0000 + source[offset + 1]! * 0x1_0000;
  return high + source[offset + 2]! * 0x100 + source[offset + 3]!;
}

export function readU64(source: Buffer, offset: number): number {
  const value = readU32(source, offset) * TWO_32 + readU32(source, offset + 4);
  assert(Number.isSafeInteger(value), 'u64 beyond 2^53');
  return value;
}

/** A Buffer over the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** What Buffers are made by (`Buffer[Symbol.species]`, which `subarray` asks for too). */
const BufferView = (
  Buffer as unknown as {
    readonly [Symbol.species]: new (memory: ArrayBufferLike, at: number, length: number) => Buffer;
  }
)[Symbol.species];

/**
 * The bytes `from` to `to` of what is `at` in `memory`, for who cuts many views out of one buffer:
 * `subarray` asks for the memory of the buffer each time, and takes 60 ns where this takes 24. The
 * bounds must have been checked: memory may be shared with others.
 */
export function viewIn(memory: ArrayBufferLike, at: number, from: number, to: number): Buffer {
  return new BufferView(memory, at + from, to - from);
}

/** A copy that shares no memory with a pool or a socket chunk. */
export function copyOf(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Growing big-endian writer; `finish` hands out the bytes without another copy. */
export class ByteWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(sizeHint = 256) {
    this.#buffer = Buffer.allocUnsafe(sizeHint);
  }

  get length(): number {
    return this.#length;
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#length = this.#buffer.writeUInt8(value, this.#length);
    return this;
  }

  u16(value: number): this {
    this.#reserve(2);
    this.#length = this.#buffer.writeUInt16BE(value, this.#length);
    return this;
  }

  u32(value: number): this {
    if (value >>> 0 !== value) assert(false, `u32 out of range: ${value}`);
    this.#reserve(4);
    writeU32(this.#buffer, value, this.#length);
    this.#length += 4;
    return this;
  }

  u64(value: number): this {
    this.#reserve(8);
    writeU64(this.#buffer, value, this.#length);
    this.#length += 8;
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** u32 length, then the bytes. */
  bytes(bytes: Uint8Array): this {
    return this.u32(bytes.length).raw(bytes);
  }

  /** u32 length, then UTF-8. */
  text(text: string): this {
    const length = Buffer.byteLength(text);
    this.u32(length);
    this.#reserve(length);
    this.#length += this.#buffer.write(text, this.#length, 'utf8');
    return this;
  }

  /** Overwrites four bytes already written: for a length or checksum known only afterwards. */
  patchU32(offset: number, value: number): void {
    assert(offset + 4 <= this.#length, 'patch beyond what was written');
    this.#buffer.writeUInt32BE(value, offset);
  }

  /** The bytes written so far; the writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Thrown by ByteReader when the bytes end early or a length is out of bounds. */
export class ByteRangeError extends Error {
  override readonly name = 'ByteRangeError';
}

/** Bounds-checked reader over bytes from disk or wire; `subarray` views, no copies. */
export class ByteReader {
  readonly #buffer: Buffer;
  #offset: number;
  /** What the buffer is a view of, when something was cut out of it. */
  #memory: ArrayBufferLike | undefined;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#buffer = asBuffer(bytes);
    this.#offset = offset;
  }

  get remaining(): number {
    return this.#buffer.length - this.#offset;
  }

  u8(): number {
    return this.#buffer[this.#take(1)]!;
  }

  u16(): number {
    return this.#buffer.readUInt16BE(this.#take(2));
  }

  u32(): number {
    const at = this.#take(4);
    const bytes = this.#buffer;
    const high = (bytes[at]! << 24) | (bytes[at + 1]! << 16);
    return (high | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
  }

  u64(): number {
    const at = this.#take(8);
    const value = this.#buffer.readUInt32BE(at) * TWO_32 + this.#buffer.readUInt32BE(at + 4);
    if (!Number.isSafeInteger(value)) throw new ByteRangeError(`u64 beyond 2^53 at ${at}`);
    return value;
  }

  raw(count: number): Buffer {
    return this.#view(this.#take(count), count);
  }

  bytes(): Buffer {
    return this.raw(this.u32());
  }

  skip(count: number): void {
    this.#take(count);
  }

  /** As `bytes`, but `known` itself where that is the same: of a few bytes, for which nothing is made. */
  bytesOr(known: Buffer): Buffer {
    const length = this.u32();
    const at = this.#take(length);
    return isAt(this.#buffer, at, length, known) ? known : this.#view(at, length);
  }

  text(): string {
    return this.bytes().toString('utf8');
  }

  /** A byte that says which version of a format follows; throws for another than `known`. */
  expectVersion(known: number): void {
    const version = this.u8();
    if (version !== known) throw new ByteRangeError(`unknown version ${version}`);
  }

  /** Throws unless every byte was read: trailing bytes mean another format than expected. */
  end(): void {
    if (this.remaining !== 0) {
      throw new ByteRangeError(`${this.remaining} unexpected bytes at ${this.#offset}`);
    }
  }

  /** Of bytes that were taken. */
  #view(at: number, length: number): Buffer {
    this.#memory ??= this.#buffer.buffer;
    return viewIn(this.#memory, this.#buffer.byteOffset, at, at + length);
  }

  #take(count: number): number {
    const at = this.#offset;
    if (count < 0 || count > this.#buffer.length - at) {
      throw new ByteRangeError(
        `needs ${count} bytes at ${at}, only ${this.#buffer.length - at} left`,
      );
    }
    this.#offset = at + count;
    return at;
  }
}

/** Whether the `length` bytes from `at` on are those of `known`; both are short. */
export function isAt(bytes: Buffer, at: number, length: number, known: Buffer): boolean {
  if (length !== known.length) return false;
  for (let next = 0; next < length; next++) if (bytes[at + next] !== known[next]) return false;
  return true;
}
