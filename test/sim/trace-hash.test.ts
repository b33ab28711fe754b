import { expect, test } from 'vitest';
import { TraceHash } from './trace-hash.ts';

function hashOf(...parts: (number | string)[]): string {
  const hash = new TraceHash();
  for (const part of parts) {
    if (typeof part === 'number') hash.number(part);
    else hash.text(part);
  }
  return hash.value;
}

test('the same in the same order has the same hash, in 16 digits', () => {
  expect(hashOf(1.5, 'SET k v', 7)).toBe(hashOf(1.5, 'SET k v', 7));
  expect(hashOf(1.5, 'SET k v', 7)).toMatch(/^[0-9a-f]{16}$/);
});

test('whatever differs is seen: order, a bit, a border, a time by the least that it can', () => {
  const all = [
    hashOf(),
    ...[
      hashOf(0),
      hashOf(-0),
      hashOf(0, 0),
      hashOf(1),
      hashOf(1 + Number.EPSILON),
      hashOf(2 ** 53),
    ],
    ...[hashOf(''), hashOf('a'), hashOf('b'), hashOf('a', ''), hashOf('', 'a'), hashOf('ab')],
    ...[hashOf('a', 'b'), hashOf('b', 'a'), hashOf('abc'), hashOf('ab\u0000'), hashOf('é')],
    ...[hashOf(1, 2), hashOf(2, 1), hashOf(1, 'x', 2), hashOf('1')],
  ];
  expect(new Set(all).size).toBe(all.length);
});

test('neither half of it repeats among a hundred thousand that differ by one', () => {
  const [one, other] = [new Set<string>(), new Set<string>()];
  for (let at = 0; at < 100_000; at++) {
    const value = hashOf('a run', at, 3);
    one.add(value.slice(0, 8));
    other.add(value.slice(8));
  }
  // of numbers drawn from 2^32 one or two pairs are expected to be equal
  expect(one.size).toBeGreaterThan(99_990);
  expect(other.size).toBeGreaterThan(99_990);
});
