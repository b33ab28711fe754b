/** Keys of key records and of the expiry indexes, as `tags.ts` lays them out. */
import { assert } from '../../../common/assert.ts';
import { copyInto, readU64, writeU32, writeU64 } from '../../../common/bytes.ts';
import { slotOfKey } from '../../../common/hash.ts';
import type { Slot } from '../../../common/ids.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { keyHash } from './member-hash.ts';
import { tagRanges, tags } from './tags.ts';

const KEY_PREFIX_BYTES = 7;
/** Where the user's key begins in a key record's key. */
export const USER_KEY_AT = KEY_PREFIX_BYTES;
const EXPIRY_PREFIX_BYTES = 11;

/** The engine key of a user key's record. */
export function encodeKey(key: Buffer): Buffer {
  const encoded = Buffer.allocUnsafe(KEY_PREFIX_BYTES + key.length);
  const slot = slotOfKey(key);
  encoded[0] = tags.key;
  encoded[1] = slot >>> 8;
  encoded[2] = slot;
  writeU32(encoded, keyHash(key), 3);
  copyInto(encoded, key, KEY_PREFIX_BYTES);
  return encoded;
}

export interface KeyPlace {
  readonly slot: Slot;
  readonly hash: number;
  readonly key: Buffer;
}

export function decodeKey(encoded: Buffer): KeyPlace {
  assert(encoded[0] === tags.key && encoded.length >= KEY_PREFIX_BYTES, 'a key record’s key');
  return {
    slot: encoded.readUInt16BE(1),
    hash: encoded.readUInt32BE(3),
    key: encoded.subarray(KEY_PREFIX_BYTES),
  };
}

/** Whether `encoded` is the engine key of a key record. */
export function isRecordKey(encoded: Buffer): boolean {
  return encoded[0] === tags.key;
}

/** As a number of 32 bits, signed; read for every question, so without a look at the bounds. */
export function recordHash(encoded: Buffer): number {
  return (encoded[3]! << 24) | (encoded[4]! << 16) | (encoded[5]! << 8) | encoded[6]!;
}

export function recordSlot(encoded: Buffer): number {
  return (encoded[1]! << 8) | encoded[2]!;
}

/** All key records. */
export function recordRange(): KeyRange {
  return { gte: Buffer.from([tags.key]), lt: Buffer.from([tags.key + 1]) };
}

/** Key records from (`slot`, `hash`) through the end of `lastSlot`. */
export function keyRange(slot: Slot, hash: number, lastSlot: Slot): KeyRange {
  const gte = Buffer.allocUnsafe(KEY_PREFIX_BYTES);
  gte[0] = tags.key;
  gte.writeUInt16BE(slot, 1);
  gte.writeUInt32BE(hash, 3);
  return { gte, lt: slotBound(tags.key, lastSlot + 1) };
}

/** Everything of Redis's types: what FLUSHALL deletes. */
export function redisDataRange(): KeyRange {
  const [first, last] = tagRanges.redis;
  return { gte: Buffer.from([first]), lt: Buffer.from([last + 1]) };
}

/** What expires: keys as a whole, or fields of hashes. Each has an index of its own. */
export type ExpiryTag = typeof tags.expiry | typeof tags.fieldExpiry;

/** The entry of a deadline of `key`, or of its earliest fields, in the expiry index. */
export function encodeExpiryKey(
  deadlineMs: number,
  key: Buffer,
  tag: ExpiryTag = tags.expiry,
): Buffer {
  const encoded = Buffer.allocUnsafe(EXPIRY_PREFIX_BYTES + key.length);
  encoded[0] = tag;
  writeU64(encoded, deadlineMs, 1);
  encoded.writeUInt16BE(slotOfKey(key), 9);
  encoded.set(key, EXPIRY_PREFIX_BYTES);
  return encoded;
}

export interface ExpiryEntry {
  readonly deadlineMs: number;
  readonly slot: Slot;
  readonly key: Buffer;
}

export function decodeExpiryKey(encoded: Buffer): ExpiryEntry {
  assert(isExpiryKey(encoded) && encoded.length >= EXPIRY_PREFIX_BYTES, 'an expiry entry');
  return {
    deadlineMs: readU64(encoded, 1),
    slot: encoded.readUInt16BE(9),
    key: encoded.subarray(EXPIRY_PREFIX_BYTES),
  };
}

/** Whether `encoded` is of one of the expiry indexes. */
export function isExpiryKey(encoded: Buffer): boolean {
  return encoded[0] === tags.expiry || encoded[0] === tags.fieldExpiry;
}

/** The smallest engine key greater than `key`: where a forward walk goes on. */
export function keyAfter(key: Buffer): Buffer {
  const next = Buffer.allocUnsafe(key.length + 1);
  next.set(key);
  next[key.length] = 0;
  return next;
}

function slotBound(tag: number, slot: number): Buffer {
  const bound = Buffer.allocUnsafe(3);
  bound[0] = tag;
  bound.writeUInt16BE(slot, 1);
  return bound;
}
