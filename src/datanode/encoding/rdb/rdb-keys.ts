/**
 * Keys with their deadlines and values as they stand in an RDB file, in the order in which they are
 * stored. Only what ranges tell is asked for, so a state that is merely iterated will do, and no value
 * has to be in memory as a whole but a string.
 */
import type { KeyRange, KeyValue } from '../../engine/engine.ts';
import { eachSlice } from '../collections/member-walk.ts';
import { type Found, fieldsDueMsOf, isExpired } from '../keyspace/keyspace.ts';
import { dueRange, isCollectionType } from '../records/element-key.ts';
import { decodeCollection, decodeHeader, type Header } from '../records/header.ts';
import { decodeKey, keyAfter, recordRange } from '../records/key.ts';
import { corruptRecord } from '../records/record.ts';
import { tags } from '../records/tags.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import { streamOf } from '../streams/stream.ts';
import {
  type DumpedType,
  encodeRdbHead,
  encodeRdbString,
  encodeRdbTime,
  rdbTypeByte,
} from './rdb-elements.ts';
import { rdbOpcodes } from './rdb-frame.ts';
import { encodeRdbJson, RDB_JSON_TYPE_BYTE } from './rdb-json-dump.ts';
import { type RdbParts, writeStream } from './rdb-stream-dump.ts';
import { earliestDeadline, placeOf, walkEncoded } from './rdb-walk.ts';

/** What has been written. */
export interface WrittenKeys {
  keys: number;
  expires: number;
}

/** Where something stands if some hash has fields with deadlines: only Redis 7.4 and later read these. */
export const FIELD_DEADLINES: KeyRange = {
  gte: Buffer.from([tags.fieldExpiry]),
  lt: Buffer.from([tags.fieldExpiry + 1]),
  limit: 1,
};

const EXPIRES = Buffer.of(rdbOpcodes.expiresMs);

/** Those that have expired by `nowMs` are left out. `written` is kept while it goes on. */
export function* writeKeys(to: RdbParts, nowMs: number, written: WrittenKeys): Slices<void> {
  let met = 0;
  let range = recordRange();
  for (let pairs = yield range; pairs.length > 0; pairs = yield range) {
    for (const pair of pairs) {
      if (isGlanceDue(++met)) yield GLANCE;
      yield* writeKey(to, pair, nowMs, written);
    }
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

function* writeKey(
  to: RdbParts,
  [place, value]: KeyValue,
  nowMs: number,
  written: WrittenKeys,
): Slices<void> {
  const live = decodeHeader(place, value);
  if (isExpired(place, live, nowMs)) return;
  const found: Found = { key: decodeKey(place).key, place, stored: live, live };
  const size = yield* liveSize(found, live, nowMs);
  if (size === 0 && live.type !== 'stream') return;
  written.keys++;
  if (live.deadlineMs > 0) {
    written.expires++;
    to.add(EXPIRES, encodeRdbTime(live.deadlineMs));
  }
  if (live.type === 'stream') return yield* writeStream(streamOf(found, live), to);
  if (isCollectionType(live.type)) {
    return yield* writeElements(to, found, live, live.type, { size, nowMs });
  }
  if (live.type === 'json') {
    to.add(RDB_JSON_TYPE_BYTE, ...encodeRdbString(found.key), ...encodeRdbJson(live.body));
    return;
  }
  to.add(rdbTypeByte('string'), ...encodeRdbString(found.key), ...encodeRdbString(live.body));
}

/** How many elements will be written; of a string one. */
function* liveSize(found: Found, live: Header, nowMs: number): Slices<number> {
  if (!isCollectionType(live.type)) return 1;
  let { size } = decodeCollection(found.place, live.body);
  if (fieldsDueMsOf(found.place, live) === 0) return size;
  yield* eachSlice(dueRange(placeOf(found, live), nowMs), (due) => {
    size -= due.length;
  });
  return size;
}

interface Extent {
  readonly size: number;
  readonly nowMs: number;
}

function* writeElements(
  to: RdbParts,
  found: Found,
  live: Header,
  type: DumpedType,
  { size, nowMs }: Extent,
): Slices<void> {
  const earliestMs = type === 'hash' ? yield* earliestDeadline(found, live, nowMs) : undefined;
  const [typeByte, ...head] = encodeRdbHead(type, size, earliestMs);
  to.add(typeByte!, ...encodeRdbString(found.key), ...head);
  let left = size;
  yield* walkEncoded(placeOf(found, live), type, { nowMs, earliestMs }, ({ count, bytes }) => {
    left -= count;
    to.add(bytes);
  });
  // a reader would take what follows for elements that are not there
  if (left !== 0)
    throw corruptRecord(found.place, `it has ${size - left} elements, and says ${size}`);
}
