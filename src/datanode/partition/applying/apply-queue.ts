/**
 * Committed entries that wait to be applied, and who works them off: one run at a time, each with all that
 * has come by then. While nobody waits for them they gather: one large engine batch costs less than many.
 */
import type { Clock } from '../../../common/clock.ts';
import { LoneTimer } from '../../../common/lone-timer.ts';
import type { Entry } from '../../raft/message.ts';

/**
 * How long a follower gathers, how many pieces of work, and bytes of entries. Each engine batch costs
 * two switches of threads: of 40 ms instead of 10, a SET at pipeline 1 takes 13 % less CPU.
 */
const GATHER_MS = 40;
const WORKS_GATHERED_MAX = 256;
const BYTES_GATHERED_MAX = 262_144;

/** What came together. */
export interface Work {
  readonly entries: readonly Entry[];
  /** All of them are in the engine. */
  readonly done: () => void;
}

export interface QueueGround {
  /** Nobody waits for what is queued. */
  mayGather(): boolean;
  /** In order; called again when what it gave back has resolved. */
  apply(work: readonly Work[]): Promise<void>;
  /** It threw: nothing more is applied. */
  onFault(failure: unknown): void;
}

export class ApplyQueue {
  readonly #ground: QueueGround;
  readonly #timer: LoneTimer;
  #queue: Work[] = [];
  /** Of entries in the queue, while nothing runs. */
  #gatheredBytes = 0;
  #running = false;
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(clock: Pick<Clock, 'setTimer'>, ground: QueueGround) {
    this.#timer = new LoneTimer(clock);
    this.#ground = ground;
  }

  /** Something is being applied. */
  get running(): boolean {
    return this.#running;
  }

  /** `done` runs when all of `entries` are applied, which may take a moment. */
  add(entries: readonly Entry[], done: () => void): void {
    if (this.#stopped) return;
    this.#queue.push({ entries, done });
    if (this.#running) return;
    for (const { data } of entries) this.#gatheredBytes += data.length;
    const isFull =
      this.#queue.length >= WORKS_GATHERED_MAX || this.#gatheredBytes >= BYTES_GATHERED_MAX;
    if (!isFull && this.#ground.mayGather()) {
      this.#timer.ask(GATHER_MS, () => this.start());
      return;
    }
    this.start();
  }

  /** Begins with what is queued, unless it is being worked off already. */
  start(): void {
    this.#timer.cancel();
    this.#gatheredBytes = 0;
    if (!this.#running && this.#queue.length > 0) void this.#run();
  }

  /** Resolves when nothing is queued or being applied. */
  whenIdle(): Promise<void> {
    this.start();
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Lets what is being applied finish, then nothing more is. */
  stop(): Promise<void> {
    this.#forgetAll();
    return this.whenIdle();
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#queue.length > 0) {
        const work = this.#queue;
        this.#queue = [];
        await this.#ground.apply(work);
      }
    } catch (failure) {
      this.#forgetAll();
      this.#ground.onFault(failure);
    } finally {
      this.#running = false;
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  #forgetAll(): void {
    this.#stopped = true;
    this.#queue = [];
  }
}
