/** Who has something to do, most of all replicas, is called together at the end of the event-loop turn. */
import type { Clock } from '../../../common/clock.ts';

export interface Turner {
  turn(): void;
  /** What its turn threw. */
  fail(failure: unknown): void;
}

export class Turns {
  readonly #clock: Pick<Clock, 'endOfTurn'>;
  #asking = new Set<Turner>();
  /** Those of the turn that is being carried out. */
  #called: Set<Turner> | undefined;
  /** Those of them whose turn has come. */
  readonly #had = new Set<Turner>();
  #scheduled = false;

  constructor(clock: Pick<Clock, 'endOfTurn'>) {
    this.#clock = clock;
  }

  /**
   * `turner` is called once more, however often it asks before its turn: in the one that is being
   * carried out, if it has not had its turn in it, else in the next.
   */
  request(turner: Turner): void {
    if (this.#called !== undefined && !this.#had.has(turner)) {
      this.#called.add(turner);
      return;
    }
    this.#asking.add(turner);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.endOfTurn(this.#run);
  }

  readonly #run = (): void => {
    this.#scheduled = false;
    this.#called = this.#asking;
    this.#asking = new Set();
    // a set tells also of those that are added meanwhile
    try {
      for (const turner of this.#called) {
        this.#had.add(turner);
        guarded(turner, runTurn);
      }
    } finally {
      this.#called = undefined;
      this.#had.clear();
    }
  };
}

function runTurn(turner: Turner): void {
  turner.turn();
}

/** What fails is its own failure, and keeps nobody else from anything. */
export function guarded<T extends Pick<Turner, 'fail'>>(turner: T, run: (turner: T) => void): void {
  try {
    run(turner);
  } catch (failure) {
    turner.fail(failure);
  }
}
