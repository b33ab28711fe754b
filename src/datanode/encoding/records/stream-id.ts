/**
 * IDs of stream entries (redis.io, "Redis Streams", "Entry IDs"): milliseconds and a sequence, each an
 * unsigned number of 64 bits. Held as they lie in engine keys, 16 bytes big-endian, so that the order of
 * bytes is the order of IDs and no number is cut. Nobody writes into one.
 */
import { assert } from '../../../common/assert.ts';
import { readU32, writeU64 } from '../../../common/bytes.ts';

/** 16 bytes: milliseconds u64 · sequence u64. */
export type StreamId = Buffer;

export const STREAM_ID_BYTES = 16;
const SEQUENCE_AT = 8;
const TWO_32 = 2 ** 32;
/** A half that begins with less is a safe integer. */
const SAFE_HIGH = 2 ** 21;
const U64_MAX = 2n ** 64n - 1n;
/** 0-0: no entry ever has it. */
export const MIN_STREAM_ID: StreamId = Buffer.alloc(STREAM_ID_BYTES);
export const MAX_STREAM_ID: StreamId = Buffer.alloc(STREAM_ID_BYTES, 0xff);
/** Redis reads no more of what is typed. */
const TEXT_BYTES_MAX = 127;

export function streamId(milliseconds: bigint, sequence: bigint): StreamId {
  const id = Buffer.allocUnsafe(STREAM_ID_BYTES);
  id.writeBigUInt64BE(milliseconds, 0);
  id.writeBigUInt64BE(sequence, SEQUENCE_AT);
  return id;
}

/** `milliseconds`: a whole number below 2^53. */
export function streamIdAt(milliseconds: number, sequence = 0): StreamId {
  const id = Buffer.allocUnsafe(STREAM_ID_BYTES);
  writeU64(id, milliseconds, 0);
  writeU64(id, sequence, SEQUENCE_AT);
  return id;
}

/** Byte by byte: of so few, Buffer's own takes longer to begin. */
export function compareIds(one: StreamId, other: StreamId): number {
  for (let at = 0; at < STREAM_ID_BYTES; at++) {
    const difference = one[at]! - other[at]!;
    if (difference !== 0) return difference < 0 ? -1 : 1;
  }
  return 0;
}

/** Both halves, as clients are shown them: `1526919030474-55`. */
export function formatStreamId(id: StreamId): string {
  return `${halfAt(id, 0)}-${halfAt(id, SEQUENCE_AT)}`;
}

function halfAt(id: StreamId, at: number): number | bigint {
  const high = readU32(id, at);
  return high < SAFE_HIGH ? high * TWO_32 + readU32(id, at + 4) : id.readBigUInt64BE(at);
}

/** Its milliseconds are before that time, a whole number below 2^53. */
export function isBeforeTime(id: StreamId, milliseconds: number): boolean {
  // what is beyond 2^53 is rounded, and greater all the same
  return readU32(id, 0) * TWO_32 + readU32(id, 4) < milliseconds;
}

/** A copy of its own of the 16 bytes at `at` of `source`. */
export function readStreamId(source: Buffer, at: number): StreamId {
  assert(source.length >= at + STREAM_ID_BYTES, 'an ID has 16 bytes');
  const id = Buffer.allocUnsafe(STREAM_ID_BYTES);
  for (let byte = 0; byte < STREAM_ID_BYTES; byte++) id[byte] = source[at + byte]!;
  return id;
}

/** The next ID; undefined behind the last one possible. */
export function idAfter(id: StreamId): StreamId | undefined {
  return shifted(id, 1);
}

/** The ID before; undefined before 0-0. */
export function idBefore(id: StreamId): StreamId | undefined {
  return shifted(id, -1);
}

function shifted(id: StreamId, by: 1 | -1): StreamId | undefined {
  const moved = readStreamId(id, 0);
  const wraps = by === 1 ? 0xff : 0;
  for (let at = STREAM_ID_BYTES - 1; at >= 0; at--) {
    const digit = moved[at]!;
    moved[at] = (digit + by) & 0xff;
    if (digit !== wraps) return moved;
  }
  return undefined;
}

/**
 * An ID as it was typed: `ms-seq`, or `ms` alone, which gets `sequence`. Undefined when it is none.
 */
export function parseStreamId(text: Buffer, sequence: bigint): StreamId | undefined {
  if (text.length > TEXT_BYTES_MAX) return undefined;
  const typed = text.toString('latin1').split('\0', 1)[0]!;
  const dash = typed.indexOf('-');
  if (dash < 0) return idOf(parseU64(typed), sequence);
  return idOf(parseU64(typed.slice(0, dash)), parseU64(typed.slice(dash + 1)));
}

function idOf(milliseconds: bigint | undefined, sequence: bigint | undefined) {
  if (milliseconds === undefined || sequence === undefined) return undefined;
  return streamId(milliseconds, sequence);
}

/**
 * A number of 64 bits without a sign, as Redis takes it: first as it is written, then as C's strtoull
 * reads it (spaces and zeros before it, a sign, of which minus counts down from 2^64).
 */
export function parseU64(text: string): bigint | undefined {
  const [, sign, digits] = /^[ \t-\r]*([+-]?)(\d+)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const value = BigInt(digits);
  if (value > U64_MAX || /^-[1-9]/.test(text)) return undefined;
  return sign === '-' ? BigInt.asUintN(64, -value) : value;
}
