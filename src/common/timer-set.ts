/** Timers that end with who set them: nothing is run for one that has stopped. */
import type { Clock, Timer } from './clock.ts';

export class TimerSet {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #timers = new Set<Timer>();
  #ended = false;

  constructor(clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
  }

  /** `run` is called once, after `delayMs`, unless `end` comes before. */
  readonly after = (delayMs: number, run: () => void): void => {
    if (this.#ended) return;
    const timer = this.#clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  };

  /** Cancels what waits, and whatever is asked for from now on comes to nothing. */
  end(): void {
    this.#ended = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}
