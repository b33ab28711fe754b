/** Virtual time for one test: nothing happens until `step` runs the next event. */
import type { Clock } from '../../../src/common/clock.ts';

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  #now = 0;
  #order = 0;
  #events: Event[] = [];

  monotonicMs(): number {
    return this.#now;
  }

  wallMs(): number {
    return Math.floor(this.#now);
  }

  /** Somebody works for so long. */
  spend(ms: number): void {
    this.#now += ms;
  }

  setTimer(delayMs: number, run: () => void): { cancel(): void } {
    const event = { at: this.#now + delayMs, order: this.#order++, run };
    this.#events.push(event);
    this.#events.sort((a, b) => a.at - b.at || a.order - b.order);
    return {
      cancel: () => {
        this.#events = this.#events.filter((other) => other !== event);
      },
    };
  }

  endOfTurn(run: () => void): void {
    this.setTimer(0, run);
  }

  /** Runs the next event and all that follows from it without time; false when there is none. */
  async step(): Promise<boolean> {
    await drain();
    const event = this.#events.shift();
    if (event === undefined) return false;
    this.#now = Math.max(this.#now, event.at);
    event.run();
    await drain();
    return true;
  }

  async steps(count: number): Promise<void> {
    for (let i = 0; i < count && (await this.step()); i++);
  }

  /** Steps until `promise` has settled. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    for (let i = 0; i < 1_000_000; i++) {
      await drain();
      if (settled) return promise;
      if (!(await this.step())) await drain();
      if (!settled && this.#events.length === 0) {
        await drain();
        if (!settled) throw new Error('nothing left to happen, yet the promise waits');
      }
    }
    throw new Error('the promise does not settle');
  }

  /** Forgets every timer: their process is dead. */
  clear(): void {
    this.#events = [];
  }
}

/** Lets every promise that can go on do so. */
function drain(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
