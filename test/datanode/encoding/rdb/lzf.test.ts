import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decompressLzf, mayBecome } from '../../../../src/datanode/encoding/rdb/lzf.ts';

const bytes = (...list: number[]) => Buffer.from(list);

describe('decompression', () => {
  test('copies bytes, and what came before', () => {
    expect(decompressLzf(bytes(1, 0x61, 0x62), 2)?.toString()).toBe('ab');
    expect(decompressLzf(bytes(1, 0x61, 0x62, 0x20, 1), 5)?.toString()).toBe('ababa');
    expect(decompressLzf(bytes(0, 0x61, 0xe0, 1, 0), 11)?.toString()).toBe('a'.repeat(11));
  });

  test.each([
    ['a length that is too small', bytes(1, 0x61, 0x62), 1],
    ['a length that is too large', bytes(1, 0x61, 0x62), 3],
    ['bytes that are cut', bytes(5, 0x61), 6],
    ['a copy from before the beginning', bytes(0, 0x61, 0x20, 1), 4],
    ['a copy that is cut', bytes(0, 0x61, 0x20), 4],
    ['a long copy that is cut', bytes(0, 0x61, 0xe0), 10],
    ['a copy beyond the end', bytes(0, 0x61, 0x20, 0), 3],
  ])('refuses %s', (_name, compressed, length) => {
    expect(decompressLzf(compressed, length)).toBeUndefined();
  });

  test('gives 88 times as much at most', () => {
    const copies = Array.from({ length: 9 }, () => [0xff, 0xff, 0xff]).flat();
    const before = Array.from({ length: 256 }, () => [31, ...Buffer.alloc(32)]).flat();
    const grown = decompressLzf(bytes(...before, ...copies), 256 * 32 + 9 * 264);
    expect(grown).toHaveLength(256 * 32 + 9 * 264);
    expect(mayBecome(3, 264)).toBe(true);
    expect(mayBecome(3, 265)).toBe(false);
  });

  test('of anything ends in bytes of the length or in nothing', () => {
    const input = fc.uint8Array({ maxLength: 60 }).map((list) => Buffer.from(list));
    fc.assert(
      fc.property(input, fc.nat(500), (compressed, length) => {
        expect([undefined, length]).toContain(decompressLzf(compressed, length)?.length);
      }),
      { numRuns: 3_000 },
    );
  });
});
