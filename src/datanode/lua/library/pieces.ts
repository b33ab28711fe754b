/** A text that is put together, charged before it is. */
import type { Meter } from '../values/function.ts';

/** V8 joins long lists of short strings badly: so many are joined at once. */
const JOINED = 1024;

export class Pieces {
  readonly #meter: Meter;
  #short: string[] = [];
  readonly #long: string[] = [];

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  add(piece: string): void {
    this.#meter.bytes(piece.length);
    if (this.#short.push(piece) === JOINED) this.#join();
  }

  /** Flat, not a tree of all that was added. */
  text(): string {
    this.#join();
    return this.#long.length === 1 ? this.#long[0]! : this.#long.join('');
  }

  #join(): void {
    this.#long.push(this.#short.join(''));
    this.#short = [];
  }
}
