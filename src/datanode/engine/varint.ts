/** LevelDB's variable-length numbers: seven bits a byte, the lowest first. */
import { ByteRangeError } from '../../common/bytes.ts';

/** Reads numbers and byte strings; throws ByteRangeError when they are not there. */
export class VarintReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new ByteRangeError('a field ends early');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
    }
    throw new ByteRangeError('a number beyond 2^53');
  }

  raw(length: number): Buffer {
    if (length > this.remaining) throw new ByteRangeError('a field ends early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** A length, then as many bytes. */
  bytes(): Buffer {
    return this.raw(this.varint());
  }
}
