/**
 * Hashes, lists, sets and sorted sets as a whole: the header that says where the elements are and
 * how many. Elements are read and written one by one by the types' own files; whoever changes their
 * number saves the collection afterwards, and one without elements is gone.
 */
import { slotOfKey } from '../../../common/hash.ts';
import { type Found, findKey, giveUpKey, removeKey, storeKey } from '../keyspace/keyspace.ts';
import {
  type CollectionPlace,
  type CollectionType,
  elementRange,
  elementTags,
  isCollectionType,
  movedElementKey,
} from '../records/element-key.ts';
import { decodeCollection, encodeCollection, type Header } from '../records/header.ts';
import { keyAfter } from '../records/key.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';
import { keptValue } from './kept-value.ts';

/** A collection as a read finds it. */
export interface Collection {
  readonly found: Found;
  readonly type: CollectionType;
  readonly place: CollectionPlace;
  readonly size: number;
  /** What the type adds to the header. */
  readonly extra: Buffer;
}

/** A collection that a write changes; `saveCollection` makes size and extra its header's. */
export interface OpenCollection extends Collection {
  size: number;
  extra: Buffer;
  /** Milliseconds since 1970; 0: none. */
  deadlineMs: number;
}

const NOTHING = Buffer.alloc(0);

/** The live collection under `key`; undefined when absent, `wrong-type` when it is something else. */
export function readCollection(
  view: View,
  key: Buffer,
  type: CollectionType,
  nowMs: number,
): Collection | undefined | 'wrong-type' {
  const found = findKey(view, key, nowMs);
  if (found.live === undefined) return undefined;
  return found.live.type === type ? collectionOf(found, found.live, type) : 'wrong-type';
}

/** The collection under `key`, a new and empty one when there is none. */
export function openCollection(
  view: WriteView,
  key: Buffer,
  type: CollectionType,
  nowMs: number,
): OpenCollection | 'wrong-type' {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (live === undefined) return newCollection(view, found, type);
  if (live.type !== type) return 'wrong-type';
  const { place, size, extra } = collectionOf(found, live, type);
  return { found, type, place, size, extra, deadlineMs: live.deadlineMs };
}

/** An empty collection that takes the place of whatever is under the key, once it is saved. */
export function newCollection(view: WriteView, found: Found, type: CollectionType): OpenCollection {
  const place = { slot: slotOfKey(found.key), version: view.newVersion() };
  return { found, type, place, size: 0, extra: NOTHING, deadlineMs: 0 };
}

/**
 * Writes the header with the size and extra of now; at most once per opening. With size 0 the key
 * is deleted, whether its last element was removed or a new collection never got one.
 */
export function saveCollection(view: WriteView, collection: OpenCollection): void {
  const { found, type, place, size, extra, deadlineMs } = collection;
  if (size === 0) {
    if (found.live !== undefined && holds(found.live, collection))
      giveUpKey(view, found, found.live);
    else removeKey(view, found);
    return;
  }
  const body = encodeCollection({ version: place.version, size, extra });
  storeKey(view, found, { type, deadlineMs, origin: 'set', body });
}

/**
 * Puts `live`, the value of another key, under `target`'s key: with its elements copied unless
 * `source` is given up and in the same slot, which costs O(1). Reads the elements in slices.
 */
export function* placeValue(
  view: WriteView,
  target: Found,
  live: Header,
  source: { readonly key: Buffer; readonly givenUp: boolean },
): Slices<void> {
  const slot = slotOfKey(target.key);
  const from = slotOfKey(source.key);
  if (!isCollectionType(live.type) || (source.givenUp && slot === from)) {
    storeKey(view, target, live);
    return;
  }
  const header = decodeCollection(target.place, live.body);
  const to = { slot, version: view.newVersion() };
  yield* copyElements(view, live.type, { slot: from, version: header.version }, to);
  const body = encodeCollection({ ...header, version: to.version });
  storeKey(view, target, { ...live, body });
}

/** True when `live` is this collection's header: its elements were removed one by one. */
function holds(live: Header, { found, type, place }: OpenCollection): boolean {
  if (live.type !== type) return false;
  const { version } = decodeCollection(found.place, live.body);
  return version.index === place.version.index && version.ordinal === place.version.ordinal;
}

/** The collection of that type whose header is `live`. */
export function collectionOf(found: Found, live: Header, type: CollectionType): Collection {
  const { version, size, extra } = decodeCollection(found.place, live.body);
  return { found, type, place: { slot: slotOfKey(found.key), version }, size, extra };
}

function* copyElements(
  view: WriteView,
  type: CollectionType,
  from: CollectionPlace,
  to: CollectionPlace,
): Slices<void> {
  for (const tag of elementTags[type]) {
    let range = elementRange(tag, from);
    let met = 0;
    for (let pairs = yield range; pairs.length > 0; pairs = yield range) {
      for (const [key, value] of pairs) {
        if (isGlanceDue(++met)) yield GLANCE;
        view.put(movedElementKey(key, to), keptValue(value));
      }
      range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
    }
  }
}
