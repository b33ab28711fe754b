/**
 * What a hash adds to its header. Frozen format:
 *
 *   encoding u8 · [due u64, when a field may have a deadline]
 *
 * Encodings, those that Redis 7.4 would use: 0 listpack · 1 hashtable · 2 listpackex. They never go
 * back while the key lives, and say nothing about how the fields are stored here. `due`
 * (milliseconds since 1970) is no later than the earliest deadline of a field.
 */
import { readU64, writeU64 } from '../../common/bytes.ts';
import { corruptRecord } from './record.ts';

export type HashEncoding = 'listpack' | 'hashtable' | 'listpackex';

export interface HashExtra {
  readonly encoding: HashEncoding;
  /** No field expires before; 0: no field has a deadline. */
  readonly dueMs: number;
}

const encodings: readonly HashEncoding[] = ['listpack', 'hashtable', 'listpackex'];
const DUE_AT = 1;
const WITH_DUE_BYTES = 9;

export function encodeHashExtra({ encoding, dueMs }: HashExtra): Buffer {
  const extra = Buffer.alloc(dueMs > 0 ? WITH_DUE_BYTES : DUE_AT);
  extra[0] = encodings.indexOf(encoding);
  if (dueMs > 0) writeU64(extra, dueMs, DUE_AT);
  return extra;
}

/** `place`, the key of the record, names it in the error. Nothing at all: an empty hash. */
export function decodeHashExtra(place: Buffer, extra: Buffer): HashExtra {
  const encoding = encodings[extra[0] ?? 0];
  if (encoding === undefined) throw corruptRecord(place, `hash encoding ${extra[0]} unknown`);
  return { encoding, dueMs: fieldsDueMs(place, extra) };
}

export function fieldsDueMs(place: Buffer, extra: Buffer): number {
  if (extra.length <= DUE_AT) return 0;
  if (extra.length !== WITH_DUE_BYTES) throw corruptRecord(place, 'its hash header is cut');
  return readU64(extra, DUE_AT);
}
