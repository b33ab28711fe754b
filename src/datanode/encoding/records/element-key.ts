/**
 * Keys of the elements of collections, as `tags.ts` lays them out (those of streams: `stream-key.ts`), and
 * the flags byte that starts every element's value. Encoded order is logical order: hash then member; place in the list;
 * score as doubles compare, then member.
 */

import { assert } from '../../../common/assert.ts';
import { copyInto, readU64, writeU32, writeU64 } from '../../../common/bytes.ts';
import type { Slot } from '../../../common/ids.ts';
import { SPREAD } from '../../../common/spread.ts';
import type { KeyRange } from '../../engine/engine.ts';
import type { ValueType, Version } from './header.ts';
import { memberHash } from './member-hash.ts';
import { tags } from './tags.ts';

/** Where a collection's elements live: its slot and version. */
export interface CollectionPlace {
  readonly slot: Slot;
  readonly version: Version;
}

type ElementTag =
  | typeof tags.hashField
  | typeof tags.hashDue
  | typeof tags.listElement
  | typeof tags.setMember
  | typeof tags.zsetMember
  | typeof tags.zsetScore
  | typeof tags.zsetBlock
  | typeof tags.streamEntry
  | typeof tags.streamGroup
  | typeof tags.streamPending;

export type CollectionType = 'hash' | 'list' | 'set' | 'zset' | 'stream';

/** Where the elements of each type are. */
export const elementTags = {
  hash: [tags.hashField, tags.hashDue],
  list: [tags.listElement],
  set: [tags.setMember],
  zset: [tags.zsetMember, tags.zsetScore, tags.zsetBlock],
  stream: [tags.streamEntry, tags.streamGroup, tags.streamPending],
} as const;

/** Kinds of records that begin with their collection's slot and version. */
export const elementTagSet: ReadonlySet<number> = new Set(Object.values(elementTags).flat());

/** Index of the entry that made the collection of an element's key; −1: it is no element's. */
export function madeAt(encoded: Buffer): number {
  return isElementKey(encoded) ? readU64(encoded, VERSION_AT) : -1;
}

/** Whether `encoded` begins as the keys of some collection's elements do. */
export function isElementKey(encoded: Buffer): boolean {
  return encoded.length >= ELEMENT_PREFIX_BYTES && elementTagSet.has(encoded[0]!);
}

/** All keys from one to the other are of elements in the same slot, and of the same kind. */
export function isSameKind(one: Buffer, other: Buffer): boolean {
  const ends = Math.min(one.length, other.length) >= ELEMENT_PREFIX_BYTES;
  return ends && one[0] === other[0] && one[1] === other[1] && one[2] === other[2];
}

export function isCollectionType(type: ValueType): type is CollectionType {
  return type in elementTags;
}

/** Tag, slot and version: what elements of one kind of a collection have in common. */
export const ELEMENT_PREFIX_BYTES = 15;
const PREFIX_BYTES = ELEMENT_PREFIX_BYTES;
const ORDER_BYTES = 8;
const VERSION_AT = 3;

/** First byte of an element's value. A reader that meets an unknown flag refuses. */
export const elementFlags = {
  /** A deadline of the element's own (u64) follows the flags. */
  hasDeadline: 1,
  /** zsetScore: the score is −0, which sorts and compares as 0. */
  negativeZero: 2,
} as const;

/** hashField, setMember, zsetMember: ordered by the member's hash, then the member. */
export function encodeMemberKey(
  tag: typeof tags.hashField | typeof tags.setMember | typeof tags.zsetMember,
  place: CollectionPlace,
  member: Buffer,
): Buffer {
  const encoded = prefix(tag, place, ORDER_BYTES + member.length);
  const [high, low] = memberHash(member);
  writeU32(encoded, high, PREFIX_BYTES);
  writeU32(encoded, low, PREFIX_BYTES + 4);
  copyInto(encoded, member, PREFIX_BYTES + ORDER_BYTES);
  return encoded;
}

/** Whether `encoded` is a key made by `encodeMemberKey`. */
export function isMemberKey(encoded: Buffer): boolean {
  const [tag] = encoded;
  const isOne = tag === tags.hashField || tag === tags.setMember || tag === tags.zsetMember;
  return isOne && encoded.length >= PREFIX_BYTES + ORDER_BYTES;
}

