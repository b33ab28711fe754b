import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KvorumError } from '../../../../src/common/errors.ts';
import {
  decodeCollection,
  decodeHeader,
  encodeCollection,
  encodeHeader,
  type ValueType,
  valueTypes,
} from '../../../../src/datanode/encoding/records/header.ts';
import {
  decodeExpiryKey,
  decodeKey,
  encodeExpiryKey,
  encodeKey,
} from '../../../../src/datanode/encoding/records/key.ts';
import { openRecord, sealRecord } from '../../../../src/datanode/encoding/records/record.ts';

const bytes = fc.uint8Array({ maxLength: 30 }).map((each) => Buffer.from(each));

test('a sealed record opens, and every flipped bit of key or value is noticed', () => {
  fc.assert(
    fc.property(bytes, bytes, fc.nat(), (key, value, draw) => {
      const record = sealRecord(key, value);
      expect(openRecord(key, record)).toEqual(value);
      const bit = draw % (record.length * 8);
      const bad = Buffer.from(record);
      bad[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => openRecord(key, bad)).toThrow(KvorumError);
      if (key.length === 0) return;
      const other = Buffer.from(key);
      other[draw % key.length]! ^= 1 << (draw & 7);
      expect(() => openRecord(other, record)).toThrow(
        /checksum does not match; .* remove the replica/,
      );
    }),
  );
});

test('a header comes back, and what this build does not know is refused', () => {
  const header = fc.record({
    type: fc.constantFrom(...(Object.keys(valueTypes) as ValueType[])),
    deadlineMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2 ** 45 })),
    origin: fc.constantFrom('set' as const, 'edited' as const, 'float' as const),
    body: bytes,
  });
  const key = Buffer.from('k');
  fc.assert(
    fc.property(header, (each) => {
      expect(decodeHeader(key, encodeHeader(each))).toEqual(each);
    }),
  );
  expect(() => decodeHeader(key, Buffer.from([99, 0]))).toThrow(/record 6b: type 99 unknown/);
  expect(() => decodeHeader(key, Buffer.from([1, 128]))).toThrow(/header flags 128 unknown/);
  expect(() => decodeHeader(key, Buffer.from([1, 1, 0]))).toThrow(/its header is cut/);
});

test('a collection’s header comes back', () => {
  const header = { version: { index: 2 ** 50, ordinal: 7 }, size: 12, extra: Buffer.from('x') };
  expect(decodeCollection(Buffer.from('k'), encodeCollection(header))).toEqual(header);
  expect(() => decodeCollection(Buffer.from('k'), Buffer.alloc(19))).toThrow(/header is cut/);
});

test('keys come back, with their slot', () => {
  fc.assert(
    fc.property(bytes, fc.nat(2 ** 45), (key, deadlineMs) => {
      expect(decodeKey(encodeKey(key)).key).toEqual(key);
      expect(decodeExpiryKey(encodeExpiryKey(deadlineMs, key))).toMatchObject({ deadlineMs, key });
    }),
  );
});
