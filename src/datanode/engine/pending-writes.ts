/**
 * What is written behind one engine: small batches are gathered, the newest operation of each key, and
 * go beneath together as one batch.
 *
 *   open     takes those that come
 *   sealed   is on its way beneath; readers find it here until it is there
 *
 * Whole batches are gathered, in their order, and the next is sealed when the one before is beneath:
 * what a crash leaves there is a prefix of the batches.
 */
import type { Clock } from '../../common/clock.ts';
import type { KvorumError } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import { LoneTimer } from '../../common/lone-timer.ts';
import type { BatchOperations, Engine } from './engine.ts';
import { Pending } from './pending.ts';
import { writeFailure } from './write-queue.ts';

const NOTHING: readonly Pending[] = [];

export class PendingWrites {
  readonly #beneath: Pick<Engine, 'write'>;
  readonly #onFailure: (error: KvorumError) => void;
  #open = new Pending();
  #sealed: Pending | undefined;
  #layers = NOTHING;
  /** How many were sealed, and how many of them are beneath. */
  #sealedCount = 0;
  #landedCount = 0;
  /** Ends when the sealed one is beneath, or has failed; never rejects. */
  #landing: Promise<void> | undefined;
  readonly #timer: LoneTimer;
  /** What is open has waited long enough. */
  #isDue = false;
  #failure: KvorumError | undefined;

  /** `onFailure`: nothing goes beneath any more, because of `error`. Called once. */
  constructor(
    beneath: Pick<Engine, 'write'>,
    clock: Pick<Clock, 'setTimer'>,
    onFailure: (error: KvorumError) => void,
  ) {
    this.#beneath = beneath;
    this.#timer = new LoneTimer(clock);
    this.#onFailure = onFailure;
  }

  /** What readers look into first: those that hold anything, the newer first. */
  get layers(): readonly Pending[] {
    return this.#layers;
  }

  get failure(): KvorumError | undefined {
    return this.#failure;
  }

  /** The layers, which will not change. */
  freeze(): readonly Pending[] {
    this.#open.isShared = true;
    return this.#layers;
  }

  /** Readers see them from now on; false: not before what is sealed is beneath (`landed`). */
  gather(operations: BatchOperations): boolean {
    if (operations.length === 0) return true;
    if (isFull(this.#open)) {
      if (this.#sealed) return false;
      this.#seal();
    }
    if (this.#open.isShared) this.#open = new Pending(this.#open);
    this.#open.add(operations);
    this.#layers = this.#sealed ? [this.#open, this.#sealed] : [this.#open];
    if (isFull(this.#open) && !this.#sealed) this.#seal();
    else this.#timer.ask(limits.engineBehindMs, this.#due);
    return true;
  }

  /** Resolves when what is sealed now is beneath; rejects when it will not be. */
  async landed(): Promise<void> {
    await this.#landing;
    if (this.#failure) throw this.#failure;
  }

  /** Resolves when all that is pending now is beneath; rejects when it will not be. */
  async flush(): Promise<void> {
    const until = this.#sealedCount + (this.#open.size > 0 ? 1 : 0);
    while (this.#landedCount < until && !this.#failure) {
      if (this.#landing === undefined) this.#seal();
      await this.#landing;
    }
    if (this.#failure) throw this.#failure;
  }

  /** Nothing goes beneath any more, unless so it was already; returns because of what. */
  fail(error: unknown): KvorumError {
    if (this.#failure) return this.#failure;
    const failure = writeFailure(error);
    this.#failure = failure;
    this.#timer.cancel();
    this.#onFailure(failure);
    return failure;
  }

  readonly #due = (): void => {
    if (this.#sealed) this.#isDue = true;
    else this.#seal();
  };

  /** Only while none is sealed. */
  #seal(): void {
    this.#timer.cancel();
    this.#isDue = false;
    if (this.#failure || this.#open.size === 0) return;
    this.#sealed = this.#open;
    this.#open = new Pending();
    this.#layers = [this.#sealed];
    this.#sealedCount++;
    this.#landing = this.#land(this.#sealed);
  }

  async #land(sealed: Pending): Promise<void> {
    try {
      await this.#beneath.write(sealed.operations());
    } catch (error) {
      // readers go on to be given it: it happened, and the raft log has it
      this.#landing = undefined;
      this.fail(error);
      return;
    }
    this.#landedCount++;
    this.#sealed = undefined;
    this.#landing = undefined;
    this.#layers = this.#open.size > 0 ? [this.#open] : NOTHING;
    if (this.#isDue || isFull(this.#open)) this.#seal();
  }
}

function isFull({ size, bytes }: Pending): boolean {
  return size >= limits.engineBehindOperations || bytes >= limits.engineBehindBytes;
}
