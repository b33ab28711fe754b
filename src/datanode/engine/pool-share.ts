/**
 * The share that engines have of libuv's thread pool. A write to LevelDB may wait on its thread for a
 * compaction, and the clearing of a range takes as long as there are keys: were such jobs on all
 * threads, the raft log's writes would wait behind them, and nothing of any group be acknowledged.
 */

/** libuv's default; there are fewer only where UV_THREADPOOL_SIZE says so. */
const POOL_THREADS = 4;

export class PoolShare {
  readonly #max: number;
  /** At most one of each engine. */
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** At most `max` jobs at once. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Begins the job at once, or when those before it are over; rejects with what it fails of. */
  run(job: () => Promise<void>): Promise<void> {
    if (this.#running < this.#max) return this.#run(job);
    return new Promise((resolve) => {
      this.#waiting.push(() => resolve(this.#run(job)));
    });
  }

  async #run(job: () => Promise<void>): Promise<void> {
    this.#running++;
    try {
      await job();
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }
}

/** Of all engines of this process: a thread is left to who writes the log. */
export const enginesShare = new PoolShare(POOL_THREADS - 1);

/** A million keys take a second: a thread more is left, to who writes a batch. */
const clearings = new PoolShare(POOL_THREADS - 2);

/** The clearing of a range, as a job of the engines' share. */
export function runClearing(clear: () => Promise<void>): Promise<void> {
  return clearings.run(() => enginesShare.run(clear));
}
