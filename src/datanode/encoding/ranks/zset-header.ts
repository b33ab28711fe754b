/**
 * What a sorted set adds to its collection's header. Frozen format, empty when no flag is set:
 *
 *   flags u8   1 the set has outgrown the small encoding · 2 its scores are counted (zset-index.ts)
 */
import type { Collection, OpenCollection } from '../collections/collection.ts';
import { corruptRecord } from '../records/record.ts';
import type { RankTree } from './rank-tree.ts';

export const zsetFlags = { large: 1, counted: 2 } as const;

/** A sorted set that a write changes. */
export interface OpenZset extends OpenCollection {
  /** The counts of a counted set, once they were needed. */
  ranks?: RankTree;
  /** Places in blocks that have grown too large. */
  crowded?: Buffer[];
}

/** Redis's sizes up to which a sorted set is a listpack. */
const SMALL_ENTRIES_MAX = 128;
const SMALL_MEMBER_BYTES_MAX = 64;
const KNOWN_FLAGS = zsetFlags.large | zsetFlags.counted;
const NO_FLAGS = Buffer.alloc(0);

export function flagsOfZset({ extra, found }: Collection): number {
  const flags = extra[0] ?? 0;
  if ((flags & ~KNOWN_FLAGS) !== 0) {
    throw corruptRecord(found.place, `flags ${flags} of a sorted set unknown`);
  }
  return flags;
}

export function setFlags(zset: OpenZset, flags: number): void {
  zset.extra = flags === 0 ? NO_FLAGS : Buffer.from([flags]);
}

/** As OBJECT ENCODING names it. */
export function encodingOfZset({ extra }: { readonly extra: Buffer }): 'listpack' | 'skiplist' {
  return ((extra[0] ?? 0) & zsetFlags.large) !== 0 ? 'skiplist' : 'listpack';
}

/** `longest`: bytes of the longest member. */
export function fitsSmall({ size }: Pick<OpenZset, 'size'>, longest: number): boolean {
  return size <= SMALL_ENTRIES_MAX && longest <= SMALL_MEMBER_BYTES_MAX;
}
