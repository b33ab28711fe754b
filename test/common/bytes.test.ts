import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ByteRangeError,
  ByteReader,
  ByteWriter,
  copyInto,
  readU64,
  writeU64,
} from '../../src/common/bytes.ts';

test('what is written is read', () => {
  fc.assert(
    fc.property(
      fc.nat(255),
      fc.nat(65_535),
      fc.nat(2 ** 32 - 1),
      fc.nat(2 ** 53 - 1),
      fc.uint8Array({ maxLength: 600 }),
      fc.string({ maxLength: 50 }),
      (u8, u16, u32, u64, bytes, text) => {
        const written = new ByteWriter(1).u8(u8).u16(u16).u32(u32).u64(u64);
        const reader = new ByteReader(written.bytes(bytes).text(text).finish());
        expect([reader.u8(), reader.u16(), reader.u32(), reader.u64()]).toEqual([
          u8,
          u16,
          u32,
          u64,
        ]);
        expect([...reader.bytes()]).toEqual([...bytes]);
        expect(reader.text()).toBe(Buffer.from(text).toString());
        reader.end();
      },
    ),
  );
});

test('reading beyond the end, or leaving something unread, is an error', () => {
  const bytes = new ByteWriter().u32(5).finish();
  expect(() => new ByteReader(bytes).u64()).toThrow(ByteRangeError);
  expect(() => new ByteReader(bytes).bytes()).toThrow(ByteRangeError);
  expect(() => new ByteReader(bytes).end()).toThrow(ByteRangeError);
  expect(() => new ByteReader(Buffer.alloc(8, 255)).u64()).toThrow(ByteRangeError);
});

test('numbers at their edges are what they were, and of cut ones nothing is guessed', () => {
  const bytes = Buffer.alloc(9, 0xaa);
  for (const value of [0, 1, 255, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 45 + 7, 2 ** 53 - 1]) {
    writeU64(bytes, value, 1);
    expect(bytes.readBigUInt64BE(1)).toBe(BigInt(value));
    expect(readU64(bytes, 1)).toBe(value);
    for (let length = 1; length < 9; length++) {
      expect(() => readU64(bytes.subarray(0, length), 1), `${value} in ${length}`).toThrow();
    }
  }
  for (const value of [-1, 2 ** 53, 0.5]) expect(() => writeU64(bytes, value, 1)).toThrow();
  expect(() => readU64(Buffer.alloc(8, 0xff), 0)).toThrow();
});

test('copies have what was copied, of any length, and nothing around it', () => {
  for (const length of [0, 1, 31, 32, 33, 100]) {
    const target = Buffer.alloc(length + 4, '.');
    copyInto(target, Buffer.alloc(length, 'x'), 2);
    expect(target.toString()).toBe(`..${'x'.repeat(length)}..`);
  }
});

test('bytes that are known are not made again', () => {
  const written = new ByteWriter().text('SET').text('SET').text('GET').text('SETS').finish();
  const reader = new ByteReader(written);
  const first = reader.bytesOr(Buffer.alloc(0));
  expect(first.toString()).toBe('SET');
  expect(reader.bytesOr(first)).toBe(first);
  expect(reader.bytesOr(first).toString()).toBe('GET');
  expect(reader.bytesOr(first).toString()).toBe('SETS');
  reader.end();
  const cut = new ByteReader(written.subarray(0, 6));
  expect(() => cut.bytesOr(first)).toThrow(ByteRangeError);
});

test('what is cut out is a view of just those bytes, wherever the buffer lies in its memory', () => {
  const memory = Buffer.from('....abcdef....');
  const reader = new ByteReader(memory.subarray(4, 10));
  expect(reader.raw(2).toString()).toBe('ab');
  const cut = reader.raw(3);
  expect(Buffer.isBuffer(cut)).toBe(true);
  memory.write('X', 7);
  expect(cut.toString()).toBe('cXe');
  expect(() => reader.raw(2)).toThrow(ByteRangeError);
  expect(reader.raw(1).toString()).toBe('f');
});

test('a number that 32 bits do not hold is not written', () => {
  for (const value of [-1, 2 ** 32, 1.5, Number.NaN]) {
    expect(() => new ByteWriter().u32(value)).toThrow('u32 out of range');
  }
});
