/**
 * Values that were read lately by their keys, ready to be read again: a point read of LevelDB takes 3 to
 * 5 µs and leaves memory to V8's collector, this half of one. What is asked for again and again is read
 * from LevelDB once a round of the node's `ValueRing`; whoever reads a value verifies its seal as of any
 * other (`encoding/records/record.ts`).
 *
 * Whoever writes tells which keys change, before readers of the engine may see it, and when they do: so
 * long nothing that was read is kept, since it may be of the state before.
 */
import { limits } from '../../../common/limits.ts';
import type { ValueRing } from './value-ring.ts';

/** A longer key takes longer to hash than it is worth. */
const KEY_BYTES_MAX = 512;

/** Of one engine. */
export class HotValues {
  readonly #ring: ValueRing;
  #engine: number;
  /** Writes of which readers may see some and not all. */
  #writes = 0;
  /** As many words the ring had taken when something was kept last: a round later it has gone. */
  #keptAt = Number.NEGATIVE_INFINITY;

  constructor(ring: ValueRing) {
    this.#ring = ring;
    this.#engine = ring.newEngine();
  }

  /** What a read of the engine would find under `key`; undefined says nothing. */
  valueOf(key: Buffer): Buffer | undefined {
    if (this.#isEmpty || key.length > KEY_BYTES_MAX) return undefined;
    return this.#ring.get(this.#engine, key);
  }

  /** A read of the engine has just found `value` under `key`. */
  read(key: Buffer, value: Buffer): void {
    if (this.#writes > 0) return;
    if (key.length > KEY_BYTES_MAX || value.length > limits.hotValueBytes) return;
    this.#ring.keep(this.#engine, key, value);
    this.#keptAt = this.#ring.takenWords;
  }

  /** `key` is about to change. */
  changing(key: Buffer): void {
    if (this.#isEmpty || key.length > KEY_BYTES_MAX) return;
    this.#ring.remove(this.#engine, key);
  }

  /** To be called before the engine is told of a write, and `ended` when it has ended. */
  began(): void {
    this.#writes++;
  }

  ended(): void {
    this.#writes--;
  }

  /** Nothing is kept any more. */
  forget(): void {
    this.#engine = this.#ring.newEngine();
    this.#keptAt = Number.NEGATIVE_INFINITY;
  }

  get #isEmpty(): boolean {
    return this.#ring.takenWords - this.#keptAt > this.#ring.roundWords;
  }
}
