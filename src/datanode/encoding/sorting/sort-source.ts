/** What SORT sorts: the elements of a list, a set or a sorted set, in the order they are kept in. */
import { slotOfKey } from '../../../common/hash.ts';
import { type KeyRange, limited } from '../../engine/engine.ts';
import type { Collection } from '../collections/collection.ts';
import { findKey } from '../keyspace/keyspace.ts';
import { decodeShape } from '../lists/list.ts';
import { type Walk, walkList } from '../lists/list-walk.ts';
import { decodeMember, elementRange } from '../records/element-key.ts';
import { decodeCollection } from '../records/header.ts';
import { keyAfter } from '../records/key.ts';
import { tags } from '../records/tags.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import type { View } from '../txn/view.ts';

export type SortVisit = (element: Buffer) => void;

export interface SortSource {
  readonly type: 'list' | 'set' | 'zset';
  readonly size: number;
  /** Visits the elements that `walk` says; a sorted set's from the lowest score (`left`) on. */
  readonly walk: (walk: Walk, visit: SortVisit) => Slices<void>;
}

/** The live source under `key`; undefined when absent, `wrong-type` when it has no elements. */
export function readSortSource(
  view: View,
  key: Buffer,
  nowMs: number,
): SortSource | undefined | 'wrong-type' {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (live === undefined) return undefined;
  const { type } = live;
  if (type !== 'list' && type !== 'set' && type !== 'zset') return 'wrong-type';
  const { version, size, extra } = decodeCollection(found.place, live.body);
  const place = { slot: slotOfKey(key), version };
  if (type === 'list') return listSource(view, { found, type, place, size, extra });
  const tag = type === 'set' ? tags.setMember : tags.zsetScore;
  const range = elementRange(tag, place);
  return { type, size, walk: (walk, visit) => walkMembers(range, walk, visit) };
}

function listSource(view: View, collection: Collection): SortSource {
  const { found, extra, size } = collection;
  const list = { shape: decodeShape(found.place, extra, size), ...collection };
  const walk = (walk: Walk, visit: SortVisit) =>
    walkList(view, list, walk, (element) => {
      visit(element);
      return true;
    });
  return { type: 'list', size, walk };
}

function* walkMembers(all: KeyRange, { from, skip, count }: Walk, visit: SortVisit): Slices<void> {
  const reverse = from === 'right';
  const end = skip + count;
  let met = 0;
  let range = all;
  while (met < end) {
    const pairs = yield limited(range, end - met, reverse);
    if (pairs.length === 0) return;
    for (const [key] of pairs) {
      if (isGlanceDue(met)) yield GLANCE;
      if (met++ >= skip) visit(decodeMember(key));
    }
    const last = pairs.at(-1)![0];
    range = reverse ? { ...range, lt: last } : { ...range, gte: keyAfter(last) };
  }
}
