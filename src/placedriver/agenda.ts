/**
 * Work that is to be done again and again: one run at a time, and one timer, whoever asks. Of
 * several moments that are asked for the earliest counts; who still wants a later one asks anew when
 * the work is done. What is asked for during a run is another run.
 */
import type { Clock, Timer } from '../common/clock.ts';
import { limits } from '../common/limits.ts';

export class Agenda {
  readonly #clock: Clock;
  readonly #work: () => Promise<void>;
  #dueMs: number | undefined;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  /** `work` does not reject. */
  constructor(clock: Clock, work: () => Promise<void>) {
    this.#clock = clock;
    this.#work = work;
  }

  /** A run begins in `delayMs` at the latest, or as soon as the present one is over. */
  ask(delayMs: number): void {
    const dueMs = this.#clock.monotonicMs() + Math.min(delayMs, limits.timerMsMax);
    if (this.#stopped || (this.#dueMs !== undefined && this.#dueMs <= dueMs)) return;
    this.#dueMs = dueMs;
    if (this.#running === undefined) this.#arm();
  }

  /** Resolves when the present run is over; no other begins. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #arm(): void {
    this.#timer?.cancel();
    if (this.#stopped || this.#dueMs === undefined) return;
    const delayMs = Math.max(0, this.#dueMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.setTimer(delayMs, () => {
      this.#dueMs = undefined;
      this.#running = this.#work().finally(() => {
        this.#running = undefined;
        this.#arm();
      });
    });
  }
}
