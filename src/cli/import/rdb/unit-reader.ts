/**
 * Reads a file unit by unit: each is read as a whole or, while bytes of it are missing, not at all. A
 * generator that yields undefined waits for more bytes.
 */
import {
  RdbBoundError,
  RdbEndError,
  RdbError,
  RdbReader,
} from '../../../datanode/encoding/rdb/rdb-reader.ts';
import { ByteWindow } from './byte-window.ts';
import { type KeyHead, keyText, RdbFileError } from './rdb-events.ts';

export type Units<Result> = Generator<undefined, Result>;

/** A unit has more bytes than its reader takes; nothing of it was read. */
export class TooLong extends Error {
  override readonly name = 'TooLong';
}

/** More than any unit may have. */
const UNIT_BYTES_MAX = 80 * 1_048_576;

export class UnitReader {
  readonly #window = new ByteWindow();
  /** Bytes without which there is nothing to try. */
  #needed = 1;
  /** What is being read, for errors. */
  doing: string | KeyHead = 'the file';

  get offset(): number {
    return this.#window.offset;
  }

  /** There is something to try again. */
  get hasNeeded(): boolean {
    return this.#window.isClosed || this.#window.length >= this.#needed;
  }

  push(chunk: Buffer): void {
    this.#window.push(chunk);
  }

  close(): void {
    this.#window.close();
  }

  rest(): Buffer {
    return this.#window.unread(this.#window.length);
  }

  checksum(): Buffer {
    return this.#window.checksum();
  }

  failure(why: string): RdbFileError {
    const { doing } = this;
    const what = typeof doing === 'string' ? doing : `the value of the key ${keyText(doing.key)}`;
    return new RdbFileError(this.offset, what, why);
  }

  /** `read` is called again when more bytes are here. Throws RdbFileError, TooLong, what `read` throws. */
  *unit<T>(read: (reader: RdbReader) => T, bytesMax = UNIT_BYTES_MAX): Units<T> {
    let needed = 1;
    for (;;) {
      while (this.#window.length < needed) {
        if (this.#window.isClosed) throw this.failure('the file ends here: it is cut');
        this.#needed = needed;
        yield;
      }
      const reader = new RdbReader(this.#window.unread(needed), budgetOf(bytesMax));
      try {
        const result = read(reader);
        this.#window.consume(reader.position);
        this.#needed = 1;
        return result;
      } catch (failure) {
        if (!(failure instanceof RdbEndError)) throw this.#explained(failure);
        needed = reader.position + reader.remaining + failure.missing;
        if (needed > bytesMax) throw new TooLong();
      }
    }
  }

  /** A string that stands for `bytesMax` bytes at most; otherwise TooLong, and nothing is read. */
  shortString(bytesMax: number): Units<Buffer> {
    return this.unit((reader) => {
      const string = reader.string();
      if (string.length > bytesMax) throw new TooLong();
      return string;
    }, bytesMax + HEAD_BYTES);
  }

  /** The same; undefined, and read over, when it is longer. */
  *string(bytesMax: number): Units<Buffer | undefined> {
    try {
      return yield* this.shortString(bytesMax);
    } catch (failure) {
      if (!(failure instanceof TooLong)) throw failure;
    }
    yield* this.overString();
    return undefined;
  }

  *overString(): Units<void> {
    const { stored } = yield* this.unit((reader) => reader.stringHead());
    yield* this.skip(stored);
  }

  *skip(count: number): Units<void> {
    for (let left = count; left > 0; ) {
      left -= this.#window.skip(left);
      if (left === 0) return;
      if (this.#window.length > 0) continue;
      if (this.#window.isClosed) throw this.failure('the file ends here: it is cut');
      this.#needed = 1;
      yield;
    }
  }

  #explained(failure: unknown): unknown {
    if (failure instanceof RdbBoundError) return new TooLong();
    return failure instanceof RdbError ? this.failure(failure.message) : failure;
  }
}

/** Of a string, before its bytes: two lengths of nine and a kind. */
const HEAD_BYTES = 19;

/** What is compressed may not become more than the unit may have. */
function budgetOf(bytesMax: number) {
  return {
    bytes(count: number): void {
      if (count > bytesMax) throw new RdbBoundError(`${bytesMax} bytes`);
    },
    element(): void {},
  };
}
