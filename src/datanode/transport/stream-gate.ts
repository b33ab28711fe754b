/** What all snapshot streams of a node share: slots in FIFO order, and the rate of sending. */
import type { Clock, Timer } from '../../common/clock.ts';
import { KvorumError } from '../../common/errors.ts';

const WAITING_MAX = 1_024;
/** Sending may run ahead of the rate by this much. */
const BURST_MS = 50;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** At most `max` holders; the others wait in order, a bounded number of them. */
export class Slots {
  readonly #max: number;
  readonly #waiting: Waiter[] = [];
  #held = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Resolves when a slot is held; rejects BUSY when too many wait. */
  acquire(): Promise<void> {
    if (this.#held < this.#max) {
      this.#held++;
      return Promise.resolve();
    }
    if (this.#waiting.length >= WAITING_MAX) {
      return Promise.reject(new KvorumError('BUSY', 'too many snapshot streams wait'));
    }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** The slot goes to who waits longest. */
  release(): void {
    const next = this.#waiting.shift();
    if (next) next.resolve();
    else this.#held--;
  }

  close(): void {
    for (const waiter of this.#waiting.splice(0)) waiter.reject(stopping());
  }
}

export class Throttle {
  readonly #clock: Clock;
  readonly #bytesPerMs: number;
  readonly #sleeping = new Map<Timer, Waiter>();
  #freeAtMs = 0;
  #closed = false;

  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerMs = bytesPerSecond / 1_000;
  }

  /** Resolves when `bytes` may be sent. */
  async take(bytes: number): Promise<void> {
    if (this.#closed) throw stopping();
    const now = this.#clock.monotonicMs();
    this.#freeAtMs = Math.max(this.#freeAtMs, now) + bytes / this.#bytesPerMs;
    const delayMs = this.#freeAtMs - now - BURST_MS;
    if (delayMs <= 0) return;
    await new Promise<void>((resolve, reject) => {
      const timer = this.#clock.setTimer(delayMs, () => {
        this.#sleeping.delete(timer);
        resolve();
      });
      this.#sleeping.set(timer, { resolve, reject });
    });
  }

  close(): void {
    this.#closed = true;
    for (const [timer, waiter] of this.#sleeping) {
      timer.cancel();
      waiter.reject(stopping());
    }
    this.#sleeping.clear();
  }
}

export interface StreamGate {
  readonly sends: Slots;
  readonly receives: Slots;
  readonly throttle: Throttle;
}

function stopping(): KvorumError {
  return new KvorumError('STOPPING', 'the transport is closing');
}
