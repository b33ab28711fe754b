/**
 * SCAN's cursors. One is a place among all keys of the namespace, below which every key has been
 * given, as a number that is exact in every client's numbers. Keys go by partition, slot and hash.
 * Where partitions have slots of their own the slot says the partition: slot × 2^32 + hash. Where
 * keys are dealt out by murmur3 modulo n, every partition has keys of every slot, and their hash,
 * which is that murmur3, leaves the same rest: (partition × 16,384 + slot) × ⌈2^32 / n⌉ + ⌊hash / n⌋,
 * which is less than 2^47 too.
 */
import { type KeyShare, SLOT_COUNT } from '../../../common/hash.ts';
import type { PartitionId, Slot } from '../../../common/ids.ts';
import { textBytes } from '../rows/args.ts';

const HASHES = 2 ** 32;
/** Beyond every place. */
const END = 2 ** 47;
const CURSOR_MAX = 2n ** 64n - 1n;
const CURSOR_CHARACTERS_MAX = 64;

/** Where a partition's walk goes on: keys at or after (slot, hash). */
export interface ScanPosition {
  readonly slot: Slot;
  readonly hash: number;
}

/**
 * Undefined when `arg` is no 64-bit number; one beyond every place is given as one number. As in
 * Redis nothing at all means 0, and negative ones wrap.
 */
export function parseCursor(arg: Buffer): number | undefined {
  const bytes = textBytes(arg);
  if (bytes.length > CURSOR_CHARACTERS_MAX) return undefined;
  const text = bytes.toString('latin1');
  if (!/^(?:|[+-]?\d+)$/.test(text)) return undefined;
  const cursor = BigInt(text);
  if (cursor > CURSOR_MAX || cursor < -CURSOR_MAX) return undefined;
  return cursor < 0n ? END : Math.min(Number(cursor), END);
}

/** The partition of a namespace of `modulo` that the cursor lies in; `modulo` itself: behind all. */
export function partitionOfCursor(cursor: number, modulo: number): PartitionId {
  return Math.min(modulo, Math.floor(cursor / (SLOT_COUNT * quotients(modulo))));
}

/** Where `share` goes on: a slot behind its last one when the cursor lies behind it. */
export function positionOf(cursor: number, { firstSlot, murmur3 }: KeyShare): ScanPosition {
  if (murmur3 === undefined) {
    const slot = Math.floor(cursor / HASHES);
    return slot < firstSlot ? { slot: firstSlot, hash: 0 } : { slot, hash: cursor % HASHES };
  }
  const { modulo, remainder } = murmur3;
  const each = quotients(modulo);
  const place = cursor - remainder * SLOT_COUNT * each;
  if (place < 0) return { slot: 0, hash: 0 };
  const slot = Math.floor(place / each);
  const hash = (place % each) * modulo + remainder;
  return hash < HASHES ? { slot, hash } : { slot: slot + 1, hash: 0 };
}

/** `0`, the end, for a position behind the namespace's last key. */
export function cursorOf({ slot, hash }: ScanPosition, { murmur3 }: KeyShare): string {
  if (murmur3 === undefined) return slot >= SLOT_COUNT ? '0' : String(slot * HASHES + hash);
  const { modulo, remainder } = murmur3;
  const each = quotients(modulo);
  if (slot < SLOT_COUNT) {
    return String((remainder * SLOT_COUNT + slot) * each + Math.floor(hash / modulo));
  }
  const next = remainder + 1;
  return next === modulo ? '0' : String(next * SLOT_COUNT * each);
}

/** How many values ⌊hash / modulo⌋ has. */
function quotients(modulo: number): number {
  return Math.ceil(HASHES / modulo);
}
