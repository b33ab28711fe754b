import { expect, test } from 'vitest';
import { rateOption, Throttle } from '../../../src/cli/backup/throttle.ts';

test.each([
  ['1000', 1_000],
  ['800k', 819_200],
  ['50m', 52_428_800],
  ['1.5M', 1_572_864],
  ['1gib', 1_073_741_824],
  ['20MB/s', 20_971_520],
])('%s is a rate', (text, bytes) => {
  expect(rateOption(text)).toBe(bytes);
});

test.each(['', 'm', '0', '0.5', '-1', '5x', '5 m m'])('%s is none', (text) => {
  expect(() => rateOption(text)).toThrow('must be bytes a second');
});

test('all who share it have the rate together', async () => {
  const throttle = new Throttle(100_000);
  const began = performance.now();
  await Promise.all(Array.from({ length: 5 }, () => throttle.spend(4_000)));
  // 20,000 bytes at 100,000 a second; timers may be a little early
  expect(performance.now() - began).toBeGreaterThan(190);
});

test('without a rate nothing waits', async () => {
  const spent = new Throttle(0).spend(1e12).then(() => 'at once');
  const later = new Promise((resolve) => setImmediate(() => resolve('later')));
  expect(await Promise.race([later, spent])).toBe('at once');
});
