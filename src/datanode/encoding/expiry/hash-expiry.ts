/** Fields of hashes whose deadline has passed, deleted in bounded steps. */
import { limited } from '../../engine/engine.ts';
import { collectionOf } from '../collections/collection.ts';
import { eachSlice } from '../collections/member-walk.ts';
import { deleteField, findLatest, reopenHash, saveHash } from '../hashes/hash.ts';
import type { Found } from '../keyspace/keyspace.ts';
import { decodeDueMs, decodeMember, dueRange, elementRange } from '../records/element-key.ts';
import type { Header } from '../records/header.ts';
import { keyAfter } from '../records/key.ts';
import { tags } from '../records/tags.ts';
import type { Slices } from '../steps/slices.ts';
import type { WriteView } from '../txn/view.ts';

/**
 * Deletes up to `countMax` due fields of a live hash, and says in its header what is due next.
 * Returns how many went. (A hash of which all fields are due is not live: it goes as a whole.)
 */
export function* expireFields(
  view: WriteView,
  found: Found,
  live: Header,
  nowMs: number,
  countMax: number,
): Slices<number> {
  const hash = reopenHash(collectionOf(found, live, 'hash'), nowMs);
  const { place } = hash.collection;
  let fields = 0;
  let rest = elementRange(tags.hashDue, place);
  yield* eachSlice(limited(dueRange(place, nowMs), countMax), (pairs) => {
    for (const [due] of pairs) {
      if (fields === countMax) return true;
      deleteField(view, hash, decodeMember(due));
      view.del(due);
      rest = { ...rest, gte: keyAfter(due) };
      fields++;
    }
    return fields === countMax;
  });
  const [next] = yield limited(rest, 1);
  if (next !== undefined) hash.dueMs = decodeDueMs(next[0]);
  if (hash.untilUnknown) yield* findLatest(hash);
  saveHash(view, hash, undefined);
  if (fields > 0) view.notify?.('hash', 'hexpired', found.key);
  return fields;
}
