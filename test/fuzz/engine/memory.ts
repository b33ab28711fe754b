/** What the process keeps: it must not grow with the inputs that have passed. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Noise of one measurement, with all that is compiled and cached late. */
const GROWTH_BYTES_MAX = 48 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

export class MemoryCheck {
  #base: number | undefined;
  #last = 0;

  /**
   * Bytes that are held after a collection, without the `own` ones that the engine keeps as inputs;
   * the first time: what all later ones are held to.
   */
  measure(own = 0): number {
    this.#last = heldBytes() - own;
    this.#base ??= this.#last;
    return this.#last;
  }

  get grownBytes(): number {
    return this.#last - (this.#base ?? this.#last);
  }

  /** Undefined: within bounds. */
  problem(): string | undefined {
    const grown = this.grownBytes;
    if (grown <= GROWTH_BYTES_MAX) return undefined;
    return `memory has grown by ${inMiB(grown)} MiB to ${inMiB(this.#last)} MiB`;
  }
}

function heldBytes(): number {
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export function inMiB(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