/** The ranges where such keys lie, those of list elements between them. */
export function memberRange(): KeyRange {
  return { gte: Buffer.from([tags.hashField]), lt: Buffer.from([tags.zsetMember + 1]) };
}

/** Halves of the hash of a member, from its key: 32 bits, signed. */
export function memberHashHigh(encoded: Buffer): number {
  return wordAt(encoded, PREFIX_BYTES);
}

export function memberHashLow(encoded: Buffer): number {
  return wordAt(encoded, PREFIX_BYTES + 4);
}

/** Of an element's key: 32 bits that tell its collection from most others. */
export function collectionHash(encoded: Buffer): number {
  return Math.imul(wordAt(encoded, VERSION_AT + 4) ^ wordAt(encoded, VERSION_AT + 8), SPREAD);
}

/** Read for every question, so without a look at the bounds. */
function wordAt(encoded: Buffer, at: number): number {
  const first = (encoded[at]! << 24) | (encoded[at + 1]! << 16);
  return first | (encoded[at + 2]! << 8) | encoded[at + 3]!;
}

/** The member of a key made by `encodeMemberKey`, `encodeDueKey` or `encodeScoreKey`. */
export function decodeMember(encoded: Buffer): Buffer {
  return encoded.subarray(PREFIX_BYTES + ORDER_BYTES);
}

/** hashDue: fields that have a deadline, the earliest first. */
export function encodeDueKey(place: CollectionPlace, deadlineMs: number, field: Buffer): Buffer {
  const encoded = prefix(tags.hashDue, place, ORDER_BYTES + field.length);
  writeU64(encoded, deadlineMs, PREFIX_BYTES);
  encoded.set(field, PREFIX_BYTES + ORDER_BYTES);
  return encoded;
}

export function decodeDueMs(encoded: Buffer): number {
  return readU64(encoded, PREFIX_BYTES);
}

/** The fields of a hash whose deadline is at or before `untilMs`. */
export function dueRange(place: CollectionPlace, untilMs: number): KeyRange {
  const { gte, lt } = elementRange(tags.hashDue, place);
  if (untilMs >= Number.MAX_SAFE_INTEGER) return { gte, lt };
  return { gte, lt: encodeDueKey(place, untilMs + 1, Buffer.alloc(0)) };
}

/**
 * A place in a list: a whole number that grows to the tail, then a fraction that makes room between
 * neighbours, so that an insertion in the middle renumbers nothing. Fractions are digits of base
 * 256 and never end in 0: between two different places there is always a third (`placeBetween`).
 */
export interface ListPlace {
  readonly whole: number;
  readonly fraction: Buffer;
}

/** The place of the first element of a list; both ends have 2^52 places to grow into. */
export const LIST_ORIGIN = 2 ** 52;

export function encodeListKey(place: CollectionPlace, { whole, fraction }: ListPlace): Buffer {
  assert(fraction.at(-1) !== 0, 'a list fraction never ends in 0');
  const encoded = prefix(tags.listElement, place, ORDER_BYTES + fraction.length);
  writeU64(encoded, whole, PREFIX_BYTES);
  copyInto(encoded, fraction, PREFIX_BYTES + ORDER_BYTES);
  return encoded;
}

export function decodeListPlace(encoded: Buffer): ListPlace {
  return {
    whole: readU64(encoded, PREFIX_BYTES),
    fraction: encoded.subarray(PREFIX_BYTES + ORDER_BYTES),
  };
}

/** A place after `left` and before `right`; grows by a byte after about eight halvings. */
export function placeBetween(left: ListPlace, right: ListPlace): ListPlace {
  const sameWhole = left.whole === right.whole;
  assert(
    left.whole < right.whole || (sameWhole && left.fraction.compare(right.fraction) < 0),
    'left is before right',
  );
  if (right.whole - left.whole > 1) {
    return { whole: left.whole + 1, fraction: Buffer.alloc(0) };
  }
  const bound = sameWhole ? right.fraction : undefined;
  return { whole: left.whole, fraction: fractionBetween(left.fraction, bound) };
}

