/**
 * A bulk of megabytes, put together as it comes: joined at its end, 8 MiB hold the event loop for
 * milliseconds. Memory for the whole is asked for when a part of it is there, not when it is
 * announced. There is room around it, so that the log entry that will hold it can be made in its place
 * (`partition/entries/envelope`).
 */
import { allocateWithRoom } from '../../common/bytes-with-room.ts';

/** Bulks from this size on. */
export const LARGE_BULK_BYTES = 262_144;
/** Of the whole, what has to be there. */
const PART_MIN = 1 / 16;

export class LargeBulk {
  readonly #length: number;
  /** What came before there was memory for the whole. */
  #parts: Buffer[] = [];
  #whole: Buffer | undefined;
  #filled = 0;

  constructor(length: number) {
    this.#length = length;
  }

  /** Takes from `bytes` what is wanting; returns how many bytes that is. */
  add(bytes: Buffer): number {
    const part = bytes.subarray(0, this.#length - this.#filled);
    if (this.#whole === undefined && this.#filled + part.length < this.#length * PART_MIN) {
      this.#parts.push(part);
      this.#filled += part.length;
      return part.length;
    }
    this.#whole ??= this.#allocate();
    this.#whole.set(part, this.#filled);
    this.#filled += part.length;
    return part.length;
  }

  /** Undefined until all of it has come. */
  get whole(): Buffer | undefined {
    return this.#filled === this.#length ? this.#whole : undefined;
  }

  #allocate(): Buffer {
    const whole = allocateWithRoom(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    this.#parts = [];
    return whole;
  }
}
