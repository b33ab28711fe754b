/**
 * Key → slot, shared by server and SDK: CRC16 (XMODEM) of the hash tag, modulo 16,384
 * (Redis Cluster specification). A partition owns a contiguous slot range kept in the table.
 */
import calculateSlot from 'cluster-key-slot';
import type { Slot } from './ids.ts';

export const SLOT_COUNT = 16_384;

/** The slot of `key`; `{tag}` in it narrows the hash to the tag. */
export function slotOfKey(key: Buffer): Slot {
  return calculateSlot(key);
}

/** First and last slot of partition `partition` of `count` when a namespace is created. */
export function initialSlotRange(partition: number, count: number): [Slot, Slot] {
  const first = Math.ceil((partition * SLOT_COUNT) / count);
  const next = Math.ceil(((partition + 1) * SLOT_COUNT) / count);
  return [first, next - 1];
}
