/** A timer of which at most one runs: asked for again meanwhile, it stays as it is. */
import type { Clock, Timer } from './clock.ts';

export class LoneTimer {
  readonly #clock: Pick<Clock, 'setTimer'>;
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
  }

  /** `run` is called once, after `delayMs` at least, unless one waits already or it is cancelled. */
  ask(delayMs: number, run: () => void): void {
    this.#timer ??= this.#clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      run();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
