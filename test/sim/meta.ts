/**
 * The metadata store as one process sees it: its answers, events and the end of its leases arrive
 * on the process's own clock, so that a stopped process hears nothing and a dead one never again.
 */
import type { Clock } from '../../src/common/clock.ts';
import { campaign } from '../../src/meta/election.ts';
import type { MemoryMeta } from '../../src/meta/memory.ts';
import type { Lease, MetaStore } from '../../src/meta/store.ts';

export interface SimMetaClient extends MetaStore {
  crash(): void;
  /** Ends the leases of this client in the store: as when its keep-alives came too late. */
  loseLeases(): void;
  /** From now on what the store says is heard so much later; still in its order. */
  late(byMs: number): void;
}

export function connectSimMeta(meta: MemoryMeta, clock: Clock): SimMetaClient {
  const client = meta.connect();
  const leases = new Set<string>();
  // one connection: what is sent first arrives first, also where moments are equal
  const arriving: (() => void)[] = [];
  let lateMs = 0;
  const later = (run: () => void) => {
    arriving.push(run);
    const arrive = () => arriving.shift()!();
    if (lateMs === 0) clock.endOfTurn(arrive);
    else clock.setTimer(lateMs, arrive);
  };
  const here = <T>(answer: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      answer.then(
        (value) => later(() => resolve(value)),
        (error) => later(() => reject(error)),
      );
    });
  const signalHere = (signal: AbortSignal): AbortSignal => {
    const own = new AbortController();
    const tell = () => later(() => own.abort(signal.reason));
    if (signal.aborted) tell();
    else signal.addEventListener('abort', tell, { once: true });
    return own.signal;
  };
  const store: SimMetaClient = {
    bind: (clusterId) => client.bind(clusterId),
    identity: () => client.identity(),
    get: (key) => here(client.get(key)),
    range: (prefix) => here(client.range(prefix)),
    put: (key, value, lease) => here(client.put(key, value, lease)),
    delete: (key) => here(client.delete(key)),
    transaction: (compares, operations) => here(client.transaction(compares, operations)),
    grantLease: async (ttlMs): Promise<Lease> => {
      const lease = await here(client.grantLease(ttlMs));
      leases.add(lease.id);
      return { id: lease.id, lost: signalHere(lease.lost), revoke: () => here(lease.revoke()) };
    },
    watch: (prefix, handlers) =>
      client.watch(prefix, {
        onList: (items, revision) => later(() => handlers.onList(items, revision)),
        onEvents: (events, revision) => later(() => handlers.onEvents(events, revision)),
      }),
    campaign: (prefix, value, lease, signal) => campaign(store, prefix, value, lease, signal),
    close: () => client.close(),
    crash: () => client.crash(),
    loseLeases: () => {
      for (const id of leases) meta.leases.get(id)?.end();
      leases.clear();
    },
    late: (byMs) => {
      lateMs = byMs;
    },
  };
  return store;
}
