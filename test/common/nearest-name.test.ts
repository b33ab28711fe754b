import { expect, test } from 'vitest';
import { didYouMean, nearestName } from '../../src/common/nearest-name.ts';

const known = ['timeoutMs', 'connectTimeoutMs', 'nodes', 'sessions'];

test.each([
  ['timeout', 'timeoutMs'],
  ['TIMEOUTMS', 'timeoutMs'],
  ['connectTimeout', 'connectTimeoutMs'],
  ['node', 'nodes'],
  ['sesions', 'sessions'],
  ['retries', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('%.20s is taken for %s', (given, meant) => {
  expect(nearestName(given, known)).toBe(meant);
});

test('nothing is said of what is like no name', () => {
  expect(didYouMean('node', known)).toBe(' (did you mean nodes?)');
  expect(didYouMean('retries', known)).toBe('');
});
