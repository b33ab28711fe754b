/**
 * The hash that orders keys within a slot and members within a collection (decision 22). On disk:
 * frozen. Lane 0 is MurmurHash3 x86 32 with seed 0, lane 1 the same with seed 0x9747b28c; the 64-bit
 * hash is lane 0, then lane 1.
 */
import { murmur3 } from '../../../common/murmur3.ts';

const LANE_1_SEED = 0x9747b28c;

/** Lane 0: unsigned 32 bits. */
export function keyHash(bytes: Buffer): number {
  return murmur3(bytes);
}

/** Both lanes as unsigned 32-bit numbers, the more significant first. */
export function memberHash(bytes: Buffer): readonly [high: number, low: number] {
  return [murmur3(bytes), murmur3(bytes, LANE_1_SEED)];
}
