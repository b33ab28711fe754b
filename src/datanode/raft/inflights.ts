/**
 * The window of append messages sent to one follower and not yet acknowledged: bounded by count
 * and by bytes of entry data. A ring, so that sending and acknowledging allocate nothing.
 */
import { assert } from '../../common/assert.ts';
import type { LogIndex } from '../../common/ids.ts';

/** First size of the ring; it doubles up to the limit as the window is used. */
const RING_START = 16;

export class Inflights {
  readonly #messagesMax: number;
  readonly #bytesMax: number;
  #indexes: number[] = [];
  #sizes: number[] = [];
  #start = 0;
  #count = 0;
  #bytes = 0;

  constructor(messagesMax: number, bytesMax: number) {
    assert(messagesMax > 0, 'the in-flight window holds at least one message');
    this.#messagesMax = messagesMax;
    this.#bytesMax = bytesMax;
  }

  get count(): number {
    return this.#count;
  }

  get full(): boolean {
    return this.#count >= this.#messagesMax || this.#bytes >= this.#bytesMax;
  }

  /** Notes a message whose last entry is `last` and whose entries hold `bytes` of data. */
  add(last: LogIndex, bytes: number): void {
    assert(!this.full, 'a full in-flight window takes no message');
    if (this.#count === this.#indexes.length) this.#grow();
    const at = (this.#start + this.#count) % this.#indexes.length;
    this.#indexes[at] = last;
    this.#sizes[at] = bytes;
    this.#count++;
    this.#bytes += bytes;
  }

  /** Frees the messages whose last entry is at or before `index`. */
  freeUpTo(index: LogIndex): void {
    while (this.#count > 0 && this.#indexes[this.#start]! <= index) {
      this.#bytes -= this.#sizes[this.#start]!;
      this.#start = (this.#start + 1) % this.#indexes.length;
      this.#count--;
    }
  }

  clear(): void {
    this.#start = 0;
    this.#count = 0;
    this.#bytes = 0;
  }

  #grow(): void {
    const size = Math.min(Math.max(RING_START, this.#indexes.length * 2), this.#messagesMax);
    const indexes = new Array<number>(size).fill(0);
    const sizes = new Array<number>(size).fill(0);
    for (let i = 0; i < this.#count; i++) {
      const at = (this.#start + i) % this.#indexes.length;
      indexes[i] = this.#indexes[at]!;
      sizes[i] = this.#sizes[at]!;
    }
    this.#indexes = indexes;
    this.#sizes = sizes;
    this.#start = 0;
  }
}
