import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { BlockedKeys } from '../../../src/datanode/server/blocked-keys.ts';

const keysOf = (...names: string[]) => names.map((name) => Buffer.from(name));

test('a key counts once, however many wait for it, until none does', () => {
  const keys = new BlockedKeys();
  const long = 'k'.repeat(1_000);
  const first = keys.add(1, keysOf('a', 'b', long, 'a'));
  const second = keys.add(1, keysOf('b', long));
  expect(keys.size).toBe(3);
  const other = keys.add(2, keysOf('a'));
  expect(keys.size).toBe(4);
  first();
  expect(keys.size).toBe(3);
  second();
  other();
  expect(keys.size).toBe(0);
});

test('those of requests with very many are counted without being looked at', () => {
  const keys = new BlockedKeys();
  const many = Array.from({ length: limits.argumentsAtOnceMax + 1 }, () => Buffer.from('a'));
  const forget = keys.add(1, many);
  expect(keys.size).toBe(many.length);
  forget();
  expect(keys.size).toBe(0);
});
