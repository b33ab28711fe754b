import { describe, expect, test } from 'vitest';
import { HalfSipHash } from '../../src/common/half-sip-hash.ts';

const PUBLISHED = { compression: 2, finalization: 4 };
/** Of the inputs 00 01 02 … of so many bytes under the key 00 … 07, as the authors publish them. */
const VECTORS = new Map([
  [0, '218d1f59b9b83cc8'],
  [1, 'be552412f8387315'],
  [2, '064f39ef7c50eb57'],
  [3, 'ce0f1a45f7060679'],
  [4, 'd5e78a175be52ea1'],
  [7, 'ff202728b07bc684'],
  [8, 'edfee820bce4858c'],
  [15, '217d0bcb4e81c902'],
  [16, '7336aad25f7bf3b5'],
  [33, '248477681d28f89c'],
  [62, 'f90b3ab572d46693'],
  [63, '2ea63c71bf326087'],
]);

const counting = (length: number) => Buffer.from(Array.from({ length }, (_, at) => at));
const KEY = counting(8);

function hashed(bytes: Uint8Array, salt?: number, rounds = PUBLISHED): string {
  const hash = new HalfSipHash(KEY.readUInt32LE(0), KEY.readUInt32LE(4), rounds);
  hash.hash(bytes, salt);
  const out = Buffer.alloc(8);
  out.writeInt32LE(hash.low, 0);
  out.writeInt32LE(hash.high, 4);
  return out.toString('hex');
}

describe('HalfSipHash', () => {
  test.each([...VECTORS])('of %i bytes is what is published', (length, expected) => {
    expect(hashed(counting(length))).toBe(expected);
  });

  test('with a salt is that of the input behind its four bytes', () => {
    const bytes = counting(33);
    expect(hashed(bytes.subarray(4), bytes.readUInt32LE(0))).toBe(hashed(bytes));
    expect(hashed(bytes, 0xfedcba98)).not.toBe(hashed(bytes, 0xfedcba99));
  });

  test('takes fewer rounds unless it is told', () => {
    const few = new HalfSipHash(1, 2);
    const same = new HalfSipHash(1, 2, { compression: 1, finalization: 3 });
    const others = [new HalfSipHash(1, 2, PUBLISHED), new HalfSipHash(2, 1)];
    for (const hash of [few, same, ...others]) hash.hash(counting(20));
    expect([few.low, few.high]).toEqual([same.low, same.high]);
    for (const { low, high } of others) expect([low, high]).not.toEqual([few.low, few.high]);
  });
});
