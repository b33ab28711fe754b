/**
 * How long a node's commands work before everybody else has a turn. The clock says when to pause and
 * nothing else: what a command comes to must not depend on where it paused. Shared by all replicas
 * of a node, and its time with all others of the clock: so a turn has one measure of work.
 */
import type { Clock } from '../../../common/clock.ts';
import { limits } from '../../../common/limits.ts';
import { type TurnWork, turnWorkOf } from '../../../common/turn-work.ts';

interface Waiting {
  readonly by: object;
  readonly resolve: () => void;
}

export class Pace {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>;
  readonly #work: TurnWork;
  /** That of `#steps`. */
  #turn = 0;
  #steps = 0;
  #waiting: Waiting[] = [];
  /** After which of the pauses each was the first to go on. */
  readonly #firstAt = new WeakMap<object, number>();
  #pauses = 0;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>) {
    this.#clock = clock;
    this.#work = turnWorkOf(clock);
  }

  /** Work begins that may be long before it asks for the first time. */
  begin(): void {
    const turn = this.#work.begin();
    if (this.#turn === turn) return;
    this.#turn = turn;
    this.#steps = 0;
  }

  /**
   * Called after each small step of work, or (`isGlance`) within one; true: `pause` before the next.
   */
  isDue(isGlance = false): boolean {
    this.begin();
    if (!isGlance && ++this.#steps >= limits.turnStepsMax) return true;
    return this.#work.isCommandsOver;
  }

  /**
   * Resolves in a later turn of the event loop, in which work begins. Who is first in a turn may have
   * all of it, and some, `by`, do nothing in a turn that has no time left: of those who wait the one
   * goes first who has not been for the longest time. All others count as one.
   */
  pause(by: object = this): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ by, resolve });
      if (this.#waiting.length === 1) this.#clock.endOfTurn(() => this.#goOn());
    });
  }

  #goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const first = this.#longestNotFirst(waiting);
    this.#firstAt.set(first, ++this.#pauses);
    this.begin();
    for (const { by, resolve } of waiting) if (by === first) resolve();
    for (const { by, resolve } of waiting) if (by !== first) resolve();
  }

  #longestNotFirst(waiting: readonly Waiting[]): object {
    let found: object = this;
    let earliest = Number.POSITIVE_INFINITY;
    for (const { by } of waiting) {
      const at = this.#firstAt.get(by) ?? 0;
      if (at < earliest) [found, earliest] = [by, at];
    }
    return found;
  }
}
