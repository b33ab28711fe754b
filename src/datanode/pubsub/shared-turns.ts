/**
 * Changes of subscriptions, a share of each turn: a client may subscribe to a hundred thousand names
 * with one command, and a peer tells as many at once. They are made in the order in which they came,
 * so that what is said of a name last holds; whoever comes while others wait, waits as well.
 */
import type { Clock } from '../../common/clock.ts';
import { Fifo } from '../../common/fifo.ts';
import { TurnShare } from '../../common/turn-share.ts';

/** What is to be done, in small steps. */
export type Steps = Iterator<unknown, void>;

interface Waiting {
  readonly steps: Steps;
  readonly done: () => void;
  readonly failed: (failure: unknown) => void;
}

/** Steps between two looks at the clock. */
const LOOKED_STEPS = 64;

export class SharedTurns {
  readonly #share: TurnShare;
  readonly #waiting = new Fifo<Waiting>();
  #closed = false;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>) {
    this.#share = new TurnShare(clock, () => this.#goOnLater(), LOOKED_STEPS);
  }

  /** Takes the steps: undefined when all are taken already, else it resolves once they are. */
  run(steps: Steps): Promise<void> | undefined {
    this.#share.begin();
    if (this.#waiting.length === 0 && this.#take(steps)) return undefined;
    return new Promise((done, failed) => this.#waiting.push({ steps, done, failed }));
  }

  /** The node stops: what waits is nobody's any more. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  /** What waits begins the share of the next turn. */
  #goOnLater(): void {
    if (this.#waiting.length === 0 || this.#closed) return;
    this.#share.begin();
    while (!this.#share.isOver && this.#waiting.length > 0) this.#goOn(this.#waiting.first!);
  }

  #goOn({ steps, done, failed }: Waiting): void {
    try {
      if (!this.#take(steps)) return;
      this.#waiting.shift();
      done();
    } catch (failure) {
      this.#waiting.shift();
      failed(failure);
    }
  }

  /** As many as this turn has time for; true when these were all. */
  #take(steps: Steps): boolean {
    while (!this.#share.isOver) {
      if (steps.next().done) return true;
      this.#share.note();
    }
    return false;
  }
}
