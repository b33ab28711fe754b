/**
 * What a watch has to know of a key beside its name, from one look at its record. Whatever changes
 * the record breaks the watch, and so does the time alone when a deadline passes: as long as the
 * watch holds, what was read when it began is what is stored.
 */

import { fieldsDueMsOf, goneMsOf } from '../../encoding/keyspace/keyspace.ts';
import { isCollectionType } from '../../encoding/records/element-key.ts';
import { decodeCollection, decodeHeader } from '../../encoding/records/header.ts';
import { elementsName } from '../../encoding/records/key-name.ts';
import type { View } from '../../encoding/txn/view.ts';

export interface WatchedRecord {
  /** It had expired, but is stored yet. */
  readonly expired: boolean;
  /** When something goes that was there: the key, or fields of a hash; infinite: never. */
  readonly breaksMs: number;
  /** Fields that are due hide when the next one is: who reads the hash beside them may see it go. */
  readonly hides: boolean;
  /** The name of its elements, if it is a collection. */
  readonly elements: string | undefined;
}

const NEVER = Number.POSITIVE_INFINITY;
const ABSENT: WatchedRecord = {
  expired: false,
  breaksMs: NEVER,
  hides: false,
  elements: undefined,
};

/**
 * Of the record at `place`, that of `key`, by the time `nowMs`. Fields that are due are deleted soon,
 * mostly before anybody reads the hash, which is a change like any other: those that expire behind others are
 * told by that.
 */
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
  if (isCollectionType(header.type)) {
    elements = elementsName(key, decodeCollection(place, header.body).version);
  }
  if (expired) return { ...ABSENT, expired, elements };
  const dueMs = fieldsDueMsOf(place, header);
  const hides = dueMs > 0 && dueMs <= nowMs;
  return { expired, breaksMs: dueMs > nowMs ? Math.min(goneMs, dueMs) : goneMs, hides, elements };
}
