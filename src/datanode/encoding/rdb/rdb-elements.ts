/**
 * The parts of a DUMP, in the oldest encodings: plain strings, and scores as doubles. Fields of a
 * hash come with their deadlines where one has any: each counted from the earliest, which stands
 * before them.
 */
import { readU64, writeU32, writeU64 } from '../../../common/bytes.ts';
import type { KeyValue } from '../../engine/engine.ts';
import {
  type CollectionType,
  decodeMember,
  decodeScore,
  elementFlags,
} from '../records/element-key.ts';
import { corruptRecord } from '../records/record.ts';
import { tags } from '../records/tags.ts';
import { eachItem, type Slices } from '../steps/slices.ts';
import { type RdbValue, rdbTypes } from './rdb-decode.ts';

/** Collections whose elements are dumped one by one, all alike. */
export type DumpedType = Exclude<CollectionType, 'stream'>;

/** The elements that are walked for a DUMP: for sorted sets those that are in order. */
export const dumpedTags = {
  hash: tags.hashField,
  list: tags.listElement,
  set: tags.setMember,
  zset: tags.zsetScore,
} as const;

export function rdbTypeByte(type: DumpedType | 'string' | 'hashMetadata' | 'stream7'): Buffer {
  return Buffer.from([rdbTypes[type]]);
}

/** Also any other whole number. */
export function encodeRdbLength(length: number): Buffer {
  if (length < 0x40) return Buffer.from([length]);
  if (length < 0x4000) return Buffer.from([0x40 | (length >> 8), length & 0xff]);
  const isWide = length > 0xffff_ffff;
  const encoded = Buffer.alloc(isWide ? 9 : 5);
  encoded[0] = isWide ? 0x81 : 0x80;
  if (isWide) writeU64(encoded, length, 1);
  else writeU32(encoded, length, 1);
  return encoded;
}

/** What stands before the fields of a hash that are dumped with deadlines: the earliest of these. */
export function encodeRdbTime(timeMs: number): Buffer {
  const encoded = Buffer.alloc(8);
  encoded.writeBigUInt64LE(BigInt(timeMs));
  return encoded;
}

export function encodeRdbString(bytes: Buffer): readonly Buffer[] {
  return [encodeRdbLength(bytes.length), bytes];
}

/** What stands before the elements; `earliestMs`: the earliest deadline of a field, if any has one. */
export function encodeRdbHead(
  type: DumpedType,
  count: number,
  earliestMs: number | undefined,
): readonly Buffer[] {
  const length = encodeRdbLength(count);
  if (earliestMs === undefined) return [rdbTypeByte(type), length];
  return [rdbTypeByte('hashMetadata'), encodeRdbTime(earliestMs), length];
}

/** At which time a value is dumped, and the earliest deadline of its fields; undefined: without any. */
export interface DumpTimes {
  readonly nowMs: number;
  readonly earliestMs: number | undefined;
}

/** What an element is in a DUMP; empty when it has expired. */
export function encodeRdbElement(
  type: DumpedType,
  [key, value]: KeyValue,
  { nowMs, earliestMs }: DumpTimes,
): readonly Buffer[] {
  switch (type) {
    case 'list':
      return encodeRdbString(contentOf(key, value));
    case 'set':
      return encodeRdbString(decodeMember(key));
    case 'hash': {
      const deadlineMs = deadlineOf(key, value);
      if (deadlineMs > 0 && deadlineMs <= nowMs) return [];
      const name = encodeRdbString(decodeMember(key));
      const field = [...name, ...encodeRdbString(contentOf(key, value))];
      if (earliestMs === undefined) return field;
      // 0 is no deadline, so the earliest is 1
      const after = deadlineMs === 0 ? 0 : deadlineMs - earliestMs + 1;
      return [encodeRdbLength(after), ...field];
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
export function* longestOf(value: RdbValue): Slices<number> {
  if (value.type === 'string' || value.type === 'json') return value.bytes.length;
  if (value.type === 'stream') return value.longest;
  let longest = 0;
  yield* eachItem<Element>(value.elements, (element) => {
    const parts = Buffer.isBuffer(element) ? [element] : element;
    for (const part of parts) {
      if (typeof part !== 'number') longest = Math.max(longest, part.length);
    }
  });
  return longest;
}

/** Of any type of collection. */
type Element = Buffer | readonly [Buffer, Buffer | number, ...number[]];
