/**
 * Members that are removed all at once. Of a large set that loses most of them what is left is put down
 * anew, as another set under the same key, and what was there becomes garbage, as of a sorted set
 * (`zsets/zset-removal.ts`): every replica holds a deletion for each member in memory until all are written.
 */
import type { SteadyList } from '../../../common/steady-list.ts';
import type { KeyValue } from '../../engine/engine.ts';
import type { Collection } from '../collections/collection.ts';
import { eachPair } from '../collections/member-walk.ts';
import { eachItem, type Slices } from '../steps/slices.ts';
import type { WriteView } from '../txn/view.ts';
import {
  adoptMember,
  dropMember,
  encodingOfSet,
  membersOf,
  newSet,
  type OpenSet,
  reopenSet,
} from './set.ts';

/** Fewer are removed one by one: to read what is left is not worth it. */
const MOST_MIN = 16_384;

/**
 * Removes `picked`, not all of the set's elements; where they are most of them, in the order in which they are
 * stored. Results in the set to save, which may be another one.
 */
export function* removePicked(
  view: WriteView,
  found: Collection,
  picked: SteadyList<KeyValue>,
): Slices<OpenSet> {
  const left = found.size - picked.length;
  if (picked.length >= MOST_MIN && left < picked.length) {
    return yield* othersOf(view, found, picked);
  }
  const set = reopenSet(found);
  yield* eachItem(picked, ([key]) => {
    dropMember(view, set, key);
  });
  return set;
}

function* othersOf(
  view: WriteView,
  found: Collection,
  picked: SteadyList<KeyValue>,
): Slices<OpenSet> {
  const others = newSet(view, found.found);
  others.collection.deadlineMs = found.found.live?.deadlineMs ?? 0;
  others.encoding = encodingOfSet(found);
  let next = 0;
  yield* eachPair(membersOf(found).range, ([key]) => {
    if (picked.at(next)?.[0].equals(key)) next++;
    else adoptMember(view, others, key);
  });
  return others;
}
