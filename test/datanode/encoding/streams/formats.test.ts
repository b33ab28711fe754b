import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeStreamExtra,
  encodeStreamExtra,
} from '../../../../src/datanode/encoding/records/stream-header.ts';
import { streamId } from '../../../../src/datanode/encoding/records/stream-id.ts';
import {
  decodeConsumer,
  decodeNumberedName,
  encodeConsumer,
  encodeConsumerName,
} from '../../../../src/datanode/encoding/streams/stream-consumer.ts';
import {
  decodeEntry,
  encodeEntry,
} from '../../../../src/datanode/encoding/streams/stream-entry.ts';
import {
  decodeGroup,
  encodeGroup,
} from '../../../../src/datanode/encoding/streams/stream-group.ts';
import {
  decodePending,
  encodePending,
} from '../../../../src/datanode/encoding/streams/stream-pending.ts';

const key = Buffer.from('a key');
const u32 = fc.nat(2 ** 32 - 1);
const count = fc.maxSafeNat();
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const id = fc.tuple(u64, u64).map(([milliseconds, sequence]) => streamId(milliseconds, sequence));
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));

const header = fc.record({
  lastId: id,
  firstId: id,
  maxDeletedId: id,
  entriesAdded: count,
  groups: u32,
  nextGroup: u32,
});
const group = fc.record({
  number: u32,
  lastId: id,
  earliestId: id,
  furthestId: id,
  entriesRead: fc.option(count, { nil: undefined }),
  pending: count,
  consumers: u32,
  nextConsumer: u32,
});
const consumer = fc.record({ number: u32, seenMs: count, activeMs: count, pending: count });
const pending = fc.record({ consumer: u32, deliveredMs: count, deliveries: count });
const fields = fc.array(fc.tuple(bytes, bytes)).map((pairs) => pairs.flat());

test('what is encoded is decoded as it was', () => {
  fc.assert(
    fc.property(header, group, consumer, pending, fields, bytes, (...drawn) => {
      const [extra, state, reader, given, entry, name] = drawn;
      expect(decodeStreamExtra(key, encodeStreamExtra(extra))).toEqual(extra);
      expect(decodeGroup(key, encodeGroup(state))).toEqual(state);
      expect(decodeConsumer(key, encodeConsumer(reader))).toEqual(reader);
      expect(decodePending(key, encodePending(given))).toEqual(given);
      expect(decodeEntry(key, encodeEntry(entry))).toEqual(entry);
      expect(decodeNumberedName(key, encodeConsumerName(name))).toEqual(name);
    }),
  );
});

test('lengths of every size keep their bytes', () => {
  for (const length of [0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152]) {
    const entry = [Buffer.alloc(length, 1), Buffer.from('b')];
    const decoded = decodeEntry(key, encodeEntry(entry));
    expect(decoded.map(({ length: bytes }) => bytes)).toEqual([length, 1]);
    expect(Buffer.concat(decoded).equals(Buffer.concat(entry))).toBe(true);
  }
});

const whole = encodeEntry([Buffer.from('field'), Buffer.from('value')]);

test('an entry that is cut anywhere is damage', () => {
  for (let end = 2; end < whole.length; end++) {
    expect(() => decodeEntry(key, whole.subarray(0, end))).toThrow('entry is cut');
  }
});

test('a length that never ends is damage', () => {
  expect(() => decodeEntry(key, Buffer.from([0, ...Array<number>(9).fill(0xff)]))).toThrow('cut');
});

test.each([
  ['an entry', (value: Buffer) => decodeEntry(key, value)],
  ['a group', (value: Buffer) => decodeGroup(key, value)],
  ['a consumer', (value: Buffer) => decodeConsumer(key, value)],
  ['its name', (value: Buffer) => decodeNumberedName(key, value)],
  ['what is pending', (value: Buffer) => decodePending(key, value)],
])('%s with flags of a newer build is refused', (_what, decode) => {
  expect(() => decode(Buffer.alloc(80, 2))).toThrow('flags 2');
  expect(() => decode(Buffer.alloc(0))).toThrow('flags undefined');
});

test.each([
  ['a header', (value: Buffer) => decodeStreamExtra(key, value)],
  ['a group', (value: Buffer) => decodeGroup(key, value)],
  ['a consumer', (value: Buffer) => decodeConsumer(key, value)],
  ['what is pending', (value: Buffer) => decodePending(key, value)],
])('%s of another length is damage', (_what, decode) => {
  for (const length of [1, 20, 80]) expect(() => decode(Buffer.alloc(length))).toThrow('is cut');
});
