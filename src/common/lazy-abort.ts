/** Tells that whoever asked has gone, those who look. */
export interface Gone {
  readonly isGone: boolean;
  readonly signal: AbortSignal;
}

/** One for all: to make one, as `abort` does by itself, takes longer than all who are told by it. */
export const NOBODY_WAITS = new Error('nobody waits for it any more');

/** An AbortController whose signal few ask for: it is made when the first does. */
export class LazyAbort implements Gone {
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;

  get isGone(): boolean {
    return this.#aborted;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown = NOBODY_WAITS): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
