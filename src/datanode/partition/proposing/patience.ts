/**
 * How long the writes of a node wait for each other: twice what the quicker of its answers take, so
 * that all who are answered at the same pace are waited for, however fast that is, and who takes much
 * longer is not. With answers that take 2 ms, and others that take 30, it is 10 ms.
 */

/** Of the difference to what was expected; the quicker of the answers have the greater say. */
const NEWS_SHARE_QUICKER = 1 / 4;
const NEWS_SHARE_SLOWER = 1 / 32;
const TIMES = 2;

export interface Bounds {
  readonly leastMs: number;
  readonly mostMs: number;
}

export class Patience {
  readonly #bounds: Bounds;
  #quickMs = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get ms(): number {
    const { leastMs, mostMs } = this.#bounds;
    return Math.min(mostMs, Math.max(leastMs, this.#quickMs * TIMES));
  }

  /** An answer took so long. */
  note(tookMs: number): void {
    const off = tookMs - this.#quickMs;
    this.#quickMs += off * (off < 0 ? NEWS_SHARE_QUICKER : NEWS_SHARE_SLOWER);
  }
}
