/**
 * Properties as this folder runs them: the same cases every time, others with KVORUM_FUZZ_SEED. A
 * failure prints seed and path, and the smallest input that fails.
 */
import fc from 'fast-check';
import { vi } from 'vitest';
import { scale } from '../scale.ts';

const seed = Number(process.env['KVORUM_FUZZ_SEED'] ?? 1);

/** At most this long for one property, so that a hang becomes a failure with its seed. */
const limitMs = scale.fuzzMinutes * 60_000;
vi.setConfig({ testTimeout: limitMs + 30_000 });

export function parameters(numRuns: number) {
  return {
    seed,
    numRuns,
    interruptAfterTimeLimit: limitMs,
    markInterruptAsFailure: true,
  };
}

/** Checks `property` `numRuns` times; throws with seed, path and the smallest counterexample. */
export function check<Ts>(numRuns: number, property: fc.IProperty<Ts>): void {
  fc.assert(property, parameters(numRuns));
}

/** As `check`, for properties that wait. */
export function checkAsync<Ts>(numRuns: number, property: fc.IAsyncProperty<Ts>): Promise<void> {
  return fc.assert(property, parameters(numRuns));
}
