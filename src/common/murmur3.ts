/**
 * MurmurHash3 x86 32 (public domain, Appleby), unsigned. It orders keys and members on disk and deals
 * the keys of a `murmur3` namespace out to its partitions, as ZanRedisDB does: frozen.
 */
const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;

export function murmur3(bytes: Buffer, seed = 0): number {
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
