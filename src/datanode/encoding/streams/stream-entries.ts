/**
 * Entries of a stream: how they are added, walked over and removed. Whoever changes a stream here saves it
 * afterwards (`saveStream`).
 */
import { type KeyRange, type KeyValue, limited } from '../../engine/engine.ts';
import { eachSlice, type Take } from '../collections/member-walk.ts';
import { keyAfter } from '../records/key.ts';
import { idBefore, MAX_STREAM_ID, MIN_STREAM_ID, type StreamId } from '../records/stream-id.ts';
import { decodeIdAtEnd, encodeEntryKey, entryRange } from '../records/stream-key.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';
import type { OpenStream, Stream } from './stream.ts';
import { copyStream } from './stream-copy.ts';
import { oneMore } from './stream-count.ts';
import { decodeEntry, type EntryFields, encodeEntry } from './stream-entry.ts';

export interface StreamEntry {
  readonly id: StreamId;
  readonly fields: EntryFields;
}

/** Adds an entry behind all there are: `id` is greater than the last. */
export function appendEntry(
  view: WriteView,
  stream: OpenStream,
  id: StreamId,
  fields: EntryFields,
): void {
  view.put(encodeEntryKey(stream.place, id), encodeEntry(fields));
  if (stream.size === 0) stream.firstId = id;
  stream.size++;
  stream.entriesAdded = oneMore(stream.entriesAdded);
  stream.lastId = id;
}

/** The fields of one entry; undefined when it is not there. */
export function readEntry(view: View, stream: Stream, id: StreamId): EntryFields | undefined {
  if (stream.size === 0) return undefined;
  const key = encodeEntryKey(stream.place, id);
  const value = view.get(key);
  return value === undefined ? undefined : decodeEntry(key, value);
}

export function hasEntry(view: View, stream: Stream, id: StreamId): boolean {
  return stream.size > 0 && view.get(encodeEntryKey(stream.place, id)) !== undefined;
}

/** An entry as the engine gives it. */
export function entryOf([key, value]: KeyValue): StreamEntry {
  return { id: decodeIdAtEnd(key), fields: decodeEntry(key, value) };
}

/**
 * Where entries with IDs from `first` to `last` are, both of them as well; undefined: nowhere. It begins at
 * the first entry there is: what was removed before it is passed over in LevelDB at great cost.
 */
export function rangeOfEntries(
  stream: Stream,
  first: StreamId,
  last: StreamId,
  reverse = false,
): KeyRange | undefined {
  if (stream.size === 0) return undefined;
  const from = Buffer.compare(first, stream.firstId) < 0 ? stream.firstId : first;
  if (Buffer.compare(from, last) > 0) return undefined;
  return { ...entryRange(stream.place, from, last), reverse };
}

/** Up to `count` entries of `range`, in its order; true ends the walk. */
export function* walkEntries(
  range: KeyRange | undefined,
  count: number,
  take: Take<StreamEntry>,
): Slices<void> {
  if (range === undefined) return;
  let rest = range;
  for (let left = count; left > 0; ) {
    const pairs: readonly KeyValue[] = yield limited(rest, left);
    if (pairs.length === 0) return;
    for (const pair of pairs) {
      if (isGlanceDue(left--)) yield GLANCE;
      if (take(entryOf(pair)) === true) return;
    }
    rest = restOf(rest, pairs);
  }
}

/** The first entry of all, or the last. */
export function* edgeEntry(
  stream: Stream,
  edge: 'first' | 'last',
): Slices<StreamEntry | undefined> {
  if (stream.size === 0) return undefined;
  const [pair] = yield limited(wholeRange(stream), 1, edge === 'last');
  return pair && entryOf(pair);
}

/**
 * Removes an entry; false when it is not there. Whoever has removed some calls `findFirst` before the
 * stream is saved, or read again.
 */
export function deleteEntry(view: WriteView, stream: OpenStream, id: StreamId): boolean {
  if (stream.size === 0) return false;
  const key = encodeEntryKey(stream.place, id);
  if (view.get(key) === undefined) return false;
  view.del(key);
  stream.size--;
  if (Buffer.compare(id, stream.maxDeletedId) > 0) stream.maxDeletedId = id;
  return true;
}

