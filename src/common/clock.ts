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
  endOfTurn,
};

/** What is to run at the end of this turn. */
let ending: (() => void)[] = [];

/** One immediate for all that a turn asks for: each of its own costs as much as a small callback. */
function endOfTurn(run: () => void): void {
  ending.push(run);
  if (ending.length === 1) setImmediate(endTurn);
}

/** What these ask for comes at the end of the next turn. One that throws takes no other with it. */
function endTurn(): void {
  const runs = ending;
  ending = [];
  let at = 0;
  try {
    while (at < runs.length) runs[at++]!();
  } finally {
    if (at < runs.length) {
      ending = [...runs.slice(at), ...ending];
      setImmediate(endTurn);
    }
  }
}

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
