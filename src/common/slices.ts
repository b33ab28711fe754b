/**
 * Work that gives way: a generator that yields between small steps. Whoever runs it decides whether
 * others have their turns in between.
 */
import type { Clock } from './clock.ts';

export type Steps<Result> = Generator<void, Result, void>;

/** To its end, in this turn. */
export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * A slice a turn of the event loop: a step that ends `sliceMs` after its slice began is the last of
 * it. Rejects with what a step throws.
 */
export async function runInSlices<Result>(
  steps: Steps<Result>,
  clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>,
  sliceMs: number,
): Promise<Result> {
  for (;;) {
    const endMs = clock.monotonicMs() + sliceMs;
    do {
      const { done, value } = steps.next();
      if (done) return value;
    } while (clock.monotonicMs() < endMs);
    await endOfTurn(clock);
  }
}

/** Resolves when the inputs of this turn of the event loop have been taken. */
export function endOfTurn(clock: Pick<Clock, 'endOfTurn'>): Promise<void> {
  return new Promise((resolve) => clock.endOfTurn(resolve));
}
