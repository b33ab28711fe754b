/** A clock that only its test moves. */
import type { Clock } from '../../src/common/clock.ts';

/** Time goes on only by `run`; what was due meanwhile happens at its end, as after a pause. */
export class HandClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly run: () => void }[] = [];

  monotonicMs = () => this.#now;
  wallMs = () => this.#now;
  endOfTurn = (run: () => void) => run();

  setTimer(delayMs: number, run: () => void) {
    const timer = { at: this.#now + delayMs, run };
    this.#timers.push(timer);
    const cancel = () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
    return { cancel };
  }

  run(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { run } of due) run();
  }

  get armed(): number {
    return this.#timers.length;
  }
}
