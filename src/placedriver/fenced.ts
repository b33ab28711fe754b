/** Writes of a master: each fails once another is master (decision 17). */
import { KvorumError } from '../common/errors.ts';
import { limits } from '../common/limits.ts';
import { decodeRecord, recordKinds } from '../meta/records.ts';
import { type CountersRecord, encodeRecord, keys, SCHEMA_VERSION } from '../meta/schema.ts';
import type { Compare, MetaOperation, MetaStore } from '../meta/store.ts';

interface IdCount {
  readonly groups: number;
  readonly replicas: number;
}

/** Chores and requests of one master reserve at the same time: whoever comes second tries again. */
const RESERVE_TRIES = 16;

/**
 * Group and replica ids are reserved before use, so that none is ever given twice. Throws LEASE_LOST
 * when this placedriver is master no more, BAD_RECORD when the counters cannot be read.
 */
export async function reserveIds(
  store: MetaStore,
  fence: Compare,
  count: IdCount,
): Promise<CountersRecord> {
  for (let tries = 0; tries < RESERVE_TRIES; tries++) {
    const reserved = await tryToReserve(store, fence, count);
    if (reserved !== undefined) return reserved;
  }
  throw new KvorumError('CONFLICT', 'ids are reserved all the time; try again');
}

/** Undefined: somebody else was first. */
async function tryToReserve(
  store: MetaStore,
  fence: Compare,
  count: IdCount,
): Promise<CountersRecord | undefined> {
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
  const put: MetaOperation = { type: 'put', key: keys.counters, value: encodeRecord(next) };
  return (await fencedChange(store, fence, [unchanged], [put])) ? current : undefined;
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
  throw new KvorumError('LEASE_LOST', 'this placedriver is master no more; ask again');
}
