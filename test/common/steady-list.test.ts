import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SteadyList } from '../../src/common/steady-list.ts';

/** Around the ends of its parts. */
const lengths = [0, 1, 1_023, 1_024, 1_025, 2_048, 5_000];

function listOf(length: number): SteadyList<number> {
  const list = new SteadyList<number>();
  for (let at = 0; at < length; at++) list.push(at * 3);
  return list;
}

test.each(lengths)('%i items as in an array', (length) => {
  const list = listOf(length);
  const model = Array.from({ length }, (_, at) => at * 3);
  expect(list.length).toBe(length);
  expect([...list]).toEqual(model);
  expect([...list.backwards()]).toEqual(model.toReversed());
  expect(list.last).toBe(model.at(-1));
  for (const at of [0, 1, 1_023, 1_024, length - 1, length]) {
    if (at >= 0) expect(list.at(at)).toBe(model[at]);
  }
});

test('a part of it is what a slice of an array is', () => {
  const index = fc.integer({ min: 0, max: 5_200 });
  fc.assert(
    fc.property(fc.constantFrom(...lengths), index, index, (length, from, to) => {
      const model = Array.from({ length }, (_, at) => at * 3);
      expect([...listOf(length).items(from, to)]).toEqual(model.slice(from, to));
    }),
  );
});

test('what is pushed while it is gone through comes too', () => {
  const list = listOf(1_023);
  let met = 0;
  for (const _ of list) if (++met < 3_000) list.push(met);
  expect(met).toBe(1_023 + 2_999);
});
