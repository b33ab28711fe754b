import { expect, test } from 'vitest';
import { murmur3 } from '../../src/common/murmur3.ts';

/** Keys without their namespace, as ZanRedisDB hashes them: hash, and modulo 4, 16 and 1023. */
const keys: readonly [string, number, number, number, number][] = [
  ['test:a', 88_394_526, 2, 14, 165],
  ['test:key1', 2_350_229_033, 1, 9, 86],
  ['test5:0000000001', 1_913_211_876, 0, 4, 345],
  ['test:hash:1', 2_304_004_386, 2, 2, 717],
  ['table:k:with:colon', 2_770_256_089, 1, 9, 733],
];

test.each(keys)('%s hashes as in ZanRedisDB', (key, hash, of4, of16, of1023) => {
  const found = murmur3(Buffer.from(key));
  expect(found).toBe(hash);
  expect([found % 4, found % 16, found % 1_023]).toEqual([of4, of16, of1023]);
});

/** The reference implementation's, by length of the tail and seed. */
const published: readonly [string, number, number][] = [
  ['', 0, 0],
  ['', 1, 0x514e28b7],
  ['', 0xffffffff, 0x81f16f39],
  ['test', 0, 0xba6bd213],
  ['test', 0x9747b28c, 0x704b81dc],
  ['Hello, world!', 0, 0xc0363e43],
  ['Hello, world!', 0x9747b28c, 0x24884cba],
  ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
  ['The quick brown fox jumps over the lazy dog', 0x9747b28c, 0x2fa826cd],
];

test.each(published)('%j with seed %i', (text, seed, hash) => {
  expect(murmur3(Buffer.from(text), seed)).toBe(hash);
});

test('bytes above 127 are unsigned', () => {
  expect(murmur3(Buffer.from([0xff, 0xff, 0xff, 0xff]))).toBe(0x76293b50);
  expect(murmur3(Buffer.from([0x21, 0x43, 0x65, 0x87]))).toBe(0xf55b516b);
});
