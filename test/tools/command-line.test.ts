import { describe, expect, test } from 'vitest';
import { listOf, number, oneOf, parseWords, whole } from '../../tools/command-line.ts';

describe('values of options', () => {
  test('are read when they are within their bounds', () => {
    expect(number('--x', '0.5', 0.5, 3)).toBe(0.5);
    expect(whole('--x', '3', 0.5, 3)).toBe(3);
    expect(oneOf('--x', '3', [1, 3])).toBe(3);
    expect(listOf('--x', 'b, a', ['a', 'b', 'c'])).toEqual(['b', 'a']);
  });

  test.each<[string, () => unknown]>([
    ['--x 4: must be a number from 1 to 3', () => number('--x', '4', 1, 3)],
    ['--x : must be a number from 0 to 3', () => number('--x', '', 0, 3)],
    ['--x NaN: must be a number from 0 to 3', () => number('--x', 'NaN', 0, 3)],
    ['--x 1.5: must be a whole number', () => whole('--x', '1.5', 1, 3)],
    ['--x 2: must be 1 or 3', () => oneOf('--x', '2', [1, 3])],
    ['--x d: use a, b', () => listOf('--x', 'a,d', ['a', 'b'])],
    ["Unknown option '--y'", () => parseWords(['--y'], { x: { type: 'string' } })],
  ])('%s', (message, read) => {
    expect(read).toThrow(new Error(message));
  });
});
