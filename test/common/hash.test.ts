import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  holdsKey,
  initialShare,
  initialSlotRange,
  SLOT_COUNT,
  slotOfKey,
} from '../../src/common/hash.ts';
import { murmur3 } from '../../src/common/murmur3.ts';

test.each([
  ['foo', 12_182],
  ['123456789', 12_739],
  ['{user1000}.following', 3_443],
  ['{user1000}.followers', 3_443],
  ['foo{}{bar}', 8_363],
  ['foo{{bar}}zap', 4_015],
  ['foo{bar}{zap}', 5_061],
  ['', 0],
])('the slot of %j is that of Redis Cluster: %i', (key, slot) => {
  expect(slotOfKey(Buffer.from(key))).toBe(slot);
});

test('keys are bytes', () => {
  const binary = Buffer.from([0xff, 0x00, 0x7b, 0xfe, 0x7d, 0x01]);
  expect(slotOfKey(binary)).toBe(slotOfKey(Buffer.from([0xfe])));
});

/** CRC16 as its definition has it, a bit at a time. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

test('keys of any length and content have the slot that CRC16 gives them', () => {
  const key = fc
    .uint8Array({ maxLength: 200 })
    .map((bytes) => bytes.filter((byte) => byte !== 0x7b));
  fc.assert(
    fc.property(key, (bytes) => {
      expect(slotOfKey(Buffer.from(bytes))).toBe(crc16(bytes) % SLOT_COUNT);
    }),
  );
  const tagged = fc.tuple(key, fc.uint8Array({ minLength: 1, maxLength: 80 }), key);
  fc.assert(
    fc.property(tagged, ([before, tag, after]) => {
      const inner = Buffer.from(tag.filter((byte) => byte !== 0x7d));
      fc.pre(inner.length > 0);
      const bytes = Buffer.concat([before, Buffer.from('{'), inner, Buffer.from('}'), after]);
      expect(slotOfKey(bytes)).toBe(crc16(inner) % SLOT_COUNT);
    }),
  );
});

test('new partitions cover every slot, evenly', () => {
  for (const count of [1, 2, 3, 8, 1_000, SLOT_COUNT]) {
    let next = 0;
    for (let at = 0; at < count; at++) {
      const [first, last] = initialSlotRange(at, count);
      expect(first).toBe(next);
      expect(last - first + 1).toBeGreaterThanOrEqual(Math.floor(SLOT_COUNT / count));
      next = last + 1;
    }
    expect(next).toBe(SLOT_COUNT);
  }
});

test.each(['slots', 'murmur3'] as const)('each key is in one share of %s', (hash) => {
  const counts = [1, 3, 16];
  for (const count of counts) {
    const shares = Array.from({ length: count }, (_, at) => initialShare(hash, at, count));
    for (let at = 0; at < 200; at++) {
      const key = Buffer.from(`table:{tag}${at}`);
      const holders = shares.filter((share) => holdsKey(share, key));
      expect(holders).toHaveLength(1);
      if (hash === 'murmur3') expect(holders[0]!.murmur3?.remainder).toBe(murmur3(key) % count);
    }
  }
});
