/** How much of all clients' requests this node may hold while partitions have no leader. */
import { assert } from '../../common/assert.ts';
import { limits } from '../../common/limits.ts';

export class HoldBudget {
  #requests = 0;
  #bytes = 0;
  #requestsEver = 0;
  readonly #requestsMax: number;
  readonly #bytesMax: number;

  constructor(
    requestsMax: number = limits.holdRequestsMax,
    bytesMax: number = limits.holdBytesMax,
  ) {
    this.#requestsMax = requestsMax;
    this.#bytesMax = bytesMax;
  }

  get requests(): number {
    return this.#requests;
  }

  /** Requests that were held at least once. */
  get requestsEver(): number {
    return this.#requestsEver;
  }

  /** A request is held for the first time. */
  countRequest(): void {
    this.#requestsEver++;
  }

  /** False: the budget is used up, and nothing was taken. */
  take(bytes: number): boolean {
    if (this.#requests >= this.#requestsMax || this.#bytes + bytes > this.#bytesMax) return false;
    this.#requests++;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#requests--;
    this.#bytes -= bytes;
    assert(this.#requests >= 0 && this.#bytes >= 0, 'no more is given back than was taken');
  }
}
