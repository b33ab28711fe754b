/**
 * Sorted sets: every member has two records, zsetMember (its score) and zsetScore (its place in the
 * order), which change together, and the counts of ranks/zset-index.ts with them. A score of −0 equals 0
 * and sorts as 0; it is kept only beyond the small encoding, as in Redis.
 */
import type { KeyValue } from '../../engine/engine.ts';
import {
  type Collection,
  newCollection,
  openCollection,
  readCollection,
  saveCollection,
} from '../collections/collection.ts';
import type { Found } from '../keyspace/keyspace.ts';
import {
  encodingOfZset,
  fitsSmall,
  flagsOfZset,
  type OpenZset,
  setFlags,
  zsetFlags,
} from '../ranks/zset-header.ts';
import {
  countElement,
  isCrowded,
  saveManyRanks,
  saveRanks,
  splitBlocks,
} from '../ranks/zset-index.ts';
import {
  type CollectionPlace,
  decodeMember,
  decodeScore,
  elementFlags,
  encodeMemberKey,
  encodeScoreKey,
} from '../records/element-key.ts';
import { corruptRecord } from '../records/record.ts';
import { tags } from '../records/tags.ts';
import type { Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';

export interface Entry {
  readonly member: Buffer;
  readonly score: number;
}

const SCORE_BYTES = 9;

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
export function openZset(view: WriteView, key: Buffer, nowMs: number): OpenZset | 'wrong-type' {
  return openCollection(view, key, 'zset', nowMs);
}

/** An empty one that takes the place of whatever is under the key, once it is saved. */
export function newZset(view: WriteView, found: Found): OpenZset {
  return newCollection(view, found, 'zset');
}

/** Undefined when it is no member. */
export function scoreOf(view: View, place: CollectionPlace, member: Buffer): number | undefined {
  return scoreAt(view, memberKeyOf(place, member));
}

/** For `scoreAt` and `putScore`: made once for both. */
export function memberKeyOf(place: CollectionPlace, member: Buffer): Buffer {
  return encodeMemberKey(tags.zsetMember, place, member);
}

/** `key`: of a member. Undefined when it is none. */
export function scoreAt(view: View, key: Buffer): number | undefined {
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
  zset: OpenZset,
  member: Buffer,
  score: number,
  before: number | undefined,
  key = memberKeyOf(zset.place, member),
): void {
  if (before === undefined) {
    zset.size++;
    if (!fitsSmall(zset, member.length)) grow(zset);
  } else {
    const keyBefore = encodeScoreKey(zset.place, before, member);
    view.del(keyBefore);
    countElement(view, zset, keyBefore, -1);
  }
  const kept = encodingOfZset(zset) === 'listpack' ? score + 0 : score;
  countElement(view, zset, putNewScore(view, zset, member, kept, key), 1);
}

/** Writes the records of a member that has none and tells nobody; returns its zsetScore key. */
export function putNewScore(
  view: WriteView,
  { place }: OpenZset,
  member: Buffer,
  score: number,
  key = memberKeyOf(place, member),
): Buffer {
  // from Node's pool: a million pieces of memory of their own hold up the garbage collector
  const value = Buffer.allocUnsafe(SCORE_BYTES);
  value[0] = 0;
  value.writeDoubleBE(score, 1);
  view.put(key, value);
  const scoreKey = encodeScoreKey(place, score, member);
  view.put(scoreKey, Object.is(score, -0) ? NEGATIVE_ZERO : PLAIN);
  return scoreKey;
}

/** Removes a member that is there; `entry` has its own score. */
export function dropMember(view: WriteView, zset: OpenZset, entry: Entry): void {
  view.del(encodeMemberKey(tags.zsetMember, zset.place, entry.member));
  const scoreKey = encodeScoreKey(zset.place, entry.score, entry.member);
  view.del(scoreKey);
  zset.size--;
  countElement(view, zset, scoreKey, -1);
}

/** Ends a change: at once, unless ranges have to be read for the counts. */
export function saveZset(view: WriteView, zset: OpenZset): Slices<void> | undefined {
  if (zset.size > 0 && isCrowded(zset)) return saveCrowded(view, zset);
  saveRanks(view, zset);
  saveCollection(view, zset);
  return undefined;
}

function* saveCrowded(view: WriteView, zset: OpenZset): Slices<void> {
  yield* splitBlocks(view, zset);
  yield* saveManyRanks(view, zset);
  saveCollection(view, zset);
}

function grow(zset: OpenZset): void {
  const flags = flagsOfZset(zset);
  if ((flags & zsetFlags.large) === 0) setFlags(zset, flags | zsetFlags.large);
}
