/**
 * Reading Redis's serialized values: numbers, lengths and strings of the RDB format. Whatever the
 * bytes are, reading ends in a value or in RdbError, and never takes more memory than its bounds.
 */
import { limits } from '../../../common/limits.ts';
import { decompressLzf, mayBecome } from './lzf.ts';

/** The bytes are not what they should be. */
export class RdbError extends Error {
  override readonly name: string = 'RdbError';
}

/** The bytes mean more than may be held in memory; the message says what it has more of. */
export class RdbBoundError extends RdbError {
  override readonly name = 'RdbBoundError';
}

/** The bytes end before what is being read: so many more are needed. */
export class RdbEndError extends RdbError {
  readonly missing: number;

  constructor(missing: number) {
    super('it ends early');
    this.missing = missing;
  }
}

/** What a string's length byte means when its upper bits are set. */
const [INT8, INT16, INT32, LZF] = [0, 1, 2, 3];

/** What a length of 64 bits begins with. */
const WIDE_LENGTH = 0x81;

/** How much may be read for one value; its methods throw when that is too much. */
export interface ReadBudget {
  bytes(count: number): void;
  element(): void;
}

/** For who hands on what is read as it comes. */
export const unbounded: ReadBudget = { bytes: () => {}, element: () => {} };

/** Counts what is read for one value against what one request could have carried. */
class Budget implements ReadBudget {
  #bytes: number = limits.requestBytesMax;
  #elements: number = limits.requestArgumentsMax;

  bytes(count: number): void {
    this.#bytes -= count;
    if (this.#bytes < 0) throw new RdbBoundError(`${limits.requestBytesMax} bytes`);
  }

  element(): void {
    if (--this.#elements < 0) {
      throw new RdbBoundError(`${limits.requestArgumentsMax} elements`);
    }
  }
}

export class RdbReader {
  readonly #bytes: Buffer;
  readonly #budget: ReadBudget;
  #at = 0;

  constructor(bytes: Buffer, budget: ReadBudget = new Budget()) {
    this.#bytes = bytes;
    this.#budget = budget;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** How many bytes were read. */
  get position(): number {
    return this.#at;
  }

  /** What was read from a position on. */
  since(position: number): Buffer {
    return this.#bytes.subarray(position, this.#at);
  }

  /** A reader of bytes within these: what it reads counts as well. */
  within(bytes: Buffer): RdbReader {
    return new RdbReader(bytes, this.#budget);
  }

  /** Every element that is handed out is counted; throws when there are too many. */
  element<T>(value: T): T {
    this.#budget.element();
    return value;
  }

  /** So many bytes are made of fewer that stand there; throws when there are too many. */
  expands(bytes: number): void {
    this.#budget.bytes(bytes);
  }

  /** Throws unless everything was read. */
  end(): void {
    if (this.remaining !== 0) throw new RdbError(`${this.remaining} bytes are left over`);
  }

  raw(count: number): Buffer {
    if (count > this.remaining) throw new RdbEndError(count - this.remaining);
    const from = this.#at;
    this.#at += count;
    return this.#bytes.subarray(from, this.#at);
  }

  /** The next byte, which stays to be read; undefined at the end. */
  peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  u8(): number {
    return this.raw(1)[0]!;
  }

  u16(): number {
    return this.raw(2).readUInt16LE(0);
  }

  u32(): number {
    return this.raw(4).readUInt32LE(0);
  }

  /** A time: milliseconds since 1970. */
  time(): number {
    return wholeNumber(this.raw(8).readBigUInt64LE(0));
  }

  f64(): number {
    return this.raw(8).readDoubleLE(0);
  }

  /** A signed little-endian number of `bytes` bytes in decimal notation. */
  decimal(bytes: 1 | 2 | 3 | 4 | 8): Buffer {
    const raw = this.raw(bytes);
    const value = bytes === 8 ? raw.readBigInt64LE(0) : raw.readIntLE(0, bytes);
    return Buffer.from(value.toString(), 'latin1');
  }

  /** A length as a count or as bytes. */
  length(): number {
    const first = this.u8();
    const kind = first >> 6;
    if (kind === 3) throw new RdbError('an encoding stands where a length should');
    return this.#lengthAfter(first);
  }

  /** A number that is stored as a length. */
  number(): number {
    return this.peek() === WIDE_LENGTH ? wholeNumber(this.u64()) : this.length();
  }

  /** The same, of 64 bits. */
  u64(): bigint {
    if (this.peek() !== WIDE_LENGTH) return BigInt(this.length());
    this.u8();
    return this.raw(8).readBigUInt64BE(0);
  }

  string(): Buffer {
    const first = this.u8();
    if (first >> 6 === 3) return this.#encodedString(first & 0x3f);
    return this.raw(this.#lengthAfter(first));
  }

  /** What a string begins with: how many bytes of it follow, and how many they stand for. */
  stringHead(): { readonly stored: number; readonly unpacked: number } {
    const first = this.u8();
    if (first >> 6 !== 3) {
      const stored = this.#lengthAfter(first);
      return { stored, unpacked: stored };
    }
    const encoding = first & 0x3f;
    if (encoding > LZF) throw new RdbError(`string encoding ${encoding} is unknown`);
    // a number of so many bits has as many digits at most
    if (encoding < LZF) return { stored: 2 ** encoding, unpacked: 4 * 2 ** encoding };
    const stored = this.length();
    return { stored, unpacked: this.length() };
  }

  #lengthAfter(first: number): number {
    if (first >> 6 === 0) return first;
    if (first >> 6 === 1) return ((first & 0x3f) << 8) | this.u8();
    if (first === 0x80) return this.raw(4).readUInt32BE(0);
    if (first === WIDE_LENGTH) {
      const length = this.raw(8).readBigUInt64BE(0);
      if (length <= limits.requestBytesMax) return Number(length);
      throw new RdbError(`the length ${length} is out of bounds`);
    }
    throw new RdbError(`a length begins with ${first}`);
  }

  #encodedString(encoding: number): Buffer {
    switch (encoding) {
      case INT8:
        return this.decimal(1);
      case INT16:
        return this.decimal(2);
      case INT32:
        return this.decimal(4);
      case LZF: {
        const compressed = this.length();
        return this.#decompressed(this.length(), this.raw(compressed));
      }
      default:
        throw new RdbError(`string encoding ${encoding} is unknown`);
    }
  }

  #decompressed(length: number, compressed: Buffer): Buffer {
    const isPossible = mayBecome(compressed.length, length);
    if (isPossible) this.#budget.bytes(length);
    const string = isPossible ? decompressLzf(compressed, length) : undefined;
    if (string === undefined) throw new RdbError('its compression is broken');
    return string;
  }
}

function wholeNumber(value: bigint): number {
  if (value > Number.MAX_SAFE_INTEGER) throw new RdbError(`the number ${value} is out of bounds`);
  return Number(value);
}
