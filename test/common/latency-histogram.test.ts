import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LatencyHistogram } from '../../src/common/latency-histogram.ts';

function of(...durations: number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const one of durations) histogram.record(one);
  return histogram;
}

test('an empty one has zeros', () => {
  const empty = new LatencyHistogram();
  expect(empty.count).toBe(0);
  expect(empty.percentile(99)).toBe(0);
  expect(empty.coarse().every(({ count }) => count === 0)).toBe(true);
});

test('below 32 µs every microsecond is told apart, fractions count for the sum only', () => {
  const histogram = of(0.25, 1.5, 7, 7.9);
  expect(histogram.percentile(25)).toBe(0);
  expect(histogram.percentile(50)).toBe(1);
  expect(histogram.percentile(100)).toBe(7);
  expect(histogram.sumMicroseconds).toBeCloseTo(16.65);
});

test('a percentile is the smallest duration that so many do not exceed, at most 1/32 too large', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 2 ** 31 - 1 }), { minLength: 1, maxLength: 200 }),
      fc.double({ min: 0.1, max: 100, noNaN: true }),
      (durations, percent) => {
        const sorted = [...durations].sort((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1]!;
        const told = of(...durations).percentile(percent);
        expect(told).toBeGreaterThanOrEqual(exact);
        expect(told).toBeLessThanOrEqual(exact + exact / 32);
      },
    ),
  );
});

test('coarse buckets count exactly what is shorter', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 40_000_000 }), { maxLength: 200 }), (all) => {
      for (const { belowMicroseconds, count } of of(...all).coarse()) {
        expect(count).toBe(all.filter((one) => one < belowMicroseconds).length);
      }
    }),
  );
});

test('the coarse bounds are powers of two from 16 µs to 16.8 s', () => {
  const bounds = new LatencyHistogram().coarse().map((bucket) => bucket.belowMicroseconds);
  expect(bounds).toHaveLength(21);
  expect([bounds[0], bounds.at(-1)]).toEqual([16, 16_777_216]);
});

test('what is longer than all, negative or no number at all does no harm', () => {
  const histogram = of(1e12, -5, Number.NaN);
  expect(histogram.count).toBe(3);
  expect(histogram.percentile(100)).toBe(2 ** 31 - 1);
  expect(histogram.sumMicroseconds).toBe(1e12);
  expect(histogram.coarse().at(-1)!.count).toBe(2);
});

test('adds up another', () => {
  const sum = of(10, 100);
  sum.add(of(1_000));
  expect(sum.count).toBe(3);
  expect(sum.sumMicroseconds).toBe(1_110);
  expect(sum.percentile(100)).toBe(of(1_000).percentile(100));
});
