/**
 * How long the requests of one client have been taken since it last rested: over a turn's measure it rests,
 * so that others have theirs. A pipeline comes in pieces, and each may hold a thousand requests.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';

/** Requests of a pipeline that are taken between two looks at the clock. */
const LOOKED_REQUESTS = 16;

export class WalkTime {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** But for what is being walked. */
  #spentMs = 0;
  #sinceMs = 0;
  #taken = 0;
  #isUsedUp = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** The client has had a turn's measure, as far as anybody has looked. */
  get isUsedUp(): boolean {
    return this.#isUsedUp;
  }

  /** What has come is walked. */
  begin(): void {
    this.#sinceMs = this.#clock.monotonicMs();
  }

  end(): void {
    this.#spentMs += this.#clock.monotonicMs() - this.#sinceMs;
    this.#isUsedUp = this.#spentMs >= limits.turnMs;
  }

  /** A request was taken, in the midst of a walk. */
  noteTaken(): void {
    if (++this.#taken % LOOKED_REQUESTS !== 0) return;
    this.#isUsedUp = this.#spentMs + this.#clock.monotonicMs() - this.#sinceMs >= limits.turnMs;
  }

  /** It may have another. */
  rested(): void {
    this.#spentMs = 0;
    this.#isUsedUp = false;
  }
}
