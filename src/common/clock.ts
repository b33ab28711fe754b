/**
 * Time as it is handed in. The simulator gives a virtual clock; only `systemClock` reads the host's.
 */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds (with fraction) that only grow; its zero means nothing. */
  monotonicMs(): number;
  /** Milliseconds since 1970, whole; may jump either way. */
  wallMs(): number;
  /** Calls `run` once, after at least `delayMs`. */
  setTimer(delayMs: number, run: () => void): Timer;
  /** Calls `run` after the inputs of this event-loop turn have been taken (setImmediate). */
  endOfTurn(run: () => void): void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs, run) {
    const handle = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  endOfTurn(run) {
    setImmediate(run);
  },
};

/** Resolves after `delayMs`; rejects at once with the signal's reason when it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
