/**
 * The value of a stream's entry. Frozen format:
 *
 *   flags u8 (0) · fields and values in turn, each: length (LEB128) · bytes
 */
import { copyInto } from '../../../common/bytes.ts';
import { corruptRecord } from '../records/record.ts';

/** Fields and values in turn. */
export type EntryFields = readonly Buffer[];

const FLAGS_BYTES = 1;
const MORE = 0x80;
const DIGIT_BITS = 7;
/** Of a length below 2^32. */
const LENGTH_BYTES_MAX = 5;

export function encodeEntry(fields: EntryFields): Buffer {
  let bytes = FLAGS_BYTES;
  for (const { length } of fields) bytes += lengthBytes(length) + length;
  const encoded = Buffer.allocUnsafe(bytes);
  encoded[0] = 0;
  let at = FLAGS_BYTES;
  for (const field of fields) {
    at = writeLength(encoded, field.length, at);
    copyInto(encoded, field, at);
    at += field.length;
  }
  return encoded;
}

/** Views of `value`; `key` names the entry in the error. */
export function decodeEntry(key: Buffer, value: Buffer): EntryFields {
  if (value[0] !== 0) throw corruptRecord(key, `flags ${value[0]} of a stream's entry unknown`);
  const fields: Buffer[] = [];
  for (let at = FLAGS_BYTES; at < value.length; ) {
    let length = 0;
    let digits = 0;
    for (;;) {
      const digit = value[at++];
      if (digit === undefined || digits === LENGTH_BYTES_MAX) throw cut(key);
      length += (digit & ~MORE) * 2 ** (DIGIT_BITS * digits++);
      if (digit < MORE) break;
    }
    if (at + length > value.length) throw cut(key);
    fields.push(value.subarray(at, at + length));
    at += length;
  }
  if (fields.length % 2 !== 0) throw cut(key);
  return fields;
}

function cut(key: Buffer): Error {
  return corruptRecord(key, "a stream's entry is cut");
}

function lengthBytes(length: number): number {
  let bytes = 1;
  for (let rest = length; rest >= MORE; rest >>>= DIGIT_BITS) bytes++;
  return bytes;
}

/** Where what follows begins. */
function writeLength(target: Buffer, length: number, at: number): number {
  let rest = length;
  let next = at;
  for (; rest >= MORE; rest >>>= DIGIT_BITS) target[next++] = (rest & ~MORE) | MORE;
  target[next++] = rest;
  return next;
}
