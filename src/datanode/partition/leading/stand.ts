/**
 * Standing for election without waiting out an election timeout: the replica that should lead when
 * it is opened, and everybody when the leader's node went away. Repeated while nobody leads: the
 * others may not have noticed yet that the leader is gone, and refuse. A group that has a leader
 * refuses it in the pre-vote.
 */
import type { Random } from '../../../common/random.ts';

/** How soon, and how often. */
const DELAY_MS = 100;
const TRIES = 5;

export interface Candidate {
  readonly leader: number;
  campaign(): void;
}

export class Stand {
  readonly #random: Random;
  readonly #after: (delayMs: number, run: () => void) => void;

  constructor(random: Random, after: (delayMs: number, run: () => void) => void) {
    this.#random = random;
    this.#after = after;
  }

  /** Campaigns after `delayMs`, and some times more while there is no leader. */
  for(candidate: Candidate, delayMs = this.#delayMs(), tries = TRIES): void {
    this.#after(delayMs, () => {
      if (candidate.leader !== 0) return;
      candidate.campaign();
      if (tries > 1) this.for(candidate, this.#delayMs(), tries - 1);
    });
  }

  #delayMs(): number {
    return DELAY_MS + this.#random.below(DELAY_MS);
  }
}
