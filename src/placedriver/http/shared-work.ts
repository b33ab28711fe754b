/**
 * Work that everybody may ask for, and that a large cluster makes long: who asks while it is done
 * shares it, and then it rests, so that however often it is asked it takes a part of the time only.
 */
import type { Clock } from '../../common/clock.ts';

/** What takes no longer than this is done whenever it is asked for. */
const SHORT_MS = 50;
/** How long it rests, in times of what it took. */
const RESTS = 4;

export class SharedWork<Result> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #work: () => Promise<Result>;
  #running: Promise<Result> | undefined;
  #last: { readonly result: Result; readonly untilMs: number } | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>, work: () => Promise<Result>) {
    this.#clock = clock;
    this.#work = work;
  }

  /** Of now, or what came of it when it was done last. Rejects as the work does. */
  ask(): Promise<Result> {
    if (this.#running !== undefined) return this.#running;
    const last = this.#last;
    if (last !== undefined && this.#clock.monotonicMs() < last.untilMs) {
      return Promise.resolve(last.result);
    }
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<Result> {
    const beganMs = this.#clock.monotonicMs();
    this.#last = undefined;
    const result = await this.#work();
    const endedMs = this.#clock.monotonicMs();
    const tookMs = endedMs - beganMs;
    if (tookMs > SHORT_MS) this.#last = { result, untilMs: endedMs + RESTS * tookMs };
    return result;
  }
}
