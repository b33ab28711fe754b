import { describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { runSmoke } from './smoke.ts';

describe('three whole datanodes on simulated clock, network, disk and engines', () => {
  test.each(Array.from({ length: scale.smokeSeeds }, (_, seed) => seed + 1))(
    'seed %i: a crash, a partition and a restart lose nothing, twice with equal traces',
    async (seed) => {
      const first = await runSmoke(String(seed));
      expect(first.violations, first.report).toEqual([]);
      expect(first.acknowledged).toBeGreaterThan(100);
      const second = await runSmoke(String(seed));
      expect(second.trace).toBe(first.trace);
      expect(second.events).toBe(first.events);
    },
  );
});
