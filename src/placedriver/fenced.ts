/** Writes of a master: each fails once another is master (decision 17). */
import { KvorumError } from '../common/errors.ts';
import { limits } from '../common/limits.ts';
import { decodeRecord, recordKinds } from '../meta/records.ts';
import { type CountersRecord, encodeRecord, keys, SCHEMA_VERSION } from '../meta/schema.ts';
import type { Compare, MetaOperation, MetaStore } from '../meta/store.ts';

/** Group and replica ids are reserved before use, so that none is ever given twice. */
export async function reserveIds(
  store: MetaStore,
  fence: Compare,
  count: { readonly groups: number; readonly replicas: number },
): Promise<CountersRecord> {
  const item = await store.get(keys.counters);
  const current = item
    ? decodeRecord(recordKinds.counters, item.key, item.value)
    : { version: SCHEMA_VERSION, nextGroup: 1, nextReplica: 1 };
  const next: CountersRecord = {
    version: SCHEMA_VERSION,
    nextGroup: current.nextGroup + count.groups,
    nextReplica: current.nextReplica + count.replicas,
  };
  const unchanged: Compare = { key: keys.counters, modRevision: item?.modRevision ?? 0 };
  const { succeeded } = await store.transaction(
    [fence, unchanged],
    [{ type: 'put', key: keys.counters, value: encodeRecord(next) }],
  );
  if (!succeeded) throw new KvorumError('CONFLICT', 'another placedriver reserved ids meanwhile');
  return current;
}

/**
 * Writes in as many transactions as it takes, each of which holds only while all of `guard` does.
 * False: one did not any more; those before it have taken effect.
 */
export async function writeGuarded(
  store: MetaStore,
  guard: readonly Compare[],
  operations: readonly MetaOperation[],
): Promise<boolean> {
  for (let at = 0; at < operations.length; at += limits.metaTxnOperationsMax) {
    const some = operations.slice(at, at + limits.metaTxnOperationsMax);
    const { succeeded } = await store.transaction(guard, some);
    if (!succeeded) return false;
  }
  return true;
}

/**
 * Changes what nobody else has changed since it was read: false when a compare does not hold, and
 * what is wanted is to be decided anew. Throws LEASE_LOST when it is the fence that does not hold.
 */
export async function fencedChange(
  store: MetaStore,
  fence: Compare,
  unchanged: readonly Compare[],
  operations: readonly MetaOperation[],
): Promise<boolean> {
  const { succeeded } = await store.transaction([fence, ...unchanged], operations);
  if (succeeded || (await store.transaction([fence], [])).succeeded) return succeeded;
  throw new KvorumError('LEASE_LOST', 'this placedriver is master no more');
}
