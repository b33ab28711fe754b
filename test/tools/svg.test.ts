import { expect, test } from 'vitest';
import { drawing, escaped, niceCeiling } from '../../tools/svg.ts';

test('an axis ends at a round number that holds its value', () => {
  const ends = [0.03, 1, 1.1, 39, 41, 60, 99_999].map(niceCeiling);
  expect(ends).toEqual([0.04, 1, 2, 40, 50, 100, 100_000].map((n) => expect.closeTo(n, 9)));
});

test('a drawing is one element of SVG, with what is told of it escaped', () => {
  const frame = { width: 20, height: 10, title: 'a < b & c', left: 1 };
  const text = drawing(frame, ['<rect/>', escaped('"x" > 1')]);
  expect(text).toMatch(/^<svg [^>]*viewBox="0 0 20 10"[\s\S]*<\/svg>\n$/);
  expect(text).toContain('a &lt; b &amp; c');
  expect(text).toContain('"x" &gt; 1');
});
