/**
 * What a watch has to know of a key beside its name, from one look at its record. Whatever changes
 * the record breaks the watch, and so does the time alone when a deadline passes: as long as the
 * watch holds, what was read when it began is what is stored.
 */
import { decodeCollection, decodeHeader, type Header } from '../encoding/header.ts';
import { elementsName } from '../encoding/key-name.ts';
import { fieldsDueMsOf, goneMsOf } from '../encoding/keyspace.ts';
import type { View } from '../encoding/view.ts';

export interface WatchedRecord {
  /** It had expired, but is stored yet. */
  readonly expired: boolean;
  /** When something goes that was there: the key, or fields of a hash; infinite: never. */
  readonly breaksMs: number;
  /** The name of its elements, if it is a collection. */
  readonly elements: string | undefined;
}

const NEVER = Number.POSITIVE_INFINITY;
const ABSENT: WatchedRecord = { expired: false, breaksMs: NEVER, elements: undefined };

/** Of the record at `place`, that of `key`, by the time `nowMs`. */
export function lookAtWatched(
  view: View,
  key: Buffer,
  place: Buffer,
  nowMs: number,
): WatchedRecord {
  const record = view.get(place);
  if (record === undefined) return ABSENT;
  const header = decodeHeader(place, record);
  const goneMs = goneMsOf(place, header);
  const expired = goneMs <= nowMs;
  let elements: string | undefined;
  if (header.type !== 'string') {
    elements = elementsName(key, decodeCollection(place, header.body).version);
  }
  if (expired) return { expired, breaksMs: NEVER, elements };
  return { expired, breaksMs: Math.min(goneMs, nextFieldMs(place, header, nowMs)), elements };
}

/**
 * Fields that are due are deleted soon, before anybody reads the hash, which is a change like any
 * other: those that expire behind others are told by that.
 */
function nextFieldMs(place: Buffer, header: Header, nowMs: number): number {
  const dueMs = fieldsDueMsOf(place, header);
  return dueMs > nowMs ? dueMs : NEVER;
}
