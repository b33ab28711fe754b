/**
 * What one connection does in a turn of the event loop with commands that run alone. Such a command
 * may be over without the loop having turned, and so may be the next, to the end of a pipeline of
 * thousands: between them others have their turns.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';

export class TurnShare {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>;
  readonly #goOn: () => void;
  /** When work began in this turn; undefined: none has. */
  #sinceMs: number | undefined;
  #usedUp = false;

  /** `goOn` runs in the turn after one whose share was used up. */
  constructor(clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>, goOn: () => void) {
    this.#clock = clock;
    this.#goOn = goOn;
  }

  /** Nothing more is to begin in this turn. */
  get isUsedUp(): boolean {
    return this.#usedUp;
  }

  /** Work begins. */
  begin(): void {
    if (this.#sinceMs !== undefined) return;
    this.#sinceMs = this.#clock.monotonicMs();
    this.#clock.endOfTurn(() => {
      this.#sinceMs = undefined;
      if (!this.#usedUp) return;
      this.#usedUp = false;
      this.#goOn();
    });
  }

  /** Some work is done: was it the last of this turn? */
  look(): void {
    if (this.#sinceMs === undefined) return;
    this.#usedUp = this.#clock.monotonicMs() - this.#sinceMs >= limits.turnMs;
  }
}
