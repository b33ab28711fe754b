/**
 * A share of each turn of the event loop, for work in small steps that would not give way by itself: of
 * one client's commands, which may be over without the loop having turned, or of messages for thousands
 * of subscribers. Once it is over, others have their turn; the next turn has another share.
 */
import type { Clock } from './clock.ts';
import { limits } from './limits.ts';

type TurnClock = Pick<Clock, 'monotonicMs' | 'endOfTurn'>;

export class TurnShare {
  readonly #clock: TurnClock;
  readonly #onTurnEnd: (wasOver: boolean) => void;
  readonly #lookedSteps: number;
  /** When work began in this turn; undefined: none has. */
  #sinceMs: number | undefined;
  #unlooked = 0;
  #isOver = false;

  /**
   * `onTurnEnd` runs behind each turn that had work, told whether its share was over: what goes on then
   * begins the next one's. The clock is looked at behind `lookedSteps` steps.
   */
  constructor(clock: TurnClock, onTurnEnd: (wasOver: boolean) => void, lookedSteps = 1) {
    this.#clock = clock;
    this.#onTurnEnd = onTurnEnd;
    this.#lookedSteps = lookedSteps;
  }

  /** Nothing more is to begin in this turn. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Work begins; the first of a turn begins its share. */
  begin(): void {
    if (this.#sinceMs !== undefined) return;
    this.#sinceMs = this.#clock.monotonicMs();
    this.#clock.endOfTurn(() => {
      const wasOver = this.#isOver;
      this.#sinceMs = undefined;
      this.#isOver = false;
      this.#onTurnEnd(wasOver);
    });
  }

  /** So many steps are done: were they the last of this turn? */
  note(steps = 1): void {
    this.#unlooked += steps;
    if (this.#unlooked < this.#lookedSteps) return;
    this.#unlooked = 0;
    if (this.#sinceMs === undefined) return;
    if (this.#clock.monotonicMs() - this.#sinceMs >= limits.turnMs) this.#isOver = true;
  }

  /** For another reason than time nothing more begins in this turn, which has had work. */
  end(): void {
    this.#isOver = true;
  }
}
