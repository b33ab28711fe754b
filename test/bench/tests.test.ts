import { expect, test } from 'vitest';
import { redisLoads } from '../../bench/plan.ts';
import { testOf, tests } from '../../bench/tests.ts';

test('every test is of a load of the full run, and told apart by its row', () => {
  const names = Object.keys(tests) as (keyof typeof tests)[];
  const measured = new Set(redisLoads(true).map((load) => load.test));
  expect([...measured].sort()).toEqual([...names].sort());
  expect(new Set(names.map((name) => testOf(name).row)).size).toBe(names.length);
});

test('what a test reads is filled with 100 elements of the size asked for', () => {
  const [hset] = testOf('HGETALL_100').prepare!(64);
  expect(hset).toHaveLength(2 + 2 * 100);
  expect(new Set(hset!.slice(2).filter((_, at) => at % 2 === 0)).size).toBe(100);
  expect(hset![3]).toHaveLength(64);
  const [zadd, sort] = testOf('LRANGE_100').prepare!(10);
  expect(zadd!.slice(0, 4)).toEqual(['ZADD', 'bench:zset:{tag}', '0', '0xxxxxxxxx']);
  expect(sort).toEqual(['SORT', zadd![1], 'BY', 'nosort', 'STORE', tests.LRANGE_100.words[1]]);
});
