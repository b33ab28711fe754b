/**
 * Key records with all that hangs on them: the expiry indexes and the key counts change in the same
 * step as the record, so they agree after every command. A record whose deadline has passed is
 * absent for every command; a write replaces it, the leader's expiry entries delete it.
 */

import { slotOfKey } from '../../../common/hash.ts';
import { isCollectionType } from '../records/element-key.ts';
import { decodeDeadlines, hasDeadlines } from '../records/hash-header.ts';
import {
  decodeCollection,
  decodeHeader,
  encodeHeader,
  extraBytes,
  type Header,
  isSameCollection,
  type PlainString,
  valueTypes,
} from '../records/header.ts';
import { encodeExpiryKey, encodeKey } from '../records/key.ts';
import { tags } from '../records/tags.ts';
import type { View, WriteView } from '../txn/view.ts';
import { encodeGarbageKey } from './garbage.ts';

/** One user key as a command finds it that need not know what a string holds. */
export interface Outline {
  readonly key: Buffer;
  /** The engine key of its record. */
  readonly place: Buffer;
  /** What the engine holds, expired or not. */
  readonly stored: Header | PlainString | undefined;
  /** The same unless expired. */
  readonly live: Header | PlainString | undefined;
}

/** The same with all of it. */
export interface Found extends Outline {
  readonly stored: Header | undefined;
  readonly live: Header | undefined;
}

const IN_INDEX = Buffer.from([0]);

export function findKey(view: View, key: Buffer, nowMs: number): Found {
  const place = encodeKey(key);
  const value = view.get(place);
  const stored = value === undefined ? undefined : decodeHeader(place, value);
  const live = stored === undefined || isExpired(place, stored, nowMs) ? undefined : stored;
  const { lookups } = view;
  if (lookups !== undefined) {
    if (live === undefined) lookups.misses++;
    else lookups.hits++;
  }
  return { key, place, stored, live };
}

/** As `findKey`, for who replaces or removes whatever is there: often nothing has to be read then. */
export function outlineKey(view: WriteView, key: Buffer, nowMs: number): Outline {
  const place = encodeKey(key);
  const value = view.outline === undefined ? view.get(place) : view.outline(place);
  const stored = Buffer.isBuffer(value) ? decodeHeader(place, value) : value;
  const live = stored === undefined || isExpired(place, stored, nowMs) ? undefined : stored;
  return { key, place, stored, live };
}

/** Its deadline has passed, or it is a hash and those of all its fields have. */
export function isExpired(place: Buffer, header: Header | PlainString, nowMs: number): boolean {
  const { deadlineMs } = header;
  if (deadlineMs > 0 && deadlineMs <= nowMs) return true;
  const fieldsMs = fieldsUntilMsOf(place, header);
  return fieldsMs > 0 && fieldsMs <= nowMs;
}

/** From when on it is expired, as `isExpired` has it; infinite: never. */
export function goneMsOf(place: Buffer, header: Header): number {
  const never = Number.POSITIVE_INFINITY;
  return Math.min(header.deadlineMs || never, fieldsUntilMsOf(place, header) || never);
}

/** Puts `header` in the place of whatever is stored under the key. */
export function storeKey(view: WriteView, found: Outline, header: Header): void {
  const before = found.stored;
  if (before !== undefined) leaveElements(view, found, before, header);
  const oldMs = before?.deadlineMs ?? 0;
  if (found.live === undefined) {
    notifyExpired(view, found);
    view.notify?.('new', 'new', found.key);
  }
  moveDeadline(view, found.key, oldMs, header.deadlineMs);
  moveFieldsDue(view, found, before, header);
  view.put(found.place, encodeHeader(header));
  view.addCounts(before ? 0 : 1, hasDeadline(header.deadlineMs) - hasDeadline(oldMs));
}

/** Deletes the record; false when none is stored that a command could see. */
export function removeKey(view: WriteView, found: Outline): boolean {
  const { stored } = found;
  if (stored === undefined) return false;
  leaveElements(view, found, stored, undefined);
  return dropKey(view, found, stored);
}

