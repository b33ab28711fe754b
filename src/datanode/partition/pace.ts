/**
 * How long a node's commands work before everybody else has a turn. The clock says when to pause and
 * nothing else: what a command comes to must not depend on where it paused. Shared by all replicas
 * of a node, and its time with all others of the clock: so a turn has one measure of work.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import { type TurnWork, turnWorkOf } from '../../common/turn-work.ts';

export class Pace {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>;
  readonly #work: TurnWork;
  /** That of `#steps`. */
  #turn = 0;
  #steps = 0;

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

  /** Resolves in a later turn of the event loop, in which work begins. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.endOfTurn(() => {
        this.begin();
        resolve();
      });
    });
  }
}
