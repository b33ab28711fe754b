import { expect, test } from 'vitest';
import { Patience } from '../../../../src/datanode/partition/proposing/patience.ts';

const patience = (...tookMs: number[]) => {
  const made = new Patience({ leastMs: 4, mostMs: 20 });
  for (let i = 0; i < 200; i++) for (const each of tookMs) made.note(each);
  return made.ms;
};

test('twice what answers take, within the bounds', () => {
  expect(new Patience({ leastMs: 4, mostMs: 20 }).ms).toBe(4);
  expect(patience(1)).toBe(4);
  expect(patience(6)).toBeCloseTo(12, 1);
  expect(patience(300)).toBe(20);
});

test('the quicker of the answers have the greater say', () => {
  expect(patience(2, 30)).toBeGreaterThan(8);
  expect(patience(2, 30)).toBeLessThan(15);
});
