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
  const reverse = range.reverse === true;
  let rest = range;
  for (let left = count; left > 0; ) {
    const pairs: readonly KeyValue[] = yield limited(rest, left, reverse);
    if (pairs.length === 0) return;
    for (const pair of pairs) {
      if (isGlanceDue(left--)) yield GLANCE;
      if (take(entryOf(pair)) === true) return;
    }
    const end = pairs.at(-1)![0];
    rest = reverse ? { ...rest, lt: end } : { ...rest, gte: keyAfter(end) };
  }
}

/** The first entry of all, or the last. */
export function* edgeEntry(
  stream: Stream,
  edge: 'first' | 'last',
): Slices<StreamEntry | undefined> {
  const range = rangeOfEntries(stream, MIN_STREAM_ID, MAX_STREAM_ID);
  if (range === undefined) return undefined;
  const [pair] = yield limited(range, 1, edge === 'last');
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
    const [next] = yield { ...limited(range, 1), keysOnly: true };
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

/** Removes entries from the beginning, and says how many. */
export function* trimEntries(view: WriteView, stream: OpenStream, trim: Trim): Slices<number> {
  const count = Math.min(trim.count, stream.size);
  const last = trim.before === undefined ? MAX_STREAM_ID : idBefore(trim.before);
  const range = last && rangeOfEntries(stream, MIN_STREAM_ID, last);
  if (range === undefined || count <= 0) return 0;
  // who goes for the sake of its number is known unread
  const found = trim.before === undefined ? count : yield* countKeys(range, count);
  const removed = found === stream.size ? found : found - (found % trim.multiple);
  if (removed === 0) return 0;
  if (removed >= MANY && stream.size - removed < removed) {
    yield* keepRest(view, stream, range, removed);
  } else {
    yield* removeFirst(view, stream, range, removed);
  }
  return removed;
}

function* countKeys(range: KeyRange, countMax: number): Slices<number> {
  let count = 0;
  const keys = { ...limited(range, countMax), keysOnly: true };
  yield* eachSlice(keys, (pairs) => {
    count += pairs.length;
    return count >= countMax;
  });
  return Math.min(count, countMax);
}

/** Calls `each` with the keys of the first `count` entries; the key behind them is returned. */
function* passFirst(
  range: KeyRange,
  count: number,
  each: (key: Buffer) => void,
): Slices<Buffer | undefined> {
  let left = count;
  let rest: KeyRange = { ...range, keysOnly: true };
  for (;;) {
    const pairs: readonly KeyValue[] = yield { ...rest, limit: left + 1 };
    for (const [key] of pairs) {
      if (left-- === 0) return key;
      if (isGlanceDue(left)) yield GLANCE;
      each(key);
    }
    if (pairs.length === 0) return undefined;
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

function* removeFirst(
  view: WriteView,
  stream: OpenStream,
  range: KeyRange,
  count: number,
): Slices<void> {
  const next = yield* passFirst(toTheEnd(stream, range), count, (key) => view.del(key));
  settle(stream, count, next);
}

/** Every replica would hold that many removals in memory: what stays is put down anew instead. */
function* keepRest(
  view: WriteView,
  stream: OpenStream,
  range: KeyRange,
  count: number,
): Slices<void> {
  const next = yield* passFirst(toTheEnd(stream, range), count, () => {});
  settle(stream, count, next);
  yield* copyStream(view, stream, { slot: stream.place.slot, version: view.newVersion() });
}

function toTheEnd({ place }: Stream, range: KeyRange): KeyRange {
  return { ...range, lt: entryRange(place, MIN_STREAM_ID, MAX_STREAM_ID).lt };
}

function settle(stream: OpenStream, removed: number, next: Buffer | undefined): void {
  stream.size -= removed;
  stream.firstId = next === undefined ? MIN_STREAM_ID : decodeIdAtEnd(next);
}
