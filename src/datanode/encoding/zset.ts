/**
 * Sorted sets: every member has two records, zsetMember (its score) and zsetScore (its place in the
 * order), which change together. What the type adds to the collection's header, when not empty:
 *
 *   flags u8   1 the set has outgrown the small encoding · 2 its scores are counted (zset-index.ts)
 *
 * A score of −0 equals 0 and sorts as 0; it is kept only beyond the small encoding, as in Redis.
 */

import type { KeyValue } from '../engine/engine.ts';
import {
  type Collection,
  newCollection,
  type OpenCollection,
  openCollection,
  readCollection,
  saveCollection,
} from './collection.ts';
import {
  type CollectionPlace,
  decodeMember,
  decodeScore,
  elementFlags,
  encodeMemberKey,
  encodeScoreKey,
} from './element-key.ts';
import type { Found } from './keyspace.ts';
import { corruptRecord } from './record.ts';
import { tags } from './tags.ts';
import type { View, WriteView } from './view.ts';

export interface Entry {
  readonly member: Buffer;
  readonly score: number;
}

/** Redis's sizes up to which a sorted set is a listpack. */
const SMALL_ENTRIES_MAX = 128;
const SMALL_MEMBER_BYTES_MAX = 64;

export const zsetFlags = { large: 1, counted: 2 } as const;
const KNOWN_FLAGS = zsetFlags.large | zsetFlags.counted;
const SCORE_BYTES = 9;

const NO_FLAGS = Buffer.alloc(0);
const PLAIN = Buffer.from([0]);
const NEGATIVE_ZERO = Buffer.from([elementFlags.negativeZero]);

/** `absent` is undefined; `wrong-type` when the key holds something else. */
export function readZset(
  view: View,
  key: Buffer,
  nowMs: number,
): Collection | undefined | 'wrong-type' {
  return readCollection(view, key, 'zset', nowMs);
}

/** The sorted set under `key`, a new and empty one when there is none. */
export function openZset(
  view: WriteView,
  key: Buffer,
  nowMs: number,
): OpenCollection | 'wrong-type' {
  return openCollection(view, key, 'zset', nowMs);
}

/** An empty one that takes the place of whatever is under the key, once it is saved. */
export function newZset(view: WriteView, found: Found): OpenCollection {
  return newCollection(view, found, 'zset');
}

export function flagsOfZset({ extra, found }: Collection): number {
  const flags = extra[0] ?? 0;
  if ((flags & ~KNOWN_FLAGS) !== 0) {
    throw corruptRecord(found.place, `flags ${flags} of a sorted set unknown`);
  }
  return flags;
}

/** As OBJECT ENCODING names it. */
export function encodingOfZset({ extra }: { readonly extra: Buffer }): 'listpack' | 'skiplist' {
  return ((extra[0] ?? 0) & zsetFlags.large) !== 0 ? 'skiplist' : 'listpack';
}

/** Undefined when it is no member. */
export function scoreOf(view: View, place: CollectionPlace, member: Buffer): number | undefined {
  const key = encodeMemberKey(tags.zsetMember, place, member);
  const value = view.get(key);
  if (value === undefined) return undefined;
  if (value.length !== SCORE_BYTES || value[0] !== 0) {
    throw corruptRecord(key, 'its score is of an unknown form');
  }
  return value.readDoubleBE(1);
}

/** The member and score of a zsetScore record. */
export function entryOf([key, value]: KeyValue): Entry {
  const score = value[0] === elementFlags.negativeZero ? -0 : decodeScore(key);
  return { member: decodeMember(key), score };
}

/** Gives `member` the score; `before` is the one it has, undefined when it is new. */
export function putScore(
  view: WriteView,
  zset: OpenCollection,
  member: Buffer,
  score: number,
  before: number | undefined,
): void {
  if (before === undefined) {
    zset.size++;
    if (zset.size > SMALL_ENTRIES_MAX || member.length > SMALL_MEMBER_BYTES_MAX) grow(zset);
  } else {
    view.del(encodeScoreKey(zset.place, before, member));
  }
  const kept = encodingOfZset(zset) === 'listpack' ? score + 0 : score;
  const value = Buffer.alloc(SCORE_BYTES);
  value.writeDoubleBE(kept, 1);
  view.put(encodeMemberKey(tags.zsetMember, zset.place, member), value);
  const flags = Object.is(kept, -0) ? NEGATIVE_ZERO : PLAIN;
  view.put(encodeScoreKey(zset.place, kept, member), flags);
}

/** Removes a member that is there; `score` is its own. */
export function dropMember(view: WriteView, zset: OpenCollection, { member, score }: Entry): void {
  view.del(encodeMemberKey(tags.zsetMember, zset.place, member));
  view.del(encodeScoreKey(zset.place, score, member));
  zset.size--;
}

/** `longest`: bytes of its longest member. */
export function fitsSmall({ size }: OpenCollection, longest: number): boolean {
  return size <= SMALL_ENTRIES_MAX && longest <= SMALL_MEMBER_BYTES_MAX;
}

export function saveZset(view: WriteView, zset: OpenCollection): void {
  saveCollection(view, zset);
}

export function setFlags(zset: OpenCollection, flags: number): void {
  zset.extra = flags === 0 ? NO_FLAGS : Buffer.from([flags]);
}

function grow(zset: OpenCollection): void {
  const flags = flagsOfZset(zset);
  if ((flags & zsetFlags.large) === 0) setFlags(zset, flags | zsetFlags.large);
}
