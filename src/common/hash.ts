/**
 * Key → slot, shared by server and SDK: CRC16 (XMODEM) of the hash tag, modulo 16,384
 * (Redis Cluster specification). A partition owns a contiguous slot range kept in the table; in a
 * namespace with hash `murmur3`, what `murmur3.ts` deals to it.
 *
 * Our own, because cluster-key-slot 1.1.2 hashes `foo{}{bar}` by `bar`: to the specification an
 * empty first tag means the whole key.
 */
import type { PartitionId, Slot } from './ids.ts';
import { murmur3 } from './murmur3.ts';

export const SLOT_COUNT = 16_384;

/** Which keys are a partition's. */
export interface KeyShare {
  readonly firstSlot: Slot;
  readonly lastSlot: Slot;
  /** Keys are dealt out by murmur3 modulo the number of partitions instead; the slots are all then. */
  readonly murmur3?: Murmur3Share | undefined;
}

export interface Murmur3Share {
  readonly modulo: number;
  /** The partition's number. */
  readonly remainder: PartitionId;
}

export function holdsKey({ firstSlot, lastSlot, murmur3: dealt }: KeyShare, key: Buffer): boolean {
  if (dealt !== undefined) return murmur3(key) % dealt.modulo === dealt.remainder;
  const slot = slotOfKey(key);
  return firstSlot <= slot && slot <= lastSlot;
}

/** The share of partition `partition` of `count` when a namespace is created. */
export function initialShare(
  hash: 'slots' | 'murmur3',
  partition: PartitionId,
  count: number,
): KeyShare & { readonly murmur3?: Murmur3Share } {
  if (hash === 'murmur3') {
    const dealt = { modulo: count, remainder: partition };
    return { firstSlot: 0, lastSlot: SLOT_COUNT - 1, murmur3: dealt };
  }
  const [firstSlot, lastSlot] = initialSlotRange(partition, count);
  return { firstSlot, lastSlot };
}

const OPEN = 0x7b;
const CLOSE = 0x7d;
const POLYNOMIAL = 0x1021;
const LOOPED_MAX = 64;
/** Of a byte. */
const table = crcTable();
/** Of a byte with another behind it, which is zero. */
const firstTable = table.map((crc) => ((crc << 8) ^ table[crc >>> 8]!) & 0xffff);

/** The slot of `key`; `{tag}` in it narrows the hash to the tag. */
export function slotOfKey(key: Buffer): Slot {
  const open = indexOf(key, OPEN, 0);
  if (open === -1) return crc16(key, 0, key.length) % SLOT_COUNT;
  const close = indexOf(key, CLOSE, open + 1);
  const tagged = close > open + 1;
  return crc16(key, tagged ? open + 1 : 0, tagged ? close : key.length) % SLOT_COUNT;
}

/** Keys are short: a loop is done before a call has begun. */
function indexOf(key: Buffer, byte: number, from: number): number {
  if (key.length > LOOPED_MAX) return key.indexOf(byte, from);
  for (let at = from; at < key.length; at++) if (key[at] === byte) return at;
  return -1;
}

/** Two bytes at a time, which need not wait for each other. */
function crc16(bytes: Buffer, start: number, end: number): number {
  let crc = 0;
  let at = start;
  for (; at + 1 < end; at += 2) {
    crc = firstTable[(crc >>> 8) ^ bytes[at]!]! ^ table[(crc & 0xff) ^ bytes[at + 1]!]!;
  }
  if (at < end) crc = ((crc << 8) ^ table[(crc >>> 8) ^ bytes[at]!]!) & 0xffff;
  return crc;
}

function crcTable(): Uint16Array {
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x8000 ? POLYNOMIAL : 0);
    return crc;
  });
}

/** First and last slot of partition `partition` of `count` when a namespace is created. */
export function initialSlotRange(partition: number, count: number): [Slot, Slot] {
  const first = Math.ceil((partition * SLOT_COUNT) / count);
  const next = Math.ceil(((partition + 1) * SLOT_COUNT) / count);
  return [first, next - 1];
}
