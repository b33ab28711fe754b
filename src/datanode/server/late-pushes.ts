/**
 * What waits behind replies that are known and wait for others: those may be of a partition that nobody
 * reaches, for seconds. Then it is told at once as well: of what the client had before it is late, and of
 * those replies it comes again behind them.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import type { ReplySlot } from './reply-queue.ts';

/** With the age of a feed's proof this is within what is promised (docs/caching.md). */
const LATE_MS = 250;

interface Waiting {
  readonly slot: Pick<ReplySlot, 'isTaken'>;
  readonly tell: () => void;
}

export class LatePushes {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #isClosed: () => boolean;
  #waiting: Waiting[] = [];
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'setTimer'>, isClosed: () => boolean) {
    this.#clock = clock;
    this.#isClosed = isClosed;
  }

  note(slot: Waiting['slot'], tell: () => void): void {
    this.#waiting.push({ slot, tell });
    this.#timer ??= this.#clock.setTimer(LATE_MS, () => this.#tellLate());
  }

  #tellLate(): void {
    this.#timer = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { slot, tell } of waiting) if (!slot.isTaken && !this.#isClosed()) tell();
  }
}
