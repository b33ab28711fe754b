/** Those who wait until a client has taken what it was sent, because they have more than fits. */
import { KvorumError } from '../../common/errors.ts';

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class TakenWaiters {
  readonly #isTaken: () => boolean;
  #waiters: Waiter[] = [];
  #isClosed = false;

  constructor(isTaken: () => boolean) {
    this.#isTaken = isTaken;
  }

  /** Rejects with CONNECTION_LOST when the client has gone. */
  wait(): Promise<void> {
    if (this.#isClosed) return Promise.reject(gone());
    if (this.#isTaken()) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Some of it may have been taken. */
  look(): void {
    if (this.#waiters.length === 0 || !this.#isTaken()) return;
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiters.splice(0)) reject(gone());
  }
}

function gone(): KvorumError {
  return new KvorumError('CONNECTION_LOST', 'the client has gone');
}
