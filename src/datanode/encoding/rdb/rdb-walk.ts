/**
 * The elements of a stored collection as they stand in a DUMP, slice by slice: for who puts them together
 * in memory, and for who writes them out as they come.
 */
import { slotOfKey } from '../../../common/hash.ts';
import { limited } from '../../engine/engine.ts';
import type { Take } from '../collections/member-walk.ts';
import type { Found } from '../keyspace/keyspace.ts';
import {
  type CollectionPlace,
  decodeDueMs,
  dueRange,
  elementRange,
} from '../records/element-key.ts';
import { hasDeadlines } from '../records/hash-header.ts';
import { decodeCollection, type Header } from '../records/header.ts';
import { keyAfter } from '../records/key.ts';
import { tags } from '../records/tags.ts';
import type { Slices } from '../steps/slices.ts';
import { type DumpedType, type DumpTimes, dumpedTags, encodeRdbElement } from './rdb-elements.ts';

/** Of several elements: one copy, not the pairs that they are part of. */
export interface EncodedElements {
  readonly count: number;
  readonly bytes: Buffer;
}

/** Elements that have expired are left out. */
export function* walkEncoded(
  place: CollectionPlace,
  type: DumpedType,
  times: DumpTimes,
  take: Take<EncodedElements>,
): Slices<void> {
  let range = elementRange(dumpedTags[type], place);
  for (let pairs = yield range; pairs.length > 0; pairs = yield range) {
    const elements = pairs.map((pair) => encodeRdbElement(type, pair, times));
    const count = elements.filter(({ length }) => length > 0).length;
    if (take({ count, bytes: Buffer.concat(elements.flat()) }) === true) return;
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

/** Where the elements of the collection are whose header is `live`. */
export function placeOf({ key, place }: Found, live: Header): CollectionPlace {
  return { slot: slotOfKey(key), version: decodeCollection(place, live.body).version };
}

/** When the first field of a hash expires that has not yet; undefined: none ever does. */
export function* earliestDeadline(
  found: Found,
  live: Header,
  nowMs: number,
): Slices<number | undefined> {
  if (!hasDeadlines(decodeCollection(found.place, live.body).extra.length)) return undefined;
  const place = placeOf(found, live);
  const later = elementRange(tags.hashDue, place);
  const [next] = yield limited({ ...later, gte: dueRange(place, nowMs).lt }, 1);
  return next && decodeDueMs(next[0]);
}
