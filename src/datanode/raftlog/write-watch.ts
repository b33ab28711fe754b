/**
 * Times the log's writes, and notices one that its disk does not answer: nothing would be acknowledged
 * any more, while heartbeats, which need no disk, would keep the node's leaders where they are. What is
 * counted are looks of the event loop: a process that stood still has not waited for its disk.
 */
import type { Clock } from '../../common/clock.ts';
import { LatencyHistogram } from '../../common/latency-histogram.ts';
import { LoneTimer } from '../../common/lone-timer.ts';

/** A write is looked at so often before it counts as unanswered. */
const LOOKS = 10;

export class WriteWatch {
  readonly time = new LatencyHistogram();
  readonly #clock: Clock;
  readonly #lookMs: number;
  readonly #onStall: (why: Error) => void;
  readonly #timer: LoneTimer;
  #isUnderWay = false;
  #looks = 0;

  /** `onStall` is called when a write takes longer than `stallMs`. */
  constructor(clock: Clock, stallMs: number, onStall: (why: Error) => void) {
    this.#clock = clock;
    this.#lookMs = stallMs / LOOKS;
    this.#onStall = onStall;
    this.#timer = new LoneTimer(clock);
  }

  /** One write at a time. */
  async during(write: Promise<void>): Promise<void> {
    const beganMs = this.#clock.monotonicMs();
    this.#looks = 0;
    this.#isUnderWay = true;
    this.#timer.ask(this.#lookMs, this.#look);
    try {
      await write;
    } finally {
      this.#isUnderWay = false;
    }
    this.time.recordMs(this.#clock.monotonicMs() - beganMs);
  }

  readonly #look = (): void => {
    if (!this.#isUnderWay) return;
    // the first may come early: it was asked for by a write before
    if (++this.#looks <= LOOKS) this.#timer.ask(this.#lookMs, this.#look);
    else this.#onStall(new Error(`no answer for ${(this.#lookMs * LOOKS) / 1_000} s`));
  };
}
