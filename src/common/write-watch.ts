/**
 * Times a log's writes, and notices a batch that its disk does not answer: nothing would be acknowledged
 * any more, while heartbeats and keep-alives, which need no disk, would leave a node its leaders, or a
 * master its mastership. What is counted are looks of the event loop: a process that stood still has not
 * waited for its disk.
 */
import type { Clock } from './clock.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { LoneTimer } from './lone-timer.ts';

/** A batch is looked at so often before it counts as unanswered. */
const LOOKS = 10;

export class WriteWatch {
  readonly time = new LatencyHistogram();
  readonly #clock: Clock;
  readonly #lookMs: number;
  readonly #onStall: (why: Error) => void;
  readonly #timer: LoneTimer;
  #isUnderWay = false;
  #looks = 0;

  /** `onStall` is called when a batch takes longer than `stallMs`. */
  constructor(clock: Clock, stallMs: number, onStall: (why: Error) => void) {
    this.#clock = clock;
    this.#lookMs = stallMs / LOOKS;
    this.#onStall = onStall;
    this.#timer = new LoneTimer(clock);
  }

  /** All that a batch asks of the disk: its file, the zeros it is to cover, its write. One at a time. */
  async during<Done>(batch: Promise<Done>): Promise<Done> {
    this.#looks = 0;
    this.#isUnderWay = true;
    this.#timer.ask(this.#lookMs, this.#look);
    try {
      return await batch;
    } finally {
      this.#isUnderWay = false;
    }
  }

  /** The write of it, which alone is timed. */
  async timed(write: Promise<void>): Promise<void> {
    const beganMs = this.#clock.monotonicMs();
    await write;
    this.time.recordMs(this.#clock.monotonicMs() - beganMs);
  }

  readonly #look = (): void => {
    if (!this.#isUnderWay) return;
    // the first may come early: it was asked for by a batch before
    if (++this.#looks <= LOOKS) this.#timer.ask(this.#lookMs, this.#look);
    else this.#onStall(new Error(`no answer for ${(this.#lookMs * LOOKS) / 1_000} s`));
  };
}
