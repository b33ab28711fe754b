import { describe, expect, test } from 'vitest';
import { murmur3 } from '../../../src/common/murmur3.ts';
import { splitKey, splitTable } from '../../../src/datanode/zan/key.ts';

describe('a key', () => {
  test.each([
    ['ns:test:a', 'ns', 'test:a', 88_394_526, [2, 14, 165]],
    ['ns:test:key1', 'ns', 'test:key1', 2_350_229_033, [1, 9, 86]],
    ['n_1:test5:0000000001', 'n_1', 'test5:0000000001', 1_913_211_876, [0, 4, 345]],
    ['ns:test:hash:1', 'ns', 'test:hash:1', 2_304_004_386, [2, 2, 717]],
    ['ns:table:k:with:colon', 'ns', 'table:k:with:colon', 2_770_256_089, [1, 9, 733]],
  ])(
    '%s: the namespace ends at the first colon, the rest is hashed',
    (raw, namespace, key, hash, of) => {
      const split = splitKey(Buffer.from(raw));
      expect(split).toEqual({ namespace, key: Buffer.from(key) });
      const { key: rest } = split as { key: Buffer };
      expect(murmur3(rest)).toBe(hash);
      const partitions = [4, 16, 1_023].map((count) => murmur3(rest) % count);
      expect(partitions).toEqual(of);
    },
  );

  test.each([
    ['', 'invalid redis key'],
    ['key', 'invalid redis key'],
    [':table:key', 'invalid redis key'],
    ['ns:table:', 'invalid redis key'],
    ['ns:key', 'invalid table name'],
    ['ns:', 'invalid table name'],
    ['ns::key', 'invalid table name'],
  ])('%j is none: %s', (raw, problem) => {
    expect(splitKey(Buffer.from(raw))).toBe(problem);
  });
});

test('a scan names a table, and its cursor behind it', () => {
  const split = (raw: string) => splitTable(Buffer.from(raw));
  const table = Buffer.from('t');
  expect(split('ns:t:')).toEqual({ namespace: 'ns', table, cursor: Buffer.alloc(0) });
  expect(split('ns:t:MDpZUT09Ow==')).toEqual({
    ...{ namespace: 'ns', table },
    cursor: Buffer.from('MDpZUT09Ow=='),
  });
  expect(split('ns')).toBe('invalid redis key');
  expect(split('ns:t')).toBe('invalid table name');
  expect(split('ns::x')).toBe('invalid table name');
});
