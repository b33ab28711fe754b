import { expect, test } from 'vitest';
import { percentile } from '../../bench/percentile.ts';

test('the nearest rank: of few values the 99th percentile is the largest', () => {
  expect([0, 0.5, 0.99, 1].map((share) => percentile([4, 1, 3, 2], share))).toEqual([1, 2, 4, 4]);
  const hundred = Array.from({ length: 100 }, (_, at) => at + 1);
  expect(percentile(hundred, 0.99)).toBe(99);
  expect(percentile([], 0.5)).toBeNaN();
});
