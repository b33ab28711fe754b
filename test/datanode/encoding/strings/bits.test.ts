import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BitCombination } from '../../../../src/datanode/encoding/strings/bit-combination.ts';
import {
  type BitField,
  type BitOperation,
  bitAt,
  countBits,
  fieldValueToSet,
  findBit,
  fitField,
  readField,
  setBitAt,
  widened,
  writeField,
} from '../../../../src/datanode/encoding/strings/bits.ts';

function combineBits(operation: BitOperation, sources: readonly Buffer[]): Buffer {
  const combination = new BitCombination(operation);
  for (const source of sources) Array.from(combination.add(source));
  const steps = combination.result();
  for (;;) {
    const step = steps.next([]);
    if (step.done) return step.value;
  }
}

const bytes = fc
  .array(fc.constantFrom(0, 0xff, 0x80, 1, 0x5a), { minLength: 1, maxLength: 40 })
  .map((list) => Buffer.from(list));
const bit = fc.constantFrom(0 as const, 1 as const);
const text = (source: Buffer) =>
  [...source].map((byte) => byte.toString(2).padStart(8, '0')).join('');

const range = fc.tuple(bytes, fc.nat(319), fc.nat(319)).map(([source, a, b]) => {
  const bits = source.length * 8;
  const [first, last] = [a % bits, b % bits].sort((x, y) => x - y);
  return { source, first: first!, last: last! };
});

const field: fc.Arbitrary<BitField> = fc
  .tuple(fc.boolean(), fc.integer({ min: 1, max: 64 }), fc.nat(100))
  .map(([signed, bits, offset]) => ({ signed, bits: signed ? bits : Math.min(bits, 63), offset }));

describe('ranges of bits', () => {
  test('are counted as their text says', () => {
    fc.assert(
      fc.property(range, ({ source, first, last }) => {
        const ones = text(source)
          .slice(first, last + 1)
          .replaceAll('0', '').length;
        expect(countBits(source, { first, last })).toBe(ones);
      }),
    );
  });

  test('are searched as their text says', () => {
    fc.assert(
      fc.property(range, bit, ({ source, first, last }, wanted) => {
        const at = text(source)
          .slice(0, last + 1)
          .indexOf(String(wanted), first);
        expect(findBit(source, wanted, { first, last })).toBe(at);
      }),
    );
  });

  test('a set bit is read back, and no other changes', () => {
    fc.assert(
      fc.property(bytes, fc.nat(400), bit, (source, offset, value) => {
        const changed = widened(source, Math.floor(offset / 8) + 1);
        const before = text(changed);
        setBitAt(changed, offset, value);
        expect(bitAt(changed, offset)).toBe(value);
        expect(text(changed)).toBe(`${before.slice(0, offset)}${value}${before.slice(offset + 1)}`);
      }),
    );
  });
});

test('strings are combined as far as the longest goes', () => {
  const [a, b] = [Buffer.from([0b1100, 0xff]), Buffer.from([0b1010])];
  expect(combineBits('and', [a, b])).toEqual(Buffer.from([0b1000, 0]));
  expect(combineBits('and', [b, a])).toEqual(Buffer.from([0b1000, 0]));
  expect(combineBits('or', [a, b])).toEqual(Buffer.from([0b1110, 0xff]));
  expect(combineBits('xor', [a, b])).toEqual(Buffer.from([0b0110, 0xff]));
  expect(combineBits('not', [b])).toEqual(Buffer.from([0b1111_0101]));
  expect(combineBits('or', [Buffer.alloc(0)])).toEqual(Buffer.alloc(0));
});

