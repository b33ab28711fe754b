import { expect, test } from 'vitest';
import { longestWait, nextTransfer } from '../../bench/transfer.ts';

test('leaders go from who has most to who has fewest, each partition in its turn', () => {
  const leaders = ['b', 'a', 'a', 'c', 'b', 'b', 'c', 'a'];
  const before = new Map([
    [0, 5],
    [1, 3],
    [2, 4],
  ]);
  expect(nextTransfer(leaders, ['a', 'b', 'c'], before)).toEqual({ partition: 4, to: 'c' });
  const all = new Map(leaders.map((_, at) => [at, 10 - at]));
  expect(nextTransfer(leaders, ['a', 'b', 'c'], all)).toEqual({ partition: 7, to: 'c' });
});

test('nobody is given what it leads already, also when all lead as many', () => {
  expect(nextTransfer(['a', 'b'], ['a', 'b'], new Map())).toEqual({ partition: 1, to: 'a' });
});

test('a write counts for the window it was sent in, however late it was answered', () => {
  const writes = [
    { sentMs: 1, answeredMs: 90 },
    { sentMs: 10, answeredMs: 50 },
    { sentMs: 20, answeredMs: 21 },
    { sentMs: 30, answeredMs: 300 },
  ];
  expect(longestWait(writes, 10, 30)).toBe(40);
  expect(longestWait([], 10, 30)).toBe(0);
});
