/**
 * Election by create revision, as etcd's own: every candidate puts a key under its lease, and the
 * oldest key is master. The create revision fences what the master writes.
 */
import { KvorumError, messageOf } from '../common/errors.ts';
import type { Revision } from '../common/ids.ts';
import type { Leadership, Lease, MetaEvent, MetaItem, MetaStore } from './store.ts';

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

/** Resolves with the create revision of its key once no other candidate has an older one. */
function untilOldest(
  store: MetaStore,
  { prefix, key, since }: Candidacy,
  lease: Lease,
  signal?: AbortSignal,
): Promise<Revision> {
  return new Promise((resolve, reject) => {
    const candidates = new Candidates(key);
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
      const { own } = candidates;
      // taken away, though the lease holds: it would wait for ever
      if (own === undefined && revision >= since) onLost();
      else if (own !== undefined && candidates.isOldest(own)) finish(() => resolve(own));
    };
    const watch = store.watch(prefix, {
      onList(items, revision) {
        candidates.list(items);
        look(revision);
      },
      onEvents(events, revision) {
        candidates.change(events);
        look(revision);
      },
    });
    lease.lost.addEventListener('abort', onLost, { once: true });
    signal?.addEventListener('abort', onAbort, { once: true });
    if (lease.lost.aborted) onLost();
    else if (signal?.aborted) onAbort();
  });
}

/** When each candidate's key was made, as a watch tells it. */
class Candidates {
  readonly #key: string;
  readonly #madeAt = new Map<string, Revision>();

  /** `key`: one's own. */
  constructor(key: string) {
    this.#key = key;
  }

  get own(): Revision | undefined {
    return this.#madeAt.get(this.#key);
  }

  list(items: readonly MetaItem[]): void {
    this.#madeAt.clear();
    for (const { key, createRevision } of items) this.#madeAt.set(key, createRevision);
  }

  change(events: readonly MetaEvent[]): void {
    for (const event of events) {
      if (event.type === 'put') this.#madeAt.set(event.item.key, event.item.createRevision);
      else this.#madeAt.delete(event.key);
    }
  }

  isOldest(own: Revision): boolean {
    return [...this.#madeAt.values()].every((revision) => revision >= own);
  }
}

function lostLease(key: string): KvorumError {
  return new KvorumError(
    'LEASE_LOST',
    `the lease of candidate ${key} has ended, or its key is gone`,
  );
}
