/**
 * How late the event loop is: a timer asks to be called at a moment, and notes how long after it
 * the call came. What holds the loop holds every client of the process for as long.
 */
import type { Clock, Timer } from './clock.ts';
import { LatencyHistogram } from './latency-histogram.ts';

/** Often enough to meet a stall of this length, seldom enough to cost nothing. */
const PERIOD_MS = 20;

export class LoopMeter {
  /** Timers of the host are whole milliseconds, so up to one is its granularity. */
  readonly delay = new LatencyHistogram();
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    const dueMs = this.#clock.monotonicMs() + PERIOD_MS;
    this.#timer = this.#clock.setTimer(PERIOD_MS, () => {
      this.delay.recordMs(this.#clock.monotonicMs() - dueMs);
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
