import { expect, test } from 'vitest';
import { initialSlotRange, SLOT_COUNT, slotOfKey } from '../../src/common/hash.ts';

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
