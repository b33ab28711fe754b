/** Streams as a whole: their header. What is in them: stream-entry.ts and what is beside it. */
import { slotOfKey } from '../../../common/hash.ts';
import { collectionOf } from '../collections/collection.ts';
import { type Found, findKey, storeKey } from '../keyspace/keyspace.ts';
import type { CollectionPlace } from '../records/element-key.ts';
import { encodeCollection, type Header } from '../records/header.ts';
import {
  decodeStreamExtra,
  EMPTY_STREAM,
  encodeStreamExtra,
  type StreamExtra,
} from '../records/stream-header.ts';
import type { View, WriteView } from '../txn/view.ts';

/** A stream as a read finds it. */
export interface Stream extends StreamExtra {
  readonly found: Found;
  readonly place: CollectionPlace;
  /** Entries in it. */
  readonly size: number;
}

/** A stream that a write changes; `saveStream` makes the changes its header's. */
export type OpenStream = { -readonly [Column in keyof Stream]: Stream[Column] } & {
  /** Milliseconds since 1970; 0: none. */
  deadlineMs: number;
};

/** The live stream under `key`; undefined when absent, `wrong-type` when it is something else. */
export function readStream(
  view: View,
  key: Buffer,
  nowMs: number,
): Stream | undefined | 'wrong-type' {
  return openFound(findKey(view, key, nowMs));
}

/** The stream whose header is `live`. */
export function streamOf(found: Found, live: Header): OpenStream {
  const { place, size, extra } = collectionOf(found, live, 'stream');
  const columns = decodeStreamExtra(found.place, extra);
  // one by one: to spread them takes as long as all the rest, and every XADD passes here
  return {
    found,
    place,
    size,
    deadlineMs: live.deadlineMs,
    lastId: columns.lastId,
    firstId: columns.firstId,
    maxDeletedId: columns.maxDeletedId,
    entriesAdded: columns.entriesAdded,
    groups: columns.groups,
    nextGroup: columns.nextGroup,
  };
}

/** The same for who changes it. */
export function openStream(
  view: View,
  key: Buffer,
  nowMs: number,
): OpenStream | undefined | 'wrong-type' {
  return openFound(findKey(view, key, nowMs));
}

/** The same of a key that was looked up. */
export function openFound(found: Found): OpenStream | undefined | 'wrong-type' {
  const { live } = found;
  if (live === undefined) return undefined;
  return live.type === 'stream' ? streamOf(found, live) : 'wrong-type';
}

/** An empty one that takes the place of whatever is under the key, once it is saved. */
export function newStream(view: WriteView, found: Found): OpenStream {
  const place = { slot: slotOfKey(found.key), version: view.newVersion() };
  return { found, place, size: 0, deadlineMs: 0, ...EMPTY_STREAM };
}

/** Writes its header, also of one without entries; at most once per opening. */
export function saveStream(view: WriteView, stream: OpenStream): void {
  const { found, place, size, deadlineMs } = stream;
  const extra = encodeStreamExtra(stream);
  const body = encodeCollection({ version: place.version, size, extra });
  storeKey(view, found, { type: 'stream', deadlineMs, origin: 'set', body });
}