/** Makes the header's first ID true again once entries were removed. */
export function* findFirst(view: View, stream: OpenStream): Slices<void> {
  if (stream.size === 0) stream.firstId = MIN_STREAM_ID;
  else if (view.get(encodeEntryKey(stream.place, stream.firstId)) === undefined) {
    const range = entryRange(stream.place, stream.firstId, MAX_STREAM_ID);
    const [next] = yield limited(range, 1);
    if (next !== undefined) stream.firstId = decodeIdAtEnd(next[0]);
  }
}

/** What of its beginning a stream gives up. */
export interface Trim {
  /** Entries before this ID; undefined: any. */
  readonly before: StreamId | undefined;
  /** As many at most. */
  readonly count: number;
  /** Only whole multiples of it are removed, or all there is: 1, or what Redis keeps in a node. */
  readonly multiple: number;
}

/** From here on elements are not removed one by one where fewer stay than go. */
export const MANY = 16_384;

/** How many of the first entries a trim is about. */
export function* countTrimmed(stream: Stream, trim: Trim): Slices<number> {
  const found = yield* countBefore(stream, trim.before, Math.min(trim.count, stream.size));
  return found === stream.size ? found : found - (found % trim.multiple);
}

/** Removes entries from the beginning, and says how many. */
export function* trimEntries(view: WriteView, stream: OpenStream, trim: Trim): Slices<number> {
  const removed = yield* countTrimmed(stream, trim);
  if (removed === 0) return 0;
  if (removed >= MANY && stream.size - removed < removed) yield* keepLast(view, stream, removed);
  else yield* removeFirst(view, stream, removed);
  return removed;
}

/** How many of the first `countMax` entries, which are there, are before an ID; undefined: all. */
function* countBefore(
  stream: Stream,
  before: StreamId | undefined,
  countMax: number,
): Slices<number> {
  if (countMax <= 0) return 0;
  // what is known unread
  if (before === undefined || Buffer.compare(before, stream.lastId) > 0) return countMax;
  const last = idBefore(before);
  const range = last && rangeOfEntries(stream, MIN_STREAM_ID, last);
  if (range === undefined) return 0;
  let count = 0;
  yield* eachSlice(limited(range, countMax), (pairs) => {
    count += pairs.length;
    return count >= countMax;
  });
  return Math.min(count, countMax);
}

/** Deletes the first `count` entries, which are there, one by one. */
function* removeFirst(view: WriteView, stream: OpenStream, count: number): Slices<void> {
  const next = yield* keyBehind(wholeRange(stream), count, (key) => view.del(key));
  settle(stream, count, next);
}

/** Every replica would hold that many removals in memory: what stays is put down anew instead. */
function* keepLast(view: WriteView, stream: OpenStream, removed: number): Slices<void> {
  const stays = stream.size - removed;
  const backwards = { ...wholeRange(stream), reverse: true };
  const first = stays === 0 ? undefined : yield* keyBehind(backwards, stays - 1, () => {});
  settle(stream, removed, first);
  yield* copyStream(view, stream, { slot: stream.place.slot, version: view.newVersion() });
}

/** Calls `each` with the first `count` keys of a range, and returns the next; undefined: there is none. */
function* keyBehind(
  range: KeyRange,
  count: number,
  each: (key: Buffer) => void,
): Slices<Buffer | undefined> {
  let left = count;
  let rest = range;
  for (;;) {
    const pairs: readonly KeyValue[] = yield limited(rest, left + 1);
    if (pairs.length === 0) return undefined;
    for (const [key] of pairs) {
      if (left-- === 0) return key;
      if (isGlanceDue(left)) yield GLANCE;
      each(key);
    }
    rest = restOf(rest, pairs);
  }
}

/** What of a range is behind the pairs that were read of it. */
export function restOf(range: KeyRange, pairs: readonly KeyValue[]): KeyRange {
  const end = pairs.at(-1)![0];
  return range.reverse === true ? { ...range, lt: end } : { ...range, gte: keyAfter(end) };
}

function wholeRange({ place, firstId }: Stream): KeyRange {
  return entryRange(place, firstId, MAX_STREAM_ID);
}

/** `first`: the key of the first entry that stays. */
function settle(stream: OpenStream, removed: number, first: Buffer | undefined): void {
  stream.size -= removed;
  stream.firstId = first === undefined ? MIN_STREAM_ID : decodeIdAtEnd(first);
}
