/**
 * The hash that orders keys within a slot and members within a collection (decision 22). On disk:
 * frozen. Lane 0 is MurmurHash3 x86 32 (public domain, Appleby) with seed 0, lane 1 the same with
 * seed 0x9747b28c; the 64-bit hash is lane 0, then lane 1.
 */
const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;
const LANE_1_SEED = 0x9747b28c;

/** Lane 0: unsigned 32 bits. */
export function keyHash(bytes: Buffer): number {
  return murmur32(bytes, 0);
}

/** Both lanes as unsigned 32-bit numbers, the more significant first. */
export function memberHash(bytes: Buffer): readonly [high: number, low: number] {
  return [murmur32(bytes, 0), murmur32(bytes, LANE_1_SEED)];
}

function murmur32(bytes: Buffer, seed: number): number {
  const length = bytes.length;
  const blocksEnd = length & ~3;
  let hash = seed;
  for (let at = 0; at < blocksEnd; at += 4) {
    const block =
      bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    hash ^= scramble(block);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let at = length - 1; at >= blocksEnd; at--) tail = (tail << 8) | bytes[at]!;
  hash ^= scramble(tail);
  hash ^= length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function scramble(block: number): number {
  const mixed = Math.imul(block, C1);
  return Math.imul((mixed << 15) | (mixed >>> 17), C2);
}
