/**
 * Node.js cuts small buffers out of common memory, 8 KiB of it at a time up to Node.js 22, and 64 KiB from
 * 24 on. One small buffer keeps all of what it was cut out of, and bounds of what is kept count with 8 KiB:
 * the newest entry of a group, of which a node has thousands, or what a client of many that say little
 * has sent so far.
 */
const POOL_BYTES = 8_192;

/** What one buffer that was cut out of a pool keeps, at most: from Node.js 26 on a pool has some bytes more. */
export const POOL_MEMORY_MAX = POOL_BYTES + 64;

/** For this process, as soon as what it has begun is used up. */
export function smallBufferPools(): void {
  Buffer.poolSize = POOL_BYTES;
}
