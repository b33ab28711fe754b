/**
 * Elements whose collection was deleted, replaced or moved: no command reaches them, and each
 * replica removes them by itself (decision 14). A garbage record per collection says where they are.
 */
import { assert } from '../../../common/assert.ts';
import { asBuffer, readU64, writeU64 } from '../../../common/bytes.ts';
import type { Slot } from '../../../common/ids.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { elementRange, elementTags, isCollectionType } from '../records/element-key.ts';
import { type Version, valueTypeOf } from '../records/header.ts';
import { corruptRecord } from '../records/record.ts';
import { tags } from '../records/tags.ts';

const GARBAGE_BYTES = 16;

export interface Garbage {
  readonly slot: Slot;
  readonly version: Version;
  /** Number of the collection's type, as in its header. */
  readonly type: number;
}

export function encodeGarbageKey({ slot, version, type }: Garbage): Buffer {
  const encoded = Buffer.allocUnsafe(GARBAGE_BYTES);
  encoded[0] = tags.garbage;
  encoded.writeUInt16BE(slot, 1);
  writeU64(encoded, version.index, 3);
  encoded.writeUInt32BE(version.ordinal, 11);
  encoded[15] = type;
  return encoded;
}

export function decodeGarbageKey(encoded: Buffer): Garbage {
  assert(encoded[0] === tags.garbage && encoded.length === GARBAGE_BYTES, 'a garbage record’s key');
  return {
    slot: encoded.readUInt16BE(1),
    version: { index: readU64(encoded, 3), ordinal: encoded.readUInt32BE(11) },
    type: encoded[15]!,
  };
}

/** Where the elements are that the garbage record under `encoded` speaks of. */
export function elementRanges(encoded: Buffer): KeyRange[] {
  const { slot, version, type } = decodeGarbageKey(encoded);
  const name = valueTypeOf(type);
  if (name === undefined || !isCollectionType(name)) {
    throw corruptRecord(encoded, `garbage of type ${type} unknown`);
  }
  return elementTags[name].map((tag) => elementRange(tag, { slot, version }));
}

/** All garbage records. */
export function garbageRange(): KeyRange {
  return {
    gte: asBuffer(Uint8Array.of(tags.garbage)),
    lt: asBuffer(Uint8Array.of(tags.garbage + 1)),
  };
}
