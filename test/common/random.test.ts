import { expect, test } from 'vitest';
import { seededRandom, systemRandom } from '../../src/common/random.ts';

test('a seed gives the same numbers, another seed others', () => {
  const draw = (seed: number | string) => {
    const random = seededRandom(seed);
    return Array.from({ length: 5 }, () => random.u32());
  };
  expect(draw(1)).toEqual(draw(1));
  expect(draw('one')).toEqual(draw('one'));
  expect(draw(1)).not.toEqual(draw(2));
});

test('a fork does not shift the stream it comes from', () => {
  const [plain, forked] = [seededRandom(7), seededRandom(7)];
  forked.fork('other').u32();
  expect(forked.u32()).toBe(plain.u32());
  expect(seededRandom(7).fork('a').u32()).not.toBe(seededRandom(7).fork('b').u32());
});

test.each([seededRandom(3), systemRandom()])('draws are uniform and within bounds', (random) => {
  const counts = new Array<number>(10).fill(0);
  for (let at = 0; at < 20_000; at++) {
    const value = random.below(10);
    counts[value]!++;
    const float = random.float();
    expect(float >= 0 && float < 1).toBe(true);
  }
  for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(300);
  expect(random.hex(8)).toMatch(/^[0-9a-f]{16}$/);
});
