/**
 * Election by create revision, as etcd's own: every candidate puts a key under its lease, and the
 * oldest key is master. The create revision fences what the master writes.
 */
import { KvorumError, messageOf } from '../common/errors.ts';
import type { Revision } from '../common/ids.ts';
import type { Leadership, Lease, MetaItem, MetaStore } from './store.ts';

/** See MetaStore.campaign. */
export async function campaign(
  store: MetaStore,
  prefix: string,
  value: string,
  lease: Lease,
  signal?: AbortSignal,
): Promise<Leadership> {
  const key = `${prefix}${lease.id}`;
  const operation = { type: 'put', key, value, lease } as const;
  const { revision: since } = await store.transaction([{ key, createRevision: 0 }], [operation]);
  try {
    const revision = await untilOldest(store, { prefix, key, since }, lease, signal);
    // What the watch told may be old: the store is asked once more before the master acts.
    const own = await store.get(key);
    if (own?.createRevision !== revision || lease.lost.aborted) throw lostLease(key);
    return {
      revision,
      key,
      get lost() {
        return lease.lost;
      },
      resign: async () => {
        await store.delete(key);
      },
    };
  } catch (failure) {
    if (!lease.lost.aborted) await store.delete(key).catch(() => {});
    throw failure;
  }
}

interface Candidacy {
  readonly prefix: string;
  readonly key: string;
  /** At this revision its key was there. */
  readonly since: Revision;
}

function untilOldest(
  store: MetaStore,
  { prefix, key, since }: Candidacy,
  lease: Lease,
  signal?: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const candidates = new Map<string, MetaItem>();
    const finish = (settle: () => void) => {
      watch.close();
      lease.lost.removeEventListener('abort', onLost);
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const onLost = () => finish(() => reject(lostLease(key)));
    const onAbort = () =>
      finish(() => reject(new KvorumError('CANCELLED', messageOf(signal?.reason))));
    const look = (revision: Revision) => {
      const own = candidates.get(key);
      if (own === undefined) {
        // taken away, though the lease holds: it would wait for ever
        if (revision >= since) onLost();
        return;
      }
      const oldest = [...candidates.values()].every(
        (item) => item.createRevision >= own.createRevision,
      );
      if (oldest) finish(() => resolve(own.createRevision));
    };
    const watch = store.watch(prefix, {
      onList(items, revision) {
        candidates.clear();
        for (const item of items) candidates.set(item.key, item);
        look(revision);
      },
      onEvents(events, revision) {
        for (const event of events) {
          if (event.type === 'put') candidates.set(event.item.key, event.item);
          else candidates.delete(event.key);
        }
        look(revision);
      },
    });
    lease.lost.addEventListener('abort', onLost, { once: true });
    signal?.addEventListener('abort', onAbort, { once: true });
    if (lease.lost.aborted) onLost();
    else if (signal?.aborted) onAbort();
  });
}

function lostLease(key: string): KvorumError {
  return new KvorumError(
    'LEASE_LOST',
    `the lease of candidate ${key} has ended, or its key is gone`,
  );
}