/** `above` undefined: below 1. */
function fractionBetween(below: Buffer, above: Buffer | undefined): Buffer {
  const digits: number[] = [];
  let bounded = above !== undefined;
  for (let at = 0; ; at++) {
    const low = below[at] ?? 0;
    const high = bounded ? (above![at] ?? 0) : 256;
    if (high - low > 1) {
      digits.push((low + high) >>> 1);
      return Buffer.from(digits);
    }
    digits.push(low);
    if (high > low) bounded = false;
  }
}

/** zsetScore: ordered as doubles compare, then by member. */
export function encodeScoreKey(place: CollectionPlace, score: number, member: Buffer): Buffer {
  const encoded = prefix(tags.zsetScore, place, ORDER_BYTES + member.length);
  writeSortableDouble(encoded, score, PREFIX_BYTES);
  copyInto(encoded, member, PREFIX_BYTES + ORDER_BYTES);
  return encoded;
}

/** −0 comes back as 0: its sign is in the value's flags. */
export function decodeScore(encoded: Buffer): number {
  return readSortableDouble(encoded, PREFIX_BYTES);
}

/** What orders the scores of a sorted set among each other: all of a score key but its prefix. */
export function scoreOrder(encoded: Buffer): Buffer {
  return encoded.subarray(PREFIX_BYTES);
}

/** A bound among the scores of a sorted set, from the beginning of what `scoreOrder` gives. */
export function scoreKeyAt(place: CollectionPlace, order: Buffer): Buffer {
  const encoded = prefix(tags.zsetScore, place, order.length);
  encoded.set(order, PREFIX_BYTES);
  return encoded;
}

/** zsetBlock: part `part` of node `node`. */
export function encodeBlockKey(place: CollectionPlace, node: number, part: number): Buffer {
  const encoded = prefix(tags.zsetBlock, place, 5);
  writeU32(encoded, node, PREFIX_BYTES);
  encoded[PREFIX_BYTES + 4] = part;
  return encoded;
}

/** The key of the same element in another collection of the type. */
export function movedElementKey(encoded: Buffer, to: CollectionPlace): Buffer {
  const moved = prefix(encoded[0] as ElementTag, to, encoded.length - PREFIX_BYTES);
  moved.set(encoded.subarray(PREFIX_BYTES), PREFIX_BYTES);
  return moved;
}

/** All elements of one kind of a collection. */
export function elementRange(tag: ElementTag, place: CollectionPlace): KeyRange {
  const gte = prefix(tag, place, 0);
  const { index, ordinal } = place.version;
  const next =
    ordinal === 0xffff_ffff ? { index: index + 1, ordinal: 0 } : { index, ordinal: ordinal + 1 };
  return { gte, lt: prefix(tag, { slot: place.slot, version: next }, 0) };
}

/** Eight bytes that sort as the double does: negative ones inverted, others with the sign set. */
function writeSortableDouble(target: Buffer, value: number, offset: number): void {
  assert(!Number.isNaN(value), 'a score is a number');
  target.writeDoubleBE(value === 0 ? 0 : value, offset);
  const negative = target[offset]! >= 0x80;
  if (!negative) target[offset]! |= 0x80;
  else for (let at = offset; at < offset + 8; at++) target[at] = ~target[at]! & 0xff;
}

/** Every score of a range passes here: it makes no Buffer. */
function readSortableDouble(source: Buffer, offset: number): number {
  const high = source.readUInt32BE(offset);
  const low = source.readUInt32BE(offset + 4);
  const positive = high >= 0x8000_0000;
  sortable.setUint32(0, positive ? high & 0x7fff_ffff : ~high);
  sortable.setUint32(4, positive ? low : ~low);
  return sortable.getFloat64(0);
}

/** The bytes of one double, between its two forms. */
const sortable = new DataView(new ArrayBuffer(8));

/** Tag, slot and version of an element's key, with room for `more` bytes behind them. */
export function prefix(tag: ElementTag, { slot, version }: CollectionPlace, more: number): Buffer {
  const encoded = Buffer.allocUnsafe(PREFIX_BYTES + more);
  encoded[0] = tag;
  encoded[1] = slot >>> 8;
  encoded[2] = slot;
  writeU64(encoded, version.index, 3);
  writeU32(encoded, version.ordinal, 11);
  return encoded;
}
