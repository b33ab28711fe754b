/**
 * Sets: one element per member, with nothing in its value but the flags byte (0).
 *
 * What a set adds to its header, frozen: encoding u8, the one that Redis 7.2 would use (0 intset ·
 * 1 listpack · 2 hashtable). It never goes back while the key lives. It says nothing about how the
 * members are stored here.
 */
import type { KeyValue } from '../../engine/engine.ts';
import {
  type Collection,
  newCollection,
  type OpenCollection,
  openCollection,
  readCollection,
  saveCollection,
} from '../collections/collection.ts';
import type { Members } from '../collections/member-walk.ts';
import type { Found } from '../keyspace/keyspace.ts';
import {
  decodeMember,
  elementRange,
  encodeMemberKey,
  movedElementKey,
} from '../records/element-key.ts';
import { corruptRecord } from '../records/record.ts';
import { tags } from '../records/tags.ts';
import { parseInteger } from '../strings/string.ts';
import type { View, WriteView } from '../txn/view.ts';

export type SetEncoding = 'intset' | 'listpack' | 'hashtable';

/** A set that a write changes; `saveSet` makes the changes its header's. */
export interface OpenSet {
  readonly collection: OpenCollection;
  /** Undefined: a new set, which is encoded for the first member it gets. */
  encoding: SetEncoding | undefined;
  /** What its header says; undefined while it has none. */
  readonly stored: { readonly size: number; readonly encoding: SetEncoding } | undefined;
}

const encodings: readonly SetEncoding[] = ['intset', 'listpack', 'hashtable'];
const INTSET_SIZE_MAX = 512;
const LISTPACK_SIZE_MAX = 128;
const LISTPACK_MEMBER_BYTES_MAX = 64;
const FLAGS = Buffer.from([0]);

export function readSet(
  view: View,
  key: Buffer,
  nowMs: number,
): Collection | undefined | 'wrong-type' {
  return readCollection(view, key, 'set', nowMs);
}

export function hasMember(view: View, set: Collection, member: Buffer): boolean {
  return isThere(view, encodeMemberKey(tags.setMember, set.place, member));
}

/** All members. */
export function membersOf({ place, size }: Collection): Members {
  return { range: elementRange(tags.setMember, place), size, isLive: isMember };
}

function isThere(view: View, key: Buffer): boolean {
  const value = view.get(key);
  return value !== undefined && isMember([key, value]);
}

function isMember([key, value]: KeyValue): boolean {
  if (value.length === 1 && value[0] === 0) return true;
  throw corruptRecord(key, 'the flags of a set member unknown');
}

export { decodeMember };

/** The set under `key`, a new and empty one when there is none. */
export function openSet(view: WriteView, key: Buffer, nowMs: number): OpenSet | 'wrong-type' {
  const collection = openCollection(view, key, 'set', nowMs);
  return collection === 'wrong-type' ? collection : opened(collection);
}

/** The same for a set that was read. */
export function reopenSet(set: Collection): OpenSet {
  return opened({ deadlineMs: set.found.live?.deadlineMs ?? 0, ...set });
}

/** An empty set that takes the place of whatever is under the key, once it is saved. */
export function newSet(view: WriteView, found: Found): OpenSet {
  return opened(newCollection(view, found, 'set'));
}

function opened(collection: OpenCollection): OpenSet {
  const { size } = collection;
  if (size === 0) return { collection, encoding: undefined, stored: undefined };
  const encoding = encodingOfSet(collection);
  return { collection, encoding, stored: { size, encoding } };
}

/** Makes ready for `count` members of which `first` is the first, as Redis does before adding. */
export function expectMembers(set: OpenSet, first: Buffer, count: number): void {
  const { encoding } = set;
  if (encoding === undefined) set.encoding = firstEncoding(first, count);
  else if (encoding === 'listpack' && count > LISTPACK_SIZE_MAX) set.encoding = 'hashtable';
  else if (encoding === 'intset' && count > INTSET_SIZE_MAX) set.encoding = 'hashtable';
}

/** False when it is there. */
export function addMember(view: WriteView, set: OpenSet, member: Buffer): boolean {
  const { collection } = set;
  const key = encodeMemberKey(tags.setMember, collection.place, member);
  if (isThere(view, key)) return false;
  view.put(key, FLAGS);
  const encoding = set.encoding ?? firstEncoding(member, 1);
  set.encoding = encodingWith(encoding, collection.size, member);
  collection.size++;
  return true;
}

/** False when it is not there. */
export function removeMember(view: WriteView, { collection }: OpenSet, member: Buffer): boolean {
  const key = encodeMemberKey(tags.setMember, collection.place, member);
  if (!isThere(view, key)) return false;
  view.del(key);
  collection.size--;
  return true;
}

/** Removes the member that is there under `key`, its engine key, as a walk over the set has found it. */
export function dropMember(view: WriteView, { collection }: OpenSet, key: Buffer): void {
  view.del(key);
  collection.size--;
}

/** Adds the member under `key`, an engine key of another set, which is not there. */
export function adoptMember(view: WriteView, { collection }: OpenSet, key: Buffer): void {
  view.put(movedElementKey(key, collection.place), FLAGS);
  collection.size++;
}

/** At most once per opening; writes nothing where nothing changed. */
export function saveSet(view: WriteView, { collection, encoding, stored }: OpenSet): void {
  if (stored?.size === collection.size && stored.encoding === encoding) return;
  const number = encodings.indexOf(encoding ?? 'intset');
  saveCollection(view, { ...collection, extra: Buffer.from([number]) });
}

export function encodingOfSet({ found, extra }: Collection): SetEncoding {
  const encoding = encodings[extra[0] ?? 0];
  if (encoding === undefined) throw corruptRecord(found.place, `set encoding ${extra[0]} unknown`);
  return encoding;
}

/** The encoding of a new set of these members, whatever the order they come in. */
export function encodingOfMembers(members: Iterable<Buffer>): SetEncoding {
  let encoding: SetEncoding | undefined;
  let size = 0;
  for (const member of members) {
    encoding = encodingWith(encoding ?? firstEncoding(member, 1), size++, member);
    if (encoding === 'hashtable') break;
  }
  return encoding ?? 'intset';
}

function firstEncoding(first: Buffer, count: number): SetEncoding {
  if (parseInteger(first) !== undefined && count <= INTSET_SIZE_MAX) return 'intset';
  return count <= LISTPACK_SIZE_MAX ? 'listpack' : 'hashtable';
}

function encodingWith(encoding: SetEncoding, size: number, member: Buffer): SetEncoding {
  if (encoding === 'hashtable') return encoding;
  if (encoding === 'intset' && parseInteger(member) !== undefined) {
    return size < INTSET_SIZE_MAX ? 'intset' : 'hashtable';
  }
  const fits = size < LISTPACK_SIZE_MAX && member.length <= LISTPACK_MEMBER_BYTES_MAX;
  return fits ? 'listpack' : 'hashtable';
}