/** Deletes the record of a live key whose value, elements and all, goes on under another key. */
export function giveUpKey(view: WriteView, found: Found, live: Header): void {
  dropKey(view, found, live);
}

function dropKey(view: WriteView, found: Outline, stored: Header | PlainString): boolean {
  moveDeadline(view, found.key, stored.deadlineMs, 0);
  moveFieldsDue(view, found, stored, undefined);
  view.del(found.place);
  notifyExpired(view, found);
  view.addCounts(-1, -hasDeadline(stored.deadlineMs));
  return found.live !== undefined;
}

/** Gives a live key another deadline (0: none), its value untouched. */
export function setDeadline(view: WriteView, found: Found, live: Header, deadlineMs: number): void {
  if (live.deadlineMs !== deadlineMs) storeKey(view, found, { ...live, deadlineMs });
}

/** What is stored had expired, and goes now: the key, or the last fields of a hash. */
function notifyExpired(view: WriteView, { key, place, stored, live }: Outline): void {
  if (view.notify === undefined || stored === undefined || live !== undefined) return;
  const fieldsMs = fieldsUntilMsOf(place, stored);
  if (fieldsMs === 0 || (stored.deadlineMs > 0 && stored.deadlineMs <= fieldsMs)) {
    view.notify('expired', 'expired', key);
    return;
  }
  view.notify('hash', 'hexpired', key);
  view.notify('generic', 'del', key);
}

function moveDeadline(view: WriteView, key: Buffer, oldMs: number, newMs: number): void {
  if (oldMs === newMs) return;
  if (oldMs > 0) view.del(encodeExpiryKey(oldMs, key));
  if (newMs > 0) view.put(encodeExpiryKey(newMs, key), IN_INDEX);
}

/** The same for the earliest fields of a hash that are due. */
function moveFieldsDue(
  view: WriteView,
  { key, place }: Outline,
  before: Header | PlainString | undefined,
  after: Header | undefined,
): void {
  const oldMs = fieldsDueMsOf(place, before);
  const newMs = fieldsDueMsOf(place, after);
  if (oldMs === newMs) return;
  if (oldMs > 0) view.del(encodeExpiryKey(oldMs, key, tags.fieldExpiry));
  if (newMs > 0) view.put(encodeExpiryKey(newMs, key, tags.fieldExpiry), IN_INDEX);
}

/** No field of a hash expires before; 0: none ever does, or no hash. */
export function fieldsDueMsOf(place: Buffer, header: Header | PlainString | undefined): number {
  if (header?.type !== 'hash' || !hasDeadlines(extraBytes(place, header.body))) return 0;
  return decodeDeadlines(place, decodeCollection(place, header.body).extra).dueMs;
}

/** When the last field of a hash goes; 0: never, or no hash. */
function fieldsUntilMsOf(place: Buffer, header: Header | PlainString): number {
  if (header.type !== 'hash' || !hasDeadlines(extraBytes(place, header.body))) return 0;
  const { size, extra } = decodeCollection(place, header.body);
  const { expiring, untilMs } = decodeDeadlines(place, extra);
  return expiring > 0 && expiring === size ? untilMs : 0;
}

function hasDeadline(deadlineMs: number): number {
  return deadlineMs > 0 ? 1 : 0;
}

/** The collection `before` ends here, unless `after` is the same one: its elements are garbage. */
function leaveElements(
  view: WriteView,
  { key, place }: Outline,
  before: Header | PlainString,
  after: Header | undefined,
): void {
  // most writes replace a string
  if (before.type === 'string' || !isCollectionType(before.type)) return;
  const goesOn = after?.type === before.type && isSameCollection(place, before.body, after.body);
  if (goesOn) return;
  const { version } = decodeCollection(place, before.body);
  const garbage = { slot: slotOfKey(key), version, type: valueTypes[before.type] };
  view.put(encodeGarbageKey(garbage), IN_INDEX);
}
