/**
 * When the writes that have gathered for a group are proposed, as one entry.
 *
 * An entry costs its nodes much the same, whether it carries one command or sixteen: messages, writes
 * of logs, turns of event loops (700 µs of CPU for three replicas, and 50 for each command in it).
 * Clients that wait for an answer before they ask again come in cohorts: those who are answered
 * together ask together. Two cohorts of one group would stay apart for ever, each with entries of its
 * own. So what comes while others are under way waits for those, and then, for a moment, for those who
 * have just been answered to come back; from then on they are one cohort. Who is alone waits for
 * nobody, and what is enough for an entry of its own does not wait either.
 *
 * Rounds that confirm a leader for reads are no such matter: they are answered before the others come.
 */
import type { Clock } from '../../common/clock.ts';
import { LoneTimer } from '../../common/lone-timer.ts';

/** So many share the cost of their entry well enough. */
const ENOUGH = 64;
/** So soon clients that were answered ask again, if they do. */
const RETURN_MS = 1;
/** Of those who were answered or waited then, so many are waited for; of up to nine, all. */
const RETURNING_SHARE = 0.9;
/** Timers know whole milliseconds. */
const LOOK_AGAIN_MS = 1;

export interface CohortGround {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  /** Asks for a turn of the replica, in which `mayLeave` is asked again. */
  requestTurn(): void;
}

export class Cohort {
  readonly #ground: CohortGround;
  readonly #waitMaxMs: number;
  /** Since when the oldest of those who wait waits. */
  #sinceMs: number | undefined;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #expected = 0;
  readonly #timer: LoneTimer;

  /** Nobody waits longer than `waitMaxMs`. */
  constructor(ground: CohortGround, waitMaxMs: number) {
    this.#ground = ground;
    this.#timer = new LoneTimer(ground.clock);
    this.#waitMaxMs = waitMaxMs;
  }

  /**
   * True when `waiting` commands, some at least, are to leave now; else a turn will come in which they
   * may. `isUnderWay`: others left before and are not answered yet.
   */
  mayLeave(waiting: number, isUnderWay: boolean): boolean {
    const nowMs = this.#ground.clock.monotonicMs();
    this.#sinceMs ??= nowMs;
    if (this.#isToWait(waiting, isUnderWay, nowMs)) {
      this.#timer.ask(LOOK_AGAIN_MS, this.#look);
      return false;
    }
    this.#sinceMs = undefined;
    return true;
  }

  /** `answered` commands are answered while `waiting` others wait. */
  onAnswered(answered: number, waiting: number): void {
    this.#answeredMs = this.#ground.clock.monotonicMs();
    this.#expected = Math.ceil((answered + waiting) * RETURNING_SHARE);
    if (waiting > 0) this.#ground.requestTurn();
  }

  /** No turn is asked for any more. */
  stop(): void {
    this.#timer.cancel();
  }

  #isToWait(waiting: number, isUnderWay: boolean, nowMs: number): boolean {
    if (waiting >= ENOUGH || nowMs - this.#sinceMs! >= this.#waitMaxMs) return false;
    if (isUnderWay) return true;
    return waiting < this.#expected && nowMs - this.#answeredMs < RETURN_MS;
  }

  readonly #look = (): void => {
    if (this.#sinceMs !== undefined) this.#ground.requestTurn();
  };
}
