/**
 * Hashes: one element per field. A field may have a deadline, which lies in its value; an entry of
 * `hashDue` then finds it when it is due, and one of `fieldExpiry` the hash (keyspace/keyspace.ts). A field
 * whose deadline has passed is absent for every command; a write replaces it, the leader's expiry
 * entries delete it (`expiry/hash-expiry.ts`).
 *
 * Value of a field, frozen: flags u8 · [deadline u64, when flag 1 is set] · value
 */
import { copyInto, readU64, writeU64 } from '../../../common/bytes.ts';
import { type KeyValue, limited } from '../../engine/engine.ts';
import {
  type Collection,
  type OpenCollection,
  openCollection,
  readCollection,
  saveCollection,
} from '../collections/collection.ts';
import { eachSlice, type Members } from '../collections/member-walk.ts';
import {
  type CollectionPlace,
  decodeDueMs,
  dueRange,
  elementFlags,
  elementRange,
  encodeDueKey,
  encodeMemberKey,
} from '../records/element-key.ts';
import {
  decodeHashExtra,
  encodeHashExtra,
  type HashEncoding,
  type HashExtra,
} from '../records/hash-header.ts';
import { corruptRecord } from '../records/record.ts';
import { tags } from '../records/tags.ts';
import type { Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';

/** A hash as a read finds it, at a time (milliseconds since 1970). */
export interface Hash extends HashExtra {
  readonly collection: Collection;
  readonly nowMs: number;
}

/** A hash that a write changes; `saveHash` makes the changes its header's. */
export interface OpenHash extends Hash {
  readonly collection: OpenCollection;
  encoding: HashEncoding;
  dueMs: number;
  untilMs: number;
  expiring: number;
  /** The field that was kept until `untilMs` may have gone: another is now the latest. */
  untilUnknown: boolean;
  /** What its header says; undefined while it has none. */
  readonly stored: { readonly size: number; readonly extra: Buffer } | undefined;
}

/** A field as the engine holds it, expired or not. */
export interface Field {
  /** Milliseconds since 1970; 0: none. */
  readonly deadlineMs: number;
  readonly value: Buffer;
}

const LISTPACK_SIZE_MAX = 512;
const LISTPACK_BYTES_MAX = 64;
/** Read for one that is wanted: those that the same command deletes are skipped in steps of it. */
const LATEST_SLICE = 16;
const IN_INDEX = Buffer.from([0]);

/** The live hash under `key`; undefined when absent, `wrong-type` when it is something else. */
export function readHash(view: View, key: Buffer, nowMs: number): Hash | undefined | 'wrong-type' {
  const collection = readCollection(view, key, 'hash', nowMs);
  if (collection === undefined || collection === 'wrong-type') return collection;
  return { collection, nowMs, ...decodeHashExtra(collection.found.place, collection.extra) };
}

/** The hash under `key`, a new and empty one when there is none. */
export function openHash(view: WriteView, key: Buffer, nowMs: number): OpenHash | 'wrong-type' {
  const collection = openCollection(view, key, 'hash', nowMs);
  return collection === 'wrong-type' ? collection : opened(collection, nowMs);
}

/** The same for one that was read. */
export function reopenHash(collection: Collection, nowMs: number): OpenHash {
  return opened({ deadlineMs: collection.found.live?.deadlineMs ?? 0, ...collection }, nowMs);
}

function opened(collection: OpenCollection, nowMs: number): OpenHash {
  const { size, extra, found } = collection;
  const stored = size === 0 ? undefined : { size, extra };
  return { collection, nowMs, ...decodeHashExtra(found.place, extra), untilUnknown: false, stored };
}

/**
 * Saves the hash, at most once per opening, and returns `reply`; at once unless the latest deadline
 * has to be looked for. Writes nothing where nothing changed.
 */
export function saveHash<R>(view: WriteView, hash: OpenHash, reply: R): R | Slices<R> {
  if (hash.untilUnknown) return saveLater(view, hash, reply);
  const { collection, stored } = hash;
  const extra = encodeHashExtra(hash);
  if (stored?.size === collection.size && stored.extra.equals(extra)) return reply;
  saveCollection(view, { ...collection, extra });
  return reply;
}

function* saveLater<R>(view: WriteView, hash: OpenHash, reply: R): Slices<R> {
  yield* findLatest(hash);
  saveHash(view, hash, undefined);
  return reply;
}

/** Reads the latest deadline from the index. */
export function* findLatest(hash: OpenHash): Slices<void> {
  const range = elementRange(tags.hashDue, hash.collection.place);
  const [latest] = yield limited(range, LATEST_SLICE, true);
  hash.untilMs = latest === undefined ? 0 : decodeDueMs(latest[0]);
  hash.untilUnknown = false;
}

export function encodingOfHash({ found, extra }: Collection): HashEncoding {
  return decodeHashExtra(found.place, extra).encoding;
}

/** The live field; undefined when it is absent or expired. */
export function getField(view: View, hash: Hash, name: Buffer): Field | undefined {
  const field = findField(view, hash.collection.place, name);
  return field === undefined || isExpired(field, hash.nowMs) ? undefined : field;
}

/**
 * Sets a field; false when it was there. `deadline`: that it gets (milliseconds since 1970, 0: none), or
 * to keep that which it has.
 */
export function setField(
  view: WriteView,
  hash: OpenHash,
  name: Buffer,
  value: Buffer,
  deadline: number | 'keep' = 0,
): boolean {
  const { collection, nowMs } = hash;
  const key = encodeMemberKey(tags.hashField, collection.place, name);
  const before = outlineField(view, key);
  const live = before !== undefined && !isExpired(before, nowMs);
  const keptMs = live ? before.deadlineMs : 0;
  const deadlineMs = deadline === 'keep' ? keptMs : deadline;
  moveDue(view, hash, name, before?.deadlineMs ?? 0, deadlineMs);
  putField(view, key, deadlineMs, value);
  if (before === undefined) collection.size++;
  if (deadlineMs > 0 && hash.encoding === 'listpack') hash.encoding = 'listpackex';
  const fits =
    collection.size <= LISTPACK_SIZE_MAX &&
    name.length <= LISTPACK_BYTES_MAX &&
    value.length <= LISTPACK_BYTES_MAX;
  if (!fits) hash.encoding = 'hashtable';
  return !live;
}

/** Makes ready for `count` fields, as Redis does before setting them. */
export function expectFields(hash: OpenHash, count: number): void {
  if (count > LISTPACK_SIZE_MAX) hash.encoding = 'hashtable';
}

/** False when no live field of that name was there. */
export function deleteField(view: WriteView, hash: OpenHash, name: Buffer): boolean {
  const { collection, nowMs } = hash;
  const key = encodeMemberKey(tags.hashField, collection.place, name);
  const before = outlineField(view, key);
  if (before === undefined) return false;
  moveDue(view, hash, name, before.deadlineMs, 0);
  view.del(key);
  collection.size--;
  return !isExpired(before, nowMs);
}

/** Gives a live field another deadline (0: none), its value untouched. */
export function setFieldDeadline(
  view: WriteView,
  hash: OpenHash,
  name: Buffer,
  field: Field,
  deadlineMs: number,
): void {
  moveDue(view, hash, name, field.deadlineMs, deadlineMs);
  const key = encodeMemberKey(tags.hashField, hash.collection.place, name);
  putField(view, key, deadlineMs, field.value);
  if (deadlineMs > 0 && hash.encoding === 'listpack') hash.encoding = 'listpackex';
}

/** The live fields, with their exact number. */
export function* fieldsOf(hash: Hash): Slices<Members> {
  const { collection, nowMs } = hash;
  const range = elementRange(tags.hashField, collection.place);
  const size = hasDue(hash) ? yield* countFields(hash) : collection.size;
  return { range, size, isLive: (element) => !isExpired(decodeField(element), nowMs) };
}

/** Whether fields may have expired that are still stored. */
export function hasDue({ dueMs, nowMs }: Hash): boolean {
  return dueMs > 0 && dueMs <= nowMs;
}

/** How many fields are live: walks over those that are not. */
export function* countFields({ collection, nowMs }: Hash): Slices<number> {
  let { size } = collection;
  yield* eachSlice(dueRange(collection.place, nowMs), (pairs) => {
    size -= pairs.length;
  });
  return size;
}

/** `element`: a pair of the engine. */
export function decodeField([key, encoded]: KeyValue): Field {
  const flags = encoded[0];
  if (flags === 0) return { deadlineMs: 0, value: encoded.subarray(1) };
  if (flags !== elementFlags.hasDeadline || encoded.length < 9) {
    throw corruptRecord(key, `flags ${flags} of a hash field unknown`);
  }
  return { deadlineMs: readU64(encoded, 1), value: encoded.subarray(9) };
}

function findField(view: View, place: CollectionPlace, name: Buffer): Field | undefined {
  const key = encodeMemberKey(tags.hashField, place, name);
  const encoded = view.get(key);
  return encoded === undefined ? undefined : decodeField([key, encoded]);
}

/** The same for who does not ask for its value: often nothing has to be read then. */
function outlineField(view: WriteView, key: Buffer): Pick<Field, 'deadlineMs'> | undefined {
  const known = view.outline === undefined ? view.get(key) : view.outline(key);
  return Buffer.isBuffer(known) ? decodeField([key, known]) : known;
}

function putField(view: WriteView, key: Buffer, deadlineMs: number, value: Buffer): void {
  const valueAt = deadlineMs > 0 ? 9 : 1;
  const encoded = Buffer.allocUnsafe(valueAt + value.length);
  encoded[0] = deadlineMs > 0 ? elementFlags.hasDeadline : 0;
  if (deadlineMs > 0) writeU64(encoded, deadlineMs, 1);
  copyInto(encoded, value, valueAt);
  view.put(key, encoded);
}

function moveDue(
  view: WriteView,
  hash: OpenHash,
  name: Buffer,
  oldMs: number,
  newMs: number,
): void {
  if (oldMs === newMs) return;
  const { place } = hash.collection;
  if (oldMs > 0) {
    view.del(encodeDueKey(place, oldMs, name));
    hash.expiring--;
    if (oldMs === hash.untilMs) hash.untilUnknown = true;
  }
  if (newMs > 0) {
    view.put(encodeDueKey(place, newMs, name), IN_INDEX);
    hash.expiring++;
    hash.dueMs = hash.dueMs === 0 ? newMs : Math.min(hash.dueMs, newMs);
    if (newMs >= hash.untilMs) hash.untilUnknown = false;
    hash.untilMs = Math.max(hash.untilMs, newMs);
  }
  if (hash.expiring > 0) return;
  hash.dueMs = 0;
  hash.untilMs = 0;
  hash.untilUnknown = false;
}

function isExpired({ deadlineMs }: Pick<Field, 'deadlineMs'>, nowMs: number): boolean {
  return deadlineMs > 0 && deadlineMs <= nowMs;
}
