/**
 * Between stored values and Redis's serialized ones: the parts of a DUMP (the oldest encodings:
 * plain strings, and scores as doubles), and a decoded value put into the view. Deadlines of single
 * hash fields have no place in these encodings: the fields are dumped without.
 */
import { readU64 } from '../../common/bytes.ts';
import type { KeyValue } from '../engine/engine.ts';
import {
  type CollectionType,
  newCollection,
  type OpenCollection,
  saveCollection,
} from './collection.ts';
import {
  decodeMember,
  decodeScore,
  elementFlags,
  encodeListKey,
  encodeMemberKey,
  encodeScoreKey,
  LIST_ORIGIN,
} from './element-key.ts';
import type { Found } from './keyspace.ts';
import { type RdbValue, rdbTypes } from './rdb-decode.ts';
import { corruptRecord } from './record.ts';
import { storeString } from './string.ts';
import { tags } from './tags.ts';
import type { WriteView } from './view.ts';

type RdbCollection = Exclude<RdbValue, { type: 'string' }>;

const NO_FLAGS = Buffer.from([0]);
const NEGATIVE_ZERO = Buffer.from([elementFlags.negativeZero]);
const NO_FRACTION = Buffer.alloc(0);
const NOTHING = Buffer.alloc(0);

/** The elements that are walked for a DUMP: for sorted sets those that are in order. */
export const dumpedTags = {
  hash: tags.hashField,
  list: tags.listElement,
  set: tags.setMember,
  zset: tags.zsetScore,
} as const;

export function rdbTypeByte(type: CollectionType | 'string'): Buffer {
  return Buffer.from([rdbTypes[type]]);
}

export function encodeRdbLength(length: number): Buffer {
  if (length < 0x40) return Buffer.from([length]);
  if (length < 0x4000) return Buffer.from([0x40 | (length >> 8), length & 0xff]);
  const encoded = Buffer.alloc(5);
  encoded[0] = 0x80;
  encoded.writeUInt32BE(length, 1);
  return encoded;
}

export function encodeRdbString(bytes: Buffer): readonly Buffer[] {
  return [encodeRdbLength(bytes.length), bytes];
}

/** What an element is in a DUMP; empty when it has expired. */
export function encodeRdbElement(
  type: CollectionType,
  [key, value]: KeyValue,
  nowMs: number,
): readonly Buffer[] {
  switch (type) {
    case 'list':
      return encodeRdbString(contentOf(key, value));
    case 'set':
      return encodeRdbString(decodeMember(key));
    case 'hash': {
      const deadlineMs = deadlineOf(key, value);
      if (deadlineMs > 0 && deadlineMs <= nowMs) return [];
      return [...encodeRdbString(decodeMember(key)), ...encodeRdbString(contentOf(key, value))];
    }
    case 'zset': {
      const score = Buffer.alloc(8);
      const negativeZero = (flagsOf(key, value) & elementFlags.negativeZero) !== 0;
      score.writeDoubleLE(negativeZero ? -0 : decodeScore(key));
      return [...encodeRdbString(decodeMember(key)), score];
    }
  }
}

/** The deadline of an element's own; 0: none. */
function deadlineOf(key: Buffer, value: Buffer): number {
  if ((flagsOf(key, value) & elementFlags.hasDeadline) === 0) return 0;
  if (value.length < 9) throw corruptRecord(key, 'its deadline is cut');
  return readU64(value, 1);
}

function contentOf(key: Buffer, value: Buffer): Buffer {
  return value.subarray(deadlineOf(key, value) > 0 ? 9 : 1);
}

function flagsOf(key: Buffer, value: Buffer): number {
  const flags = value[0];
  const known = elementFlags.hasDeadline | elementFlags.negativeZero;
  if (flags === undefined || (flags & ~known) !== 0) {
    throw corruptRecord(key, `element flags ${flags} unknown`);
  }
  return flags;
}

/** Bytes of the longest string in `value`. */
export function longestOf(value: RdbValue): number {
  if (value.type === 'string') return value.bytes.length;
  let longest = 0;
  for (const element of value.elements) {
    const parts = Buffer.isBuffer(element) ? [element] : element;
    for (const part of parts) {
      if (typeof part !== 'number') longest = Math.max(longest, part.length);
    }
  }
  return longest;
}

/** Puts `value` in the place of whatever is under the key. `deadlineMs` 0: none. */
export function storeRdbValue(
  view: WriteView,
  found: Found,
  value: RdbValue,
  deadlineMs: number,
): void {
  if (value.type === 'string') {
    storeString(view, found, value.bytes, deadlineMs);
    return;
  }
  const collection = newCollection(view, found, value.type);
  putElements(view, collection, value);
  collection.size = value.elements.length;
  collection.extra = restoredExtra(value);
  collection.deadlineMs = deadlineMs;
  saveCollection(view, collection);
}

/**
 * What each type adds to the header of a collection that comes from outside, its elements put as
 * `putElements` does: nothing so far.
 */
function restoredExtra(_value: RdbCollection): Buffer {
  return NOTHING;
}

function putElements(view: WriteView, { place }: OpenCollection, value: RdbCollection): void {
  switch (value.type) {
    case 'list':
      for (const [at, element] of value.elements.entries()) {
        const key = encodeListKey(place, { whole: LIST_ORIGIN + at, fraction: NO_FRACTION });
        view.put(key, Buffer.concat([NO_FLAGS, element]));
      }
      break;
    case 'set':
      for (const member of value.elements) {
        view.put(encodeMemberKey(tags.setMember, place, member), NO_FLAGS);
      }
      break;
    case 'hash':
      for (const [field, text] of value.elements) {
        const key = encodeMemberKey(tags.hashField, place, field);
        view.put(key, Buffer.concat([NO_FLAGS, text]));
      }
      break;
    case 'zset':
      for (const [member, score] of value.elements) {
        const stored = Buffer.alloc(9);
        stored.writeDoubleBE(score, 1);
        view.put(encodeMemberKey(tags.zsetMember, place, member), stored);
        const flags = Object.is(score, -0) ? NEGATIVE_ZERO : NO_FLAGS;
        view.put(encodeScoreKey(place, score, member), flags);
      }
      break;
  }
}
