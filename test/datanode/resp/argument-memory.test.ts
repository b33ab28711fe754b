import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../../src/datanode/resp/argument-memory.ts';

const bytes = Buffer.from(Array.from({ length: 40_000 }, (_, at) => at % 251));

describe('copies of arguments', () => {
  it('are what lay between their bounds, and stay so', () => {
    const kept: (readonly [copy: Buffer, from: number, to: number])[] = [];
    for (let from = 0; from < 9_000; from += 7) {
      const bounds = [
        from,
        from,
        from,
        from + 1,
        from + 3,
        from + 36,
        from + 40,
        from + (from % 3_000),
      ];
      if (bounds[7]! < bounds[6]!) bounds[7] = bounds[6]!;
      copiesOf(bytes, bounds, bounds.length).forEach((copy, at) => {
        kept.push([copy, bounds[2 * at]!, bounds[2 * at + 1]!]);
      });
    }
    for (const [copy, from, to] of kept) expect(copy.equals(bytes.subarray(from, to))).toBe(true);
  });

  it('of small requests share memory, of large ones none', () => {
    const [small] = copiesOf(bytes, [0, 10], 2);
    const [large] = copiesOf(bytes, [0, 30_000, 5, 9], 2);
    expect(small!.buffer.byteLength).toBe(8_192);
    expect(large!.buffer.byteLength).toBe(30_000);
  });

  it('do not hold the bytes they were copied from', () => {
    const chunk = Buffer.from('abcdef');
    const [copy] = copiesOf(chunk, [1, 4], 2);
    chunk.fill(0);
    expect(copy!.toString()).toBe('bcd');
  });

  it('give the name of the request before again, where it is the same', () => {
    const chunk = Buffer.from('GETkGETkSETkGE');
    const [first] = copiesOf(chunk, [0, 3, 3, 4], 4);
    const [again, key] = copiesOf(chunk, [4, 7, 7, 8], 4);
    const [other] = copiesOf(chunk, [8, 11, 11, 12], 4);
    const [shorter] = copiesOf(chunk, [12, 14], 2);
    expect(again).toBe(first);
    expect([again, key, other, shorter].map(String)).toEqual(['GET', 'k', 'SET', 'GE']);
  });
});
