/** Replicas that have something to do are called together, at the end of the event-loop turn. */
import type { Clock } from '../../common/clock.ts';
import type { Replica } from './replica.ts';

export class Turns {
  readonly #clock: Pick<Clock, 'endOfTurn'>;
  #asking = new Set<Replica>();
  #scheduled = false;

  constructor(clock: Pick<Clock, 'endOfTurn'>) {
    this.#clock = clock;
  }

  /** `replica` is called once, however often it asks before that. */
  request(replica: Replica): void {
    this.#asking.add(replica);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.endOfTurn(this.#run);
  }

  readonly #run = (): void => {
    this.#scheduled = false;
    const asking = this.#asking;
    this.#asking = new Set();
    for (const replica of asking) guarded(replica, runTurn);
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
