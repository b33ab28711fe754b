/** Looks at all calls under way a few times a second, so that none needs timers of its own. */
import type { Clock, Timer } from '../common/clock.ts';

export interface Timed {
  /** Called every `resolutionMs`, near enough. */
  onTime(nowMs: number): void;
  /** Ends it because the client does. */
  close?(): void;
}

/** How long a look holds the event loop: what many calls that are due come to takes seconds. */
const TURN_MS = 5;
/** Between two looks at the clock: most are not due, and take less time than that. */
const VISITS = 64;
/** Of those that are due as their turn comes, how many end before the next look has been. */
const AT_ONCE_MAX = 256;

export class Deadlines {
  readonly #clock: Clock;
  readonly #resolutionMs: number;
  readonly #timed = new Set<Timed>();
  #timer: Timer | undefined;
  #dueMs = 0;
  #stoodStill = false;
  /** A look is under way, perhaps for several turns. */
  #looking = false;
  /** Since the last look began. */
  #atOnce = 0;

  constructor(clock: Clock, resolutionMs: number) {
    this.#clock = clock;
    this.#resolutionMs = resolutionMs;
  }

  add(timed: Timed): void {
    this.#timed.add(timed);
    if (this.#timer === undefined && !this.#looking) this.#arm();
  }

  /**
   * One that is due as its turn comes ends at once, and makes room for the next; behind many of them
   * the others are left to the look.
   */
  overdue(timed: Timed, nowMs: number): void {
    this.#atOnce++;
    if (this.#atOnce <= AT_ONCE_MAX) timed.onTime(nowMs);
  }

  delete(timed: Timed): void {
    this.#timed.delete(timed);
  }

  /** Ends all that are under way, the oldest first; resolves when they have. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#visit((timed) => timed.close?.(), resolve));
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
    this.#looking = true;
    this.#atOnce = 0;
    this.#visit(
      (timed) => timed.onTime(now),
      () => {
        this.#looking = false;
        if (this.#timed.size > 0) this.#arm();
      },
    );
  }

  /** Goes on in the next turn when it has taken long. */
  #visit(tell: (timed: Timed) => void, done: () => void, left = this.#timed.values()): void {
    const untilMs = this.#clock.monotonicMs() + TURN_MS;
    let visits = 0;
    for (let next = left.next(); !next.done; next = left.next()) {
      tell(next.value);
      visits++;
      if (visits % VISITS !== 0 || this.#clock.monotonicMs() < untilMs) continue;
      this.#clock.endOfTurn(() => this.#visit(tell, done, left));
      return;
    }
    done();
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