test.each(['diff', 'diff1', 'andor', 'one'] as const)('%s is as it is told of', (operation) => {
  const told = {
    diff: (first: boolean, others: number) => first && others === 0,
    diff1: (first: boolean, others: number) => !first && others > 0,
    andor: (first: boolean, others: number) => first && others > 0,
    one: (first: boolean, others: number) => Number(first) + others === 1,
  };
  const sources = fc.array(fc.uint8Array({ maxLength: 9 }), { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(sources, (drawn) => {
      const all = drawn.map((source) => Buffer.from(source));
      const combined = combineBits(operation, all);
      expect(combined.length).toBe(Math.max(...all.map(({ length }) => length)));
      for (let at = 0; at < combined.length * 8; at++) {
        const [first, ...others] = all.map((source) => bitAt(source, at) === 1);
        const isSet = told[operation](first === true, others.filter(Boolean).length);
        expect(bitAt(combined, at), `bit ${at}`).toBe(isSet ? 1 : 0);
      }
      expect(all).toEqual(drawn.map((source) => Buffer.from(source)));
    }),
  );
});

test.each([0, 1, 3])('long strings are searched and counted, at memory offset %i', (shift) => {
  const long = Buffer.alloc(300_000 + shift).subarray(shift);
  const all = { first: 0, last: long.length * 8 - 1 };
  expect(findBit(long, 1, all)).toBe(-1);
  for (const at of [all.last, 8 * 131_073 + 5, 8 * 65_536 + 2, 8 * 65_535, 9]) {
    setBitAt(long, at, 1);
    expect(findBit(long, 1, all)).toBe(at);
  }
  expect(countBits(long, all)).toBe(5);
  const inverted = combineBits('not', [long]);
  expect(findBit(inverted, 0, all)).toBe(9);
  expect(findBit(inverted, 0, { ...all, first: 8 * 65_536 + 3 })).toBe(8 * 131_073 + 5);
  expect(countBits(combineBits('xor', [long, inverted]), all)).toBe(all.last + 1);
  expect(countBits(combineBits('and', [inverted, long.subarray(0, 65_537)]), all)).toBe(0);
  expect(combineBits('or', [Buffer.alloc(0), long])).toEqual(long);
});

const PIECE_BYTES = 524_288;

test('strings of several pieces are combined as bit by bit, whichever is longer', () => {
  const random = (length: number, by: number) =>
    Buffer.from(Uint8Array.from({ length }, (_, at) => Math.imul(at, by) >>> 7));
  const lengths = [2 * PIECE_BYTES + 5, PIECE_BYTES, 0, 3 * PIECE_BYTES + 2, 7, PIECE_BYTES + 1];
  const all = lengths.map((length, at) => random(length + 1, 2_654_435_761 + at).subarray(1));
  const byByte = {
    and: (a: number, b: number) => a & b,
    or: (a: number, b: number) => a | b,
    xor: (a: number, b: number) => a ^ b,
    diff: (a: number, b: number) => a & ~b,
  };
  for (const sources of [all.slice(0, 2), all.slice(3), [...all].reverse()]) {
    const length = Math.max(...sources.map((source) => source.length));
    const before = sources.map((source) => Buffer.from(source));
    for (const operation of ['and', 'or', 'xor', 'diff'] as const) {
      const expected = Buffer.alloc(length);
      for (const [which, source] of sources.entries()) {
        for (let at = 0; at < length; at++) {
          const byte = source[at] ?? 0;
          expected[at] = which === 0 ? byte : byByte[operation](expected[at]!, byte);
        }
      }
      expect(combineBits(operation, sources).equals(expected), operation).toBe(true);
    }
    const [first, ...others] = sources as [Buffer, ...Buffer[]];
    const any = combineBits('or', others);
    const both = combineBits('and', [first, any]);
    const padded = combineBits('or', [both, Buffer.alloc(length)]);
    expect(combineBits('andor', sources).equals(padded)).toBe(true);
    expect(combineBits('diff1', sources).equals(combineBits('diff', [any, first]))).toBe(true);
    if (others.length === 1) {
      expect(combineBits('one', sources).equals(combineBits('xor', sources))).toBe(true);
    }
    expect(sources.every((source, at) => source.equals(before[at]!))).toBe(true);
  }
  const [long] = all;
  const inverted = long!.map((byte) => ~byte);
  expect(combineBits('not', [long!]).equals(inverted)).toBe(true);
});

describe('fields', () => {
  test('what is written is read back, and nothing around it changes', () => {
    fc.assert(
      fc.property(field, fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), bytes, (place, value, source) => {
        const target = widened(source, 30);
        const before = text(target);
        const fitting = fitField(place, value, 'wrap')!;
        writeField(target, place, fitting);
        expect(readField(target, place)).toBe(fitting);
        const end = place.offset + place.bits;
        expect(text(target).slice(0, place.offset)).toBe(before.slice(0, place.offset));
        expect(text(target).slice(end)).toBe(before.slice(end));
      }),
    );
  });

  test('read zeros behind the end of the string', () => {
    expect(readField(Buffer.from([0xff]), { signed: false, bits: 12, offset: 4 })).toBe(0xf00n);
    expect(readField(Buffer.alloc(0), { signed: true, bits: 64, offset: 1000 })).toBe(0n);
  });

  test('what does not fit is cut, held or refused', () => {
    const i4: BitField = { signed: true, bits: 4, offset: 0 };
    expect(fitField(i4, 8n, 'wrap')).toBe(-8n);
    expect(fitField(i4, 8n, 'sat')).toBe(7n);
    expect(fitField(i4, -9n, 'sat')).toBe(-8n);
    expect(fitField(i4, -9n, 'fail')).toBeUndefined();
    const u4: BitField = { ...i4, signed: false };
    expect(fitField(u4, -1n, 'sat')).toBe(0n);
    expect(fitField(u4, fieldValueToSet(u4, -1n), 'sat')).toBe(15n);
    expect(fitField(u4, 17n, 'wrap')).toBe(1n);
  });

  test('a value far below a signed field is held at the largest, as Redis does', () => {
    const i8: BitField = { signed: true, bits: 8, offset: 0 };
    const lowest = -(2n ** 63n);
    expect(fitField(i8, fieldValueToSet(i8, lowest), 'sat')).toBe(127n);
    expect(fitField(i8, fieldValueToSet(i8, lowest + 128n), 'sat')).toBe(-128n);
    expect(fitField(i8, fieldValueToSet(i8, lowest), 'wrap')).toBe(0n);
  });
});
