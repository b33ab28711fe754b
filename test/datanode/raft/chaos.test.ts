/**
 * Message chaos against the pure core: replicas whose messages are dropped, repeated and
 * reordered, which crash with half-written disks, are partitioned, change members and hand over
 * leadership. A failure names its seed: KVORUM_SEED=n runs that one alone.
 */
import { expect, test } from 'vitest';
import { scale } from '../../scale.ts';
import { runChaos } from './chaos-run.ts';

const BATCHES = 10;

/** Seeds beyond the small column that once failed, and what they found. */
const found = [
  { seed: 7633, what: 'a demoted leader whose last messages are lost leaves no group without one' },
] as const;

const only = process.env['KVORUM_SEED'];
const count = scale.raftChaosSeeds;

if (only === undefined) {
  for (const { seed, what } of found) {
    test(`seed ${seed}: ${what}`, () => {
      expect(() => runChaos(seed)).not.toThrow();
    });
  }
  for (let batch = 0; batch < BATCHES; batch++) {
    const from = Math.floor((count * batch) / BATCHES) + 1;
    const to = Math.floor((count * (batch + 1)) / BATCHES);
    test(`seeds ${from} to ${to} keep the group safe, and it recovers`, () => {
      for (let seed = from; seed <= to; seed++) runChaos(seed);
      expect(to - from).toBeGreaterThanOrEqual(0);
    });
  }
} else {
  test(`seed ${only} keeps the group safe, and it recovers`, () => {
    runChaos(Number(only));
  });
}
