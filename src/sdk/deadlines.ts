/** Looks at all calls under way a few times a second, so that none needs timers of its own. */
import type { Clock, Timer } from '../common/clock.ts';

export interface Timed {
  /** Called every `resolutionMs`, near enough. */
  onTime(nowMs: number): void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #resolutionMs: number;
  readonly #timed = new Set<Timed>();
  #timer: Timer | undefined;

  constructor(clock: Clock, resolutionMs: number) {
    this.#clock = clock;
    this.#resolutionMs = resolutionMs;
  }

  add(timed: Timed): void {
    this.#timed.add(timed);
    this.#timer ??= this.#clock.setTimer(this.#resolutionMs, this.#onTimer);
  }

  delete(timed: Timed): void {
    this.#timed.delete(timed);
  }

  /** All that are under way. */
  all(): readonly Timed[] {
    return [...this.#timed];
  }

  /** A process that was busy first reads what has come meanwhile: that is no silence. */
  readonly #onTimer = (): void => this.#clock.endOfTurn(() => this.#look());

  #look(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonicMs();
    for (const timed of this.#timed) timed.onTime(now);
    if (this.#timed.size === 0 || this.#timer !== undefined) return;
    this.#timer = this.#clock.setTimer(this.#resolutionMs, this.#onTimer);
  }
}
