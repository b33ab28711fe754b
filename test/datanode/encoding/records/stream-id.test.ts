import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  compareIds,
  formatStreamId,
  idAfter,
  idBefore,
  isBeforeTime,
  MAX_STREAM_ID,
  MIN_STREAM_ID,
  parseStreamId,
  parseU64,
  streamId,
  streamIdAt,
} from '../../../../src/datanode/encoding/records/stream-id.ts';

const u64 = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 3n }));
const pair = fc.tuple(u64, u64);
const parsed = (text: string, sequence = 0n) => {
  const id = parseStreamId(Buffer.from(text, 'latin1'), sequence);
  return id && formatStreamId(id);
};

test('the order of bytes is the order of IDs', () => {
  fc.assert(
    fc.property(pair, pair, (one, other) => {
      const order = one[0] === other[0] ? Number(one[1] > other[1]) : Number(one[0] > other[0]);
      const isSame = one[0] === other[0] && one[1] === other[1];
      const expected = isSame ? 0 : order * 2 - 1;
      expect(compareIds(streamId(...one), streamId(...other))).toBe(expected);
    }),
  );
});

test('what is shown is read as the same ID', () => {
  fc.assert(
    fc.property(pair, ([milliseconds, sequence]) => {
      const text = `${milliseconds}-${sequence}`;
      expect(parsed(text)).toBe(text);
    }),
  );
  expect(streamIdAt(1_526_919_030_474, 55)).toEqual(streamId(1_526_919_030_474n, 55n));
});

test('milliseconds of any ID are compared with a time as they are, also beyond what a double tells apart', () => {
  const time = fc.oneof(fc.nat(3), fc.nat(2 ** 53 - 1));
  fc.assert(
    fc.property(u64, time, (milliseconds, now) => {
      expect(isBeforeTime(streamId(milliseconds, 7n), now)).toBe(milliseconds < BigInt(now));
      expect(isBeforeTime(streamIdAt(now, 9), now)).toBe(false);
    }),
  );
  const last = 2 ** 53 - 1;
  expect(isBeforeTime(streamIdAt(last - 1), last)).toBe(true);
  expect(isBeforeTime(streamId(2n ** 53n, 0n), last)).toBe(false);
});

test('the next ID is the least one behind, the one before the greatest', () => {
  fc.assert(
    fc.property(pair, ([milliseconds, sequence]) => {
      const value = (milliseconds << 64n) | sequence;
      const id = streamId(milliseconds, sequence);
      const next = idAfter(id);
      const numberOf = (of: Buffer) => BigInt(`0x${of.toString('hex')}`);
      expect(next && numberOf(next)).toBe(value === 2n ** 128n - 1n ? undefined : value + 1n);
      if (next) expect(idBefore(next)).toEqual(id);
    }),
  );
  expect(idAfter(streamId(0n, 2n ** 64n - 1n))).toEqual(streamId(1n, 0n));
  expect(idBefore(streamId(1n, 0n))).toEqual(streamId(0n, 2n ** 64n - 1n));
  expect(idAfter(MAX_STREAM_ID)).toBeUndefined();
  expect(idBefore(MIN_STREAM_ID)).toBeUndefined();
});

test('milliseconds alone get the sequence that is meant', () => {
  expect(parsed('5')).toBe('5-0');
  expect(parsed('5', 2n ** 64n - 1n)).toBe('5-18446744073709551615');
});

// each asked of redis-server 7.0.15 (XADD s ID a b)
test.each([
  ['01-1', '1-1'],
  ['+5-1', '5-1'],
  ['1-01', '1-1'],
  ['18446744073709551615-3', '18446744073709551615-3'],
  ['5-1\0x', '5-1'],
  ['18446744073709551616-1', undefined],
  ['5-1-1', undefined],
  ['5-', undefined],
  ['-5', undefined],
  ['-', undefined],
  ['', undefined],
  ['5-1x', undefined],
  ['5-0x1', undefined],
])('%j is %j', (text, id) => {
  expect(parsed(text)).toBe(id);
});

test('as much of it is read as Redis reads', () => {
  expect(parsed(`${'0'.repeat(124)}1-1`)).toBe('1-1');
  expect(parsed(`${'0'.repeat(125)}1-1`)).toBeUndefined();
});

test('a number counts down from 2^64 where C reads its sign', () => {
  expect(parseU64('-01')).toBe(2n ** 64n - 1n);
  expect(parseU64('-1')).toBeUndefined();
  expect(parseU64(' 7')).toBe(7n);
  expect(parseU64('7 ')).toBeUndefined();
});
