/**
 * What a hash adds to its header. Frozen format:
 *
 *   encoding u8 · [due u64 · until u64 · expiring u64, when a field has a deadline]
 *
 * Encodings, those that Redis 7.4 would use: 0 listpack · 1 hashtable · 2 listpackex. They never go
 * back while the key lives, and say nothing about how the fields are stored here. `due` is no later
 * than the earliest deadline of a field, `until` is the latest (milliseconds since 1970);
 * `expiring` is how many fields have one. Expired fields count until they are deleted.
 */
import { readU64, writeU64 } from '../../../common/bytes.ts';
import { corruptRecord } from './record.ts';

export type HashEncoding = 'listpack' | 'hashtable' | 'listpackex';

/** When fields expire; all 0 when none has a deadline. */
export interface HashDeadlines {
  /** No field expires before. */
  readonly dueMs: number;
  readonly untilMs: number;
  readonly expiring: number;
}

export interface HashExtra extends HashDeadlines {
  readonly encoding: HashEncoding;
}

const encodings: readonly HashEncoding[] = ['listpack', 'hashtable', 'listpackex'];
const DUE_AT = 1;
const UNTIL_AT = 9;
const EXPIRING_AT = 17;
const WITH_DEADLINES_BYTES = 25;
const NO_DEADLINES: HashDeadlines = { dueMs: 0, untilMs: 0, expiring: 0 };

export function encodeHashExtra({ encoding, dueMs, untilMs, expiring }: HashExtra): Buffer {
  const extra = Buffer.alloc(expiring > 0 ? WITH_DEADLINES_BYTES : DUE_AT);
  extra[0] = encodings.indexOf(encoding);
  if (expiring === 0) return extra;
  writeU64(extra, dueMs, DUE_AT);
  writeU64(extra, untilMs, UNTIL_AT);
  writeU64(extra, expiring, EXPIRING_AT);
  return extra;
}

/** `place`, the key of the record, names it in the error. Nothing at all: an empty hash. */
export function decodeHashExtra(place: Buffer, extra: Buffer): HashExtra {
  const encoding = encodings[extra[0] ?? 0];
  if (encoding === undefined) throw corruptRecord(place, `hash encoding ${extra[0]} unknown`);
  return { encoding, ...decodeDeadlines(place, extra) };
}

/** Whether so many bytes tell of deadlines. */
export function hasDeadlines(bytes: number): boolean {
  return bytes > DUE_AT;
}

export function decodeDeadlines(place: Buffer, extra: Buffer): HashDeadlines {
  if (!hasDeadlines(extra.length)) return NO_DEADLINES;
  if (extra.length !== WITH_DEADLINES_BYTES) throw corruptRecord(place, 'its hash header is cut');
  return {
    dueMs: readU64(extra, DUE_AT),
    untilMs: readU64(extra, UNTIL_AT),
    expiring: readU64(extra, EXPIRING_AT),
  };
}
