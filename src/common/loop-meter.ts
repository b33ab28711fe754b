/**
 * How late the event loop is: a timer asks to be called at a moment, and notes how long after it
 * the call came. What holds the loop holds every client of the process for as long.
 */
import type { Clock, Timer } from './clock.ts';
import { LatencyHistogram } from './latency-histogram.ts';

/** No stall of this length is missed; waking an idle process for it costs 0.15 % of a core. */
const PERIOD_MS = 100;

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
