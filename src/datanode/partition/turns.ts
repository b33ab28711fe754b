/** Replicas that have something to do are called together, at the end of the event-loop turn. */
import type { Clock } from '../../common/clock.ts';
import type { Replica } from './replica.ts';

export class Turns {
  readonly #clock: Pick<Clock, 'endOfTurn'>;
  #asking = new Set<Replica>();
  /** Those of the turn that is being carried out. */
  #called: Set<Replica> | undefined;
  /** Those of them whose turn has come. */
  readonly #had = new Set<Replica>();
  #scheduled = false;

  constructor(clock: Pick<Clock, 'endOfTurn'>) {
    this.#clock = clock;
  }

  /**
   * `replica` is called once more, however often it asks before its turn: in the one that is being
   * carried out, if it has not had its turn in it, else in the next.
   */
  request(replica: Replica): void {
    if (this.#called !== undefined && !this.#had.has(replica)) {
      this.#called.add(replica);
      return;
    }
    this.#asking.add(replica);
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
      for (const replica of this.#called) {
        this.#had.add(replica);
        guarded(replica, runTurn);
      }
    } finally {
      this.#called = undefined;
      this.#had.clear();
    }
  };
}

function runTurn(replica: Replica): void {
  replica.turn();
}

/** What fails is the replica's own failure, and keeps nobody else from anything. */
export function guarded(replica: Replica, run: (replica: Replica) => void): void {
  try {
    run(replica);
  } catch (failure) {
    replica.fail(failure);
  }
}
