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
  #dueMs = 0;
  #stoodStill = false;

  constructor(clock: Clock, resolutionMs: number) {
    this.#clock = clock;
    this.#resolutionMs = resolutionMs;
  }

  add(timed: Timed): void {
    this.#timed.add(timed);
    if (this.#timer === undefined) this.#arm();
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
    if (this.#hasStoodStill(now)) {
      this.#arm();
      return;
    }
    for (const timed of this.#timed) timed.onTime(now);
    if (this.#timed.size > 0 && this.#timer === undefined) this.#arm();
  }

  /**
   * True if this process has not run for a while, as on a machine that is overloaded or was
   * suspended: whoever answers may have stood still with it, and is given the time up to the next
   * look. Only one look in a row is left out: a process that is always late has deadlines too.
   */
  #hasStoodStill(nowMs: number): boolean {
    this.#stoodStill = !this.#stoodStill && nowMs - this.#dueMs > this.#resolutionMs;
    return this.#stoodStill;
  }

  #arm(): void {
    this.#dueMs = this.#clock.monotonicMs() + this.#resolutionMs;
    this.#timer = this.#clock.setTimer(this.#resolutionMs, this.#onTimer);
  }
}
