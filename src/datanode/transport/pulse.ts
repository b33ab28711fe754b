/**
 * When the links of a node send their keepalives: all at once, on one timer. With timers of their
 * own, eight links to two peers woke the node, and its peers, one after the other all the time.
 */
import type { Clock, Timer } from '../../common/clock.ts';

export class Pulse {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #periodMs: number;
  readonly #beats = new Set<() => void>();
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'setTimer'>, periodMs: number) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  /** `beat` is called once in a period; the first time within one. */
  join(beat: () => void): void {
    this.#beats.add(beat);
    if (this.#timer === undefined) this.#arm();
  }

  leave(beat: () => void): void {
    this.#beats.delete(beat);
    if (this.#beats.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#clock.setTimer(this.#periodMs, () => {
      this.#arm();
      for (const beat of this.#beats) beat();
    });
  }
}
