import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { initialShare, SLOT_COUNT } from '../../../../src/common/hash.ts';
import {
  cursorOf,
  parseCursor,
  partitionOfCursor,
  positionOf,
} from '../../../../src/datanode/commands/scanning/scan-cursor.ts';

const place = fc
  .tuple(fc.integer({ min: 1, max: 1_024 }), fc.nat(), fc.nat(SLOT_COUNT - 1), fc.nat(2 ** 32 - 1))
  .map(([modulo, any, slot, hash]) => {
    const remainder = any % modulo;
    const own = Math.floor(hash / modulo) * modulo + remainder;
    const fits = own < 2 ** 32 ? own : own - modulo;
    return { modulo, remainder, slot, hash: Math.max(remainder, fits) };
  });

describe('where murmur3 deals keys out', () => {
  test('a cursor names partition, slot and hash, exactly and below 2^47', () => {
    fc.assert(
      fc.property(place, ({ modulo, remainder, slot, hash }) => {
        const share = initialShare('murmur3', remainder, modulo);
        const cursor = Number(cursorOf({ slot, hash }, share));
        expect(cursor).toBeLessThan(2 ** 47);
        expect(partitionOfCursor(cursor, modulo)).toBe(remainder);
        expect(positionOf(cursor, share)).toEqual({ slot, hash });
      }),
    );
  });

  test('cursors are in the order of partition, slot and hash', () => {
    const key = (of: { remainder: number; slot: number; hash: number }) =>
      [of.remainder, of.slot, of.hash] as const;
    fc.assert(
      fc.property(place, place, (a, other) => {
        const b = { ...other, modulo: a.modulo, remainder: other.remainder % a.modulo };
        b.hash = Math.floor(b.hash / a.modulo) * a.modulo + b.remainder;
        if (b.hash >= 2 ** 32) b.hash -= a.modulo;
        const [left, right] = [a, b].map((each) =>
          Number(cursorOf(each, initialShare('murmur3', each.remainder, each.modulo))),
        );
        const [x, y] = [key(a), key(b)];
        const at = x.findIndex((part, index) => part !== y[index]);
        const before = at === -1 ? 0 : Math.sign(x[at]! - y[at]!);
        expect(Math.sign(left! - right!)).toBe(before);
      }),
    );
  });

  test('the end of a partition is the beginning of the next, of the last one 0', () => {
    const end = (remainder: number) =>
      cursorOf({ slot: SLOT_COUNT, hash: 0 }, initialShare('murmur3', remainder, 3));
    expect(partitionOfCursor(Number(end(0)), 3)).toBe(1);
    expect(positionOf(Number(end(0)), initialShare('murmur3', 1, 3)).slot).toBe(0);
    expect(end(2)).toBe('0');
  });

  test('whatever number a client sends is a place, or behind the end', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), place, (number, { modulo }) => {
        const cursor = parseCursor(Buffer.from(String(number)))!;
        const partition = partitionOfCursor(cursor, modulo);
        if (partition === modulo) return;
        const { slot, hash } = positionOf(cursor, initialShare('murmur3', partition, modulo));
        expect(slot).toBeLessThanOrEqual(SLOT_COUNT);
        expect(hash).toBeLessThan(2 ** 32);
      }),
    );
  });
});

test('where keys have slots a cursor is slot and hash, as it always was', () => {
  const share = initialShare('slots', 1, 2);
  expect(cursorOf({ slot: 9_000, hash: 7 }, share)).toBe(String(9_000 * 2 ** 32 + 7));
  expect(positionOf(9_000 * 2 ** 32 + 7, share)).toEqual({ slot: 9_000, hash: 7 });
  expect(positionOf(7, share)).toEqual({ slot: 8_192, hash: 0 });
  expect(cursorOf({ slot: SLOT_COUNT, hash: 0 }, share)).toBe('0');
  expect(parseCursor(Buffer.from('-1'))).toBeGreaterThanOrEqual(SLOT_COUNT * 2 ** 32);
  expect(parseCursor(Buffer.from('x'))).toBeUndefined();
});
