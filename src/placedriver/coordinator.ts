/**
 * The master's work: names the cluster, watches the datanodes, and gives the namespace `default`
 * its first table. Everything it decides is in the metadata store; every write of wanted state is
 * fenced by the election's revision (decision 17).
 */
import { must } from '../common/assert.ts';
import { type Clock, sleep } from '../common/clock.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import { initialSlotRange } from '../common/hash.ts';
import type { NodeId } from '../common/ids.ts';
import { limits } from '../common/limits.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import {
  type ClusterRecord,
  type CountersRecord,
  decodeRecord,
  encodeRecord,
  keys,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
  SCHEMA_VERSION,
} from '../meta/schema.ts';
import type { Compare, Leadership, MetaOperation, MetaStore } from '../meta/store.ts';
import { interleave } from './placement.ts';

export interface DefaultNamespace {
  readonly nodes: number;
  readonly partitions: number;
  readonly replicas: number;
}

export interface CoordinatorOptions {
  readonly store: MetaStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly name: NodeId;
  readonly leaseTtlMs: number;
  readonly default: DefaultNamespace;
}

const RETRY_MS = 500;

export class PlacedriverCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #leadership: Leadership | undefined;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
  }

  get isMaster(): boolean {
    return this.#leadership !== undefined && !this.#leadership.lost.aborted;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new KvorumError('STOPPING', 'the placedriver stops'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#serveTerm();
      } catch (failure) {
        if (this.#stop.signal.aborted) return;
        logger.warn('mastership ended', { error: messageOf(failure) });
      }
      await sleep(clock, RETRY_MS, this.#stop.signal).catch(() => {});
    }
  }

  /** One mastership, from campaign to loss. */
  async #serveTerm(): Promise<void> {
    const { store, logger, name, leaseTtlMs } = this.#options;
    const lease = await store.grantLease(leaseTtlMs);
    try {
      const leadership = await store.campaign(keys.election, name, lease, this.#stop.signal);
      this.#leadership = leadership;
      logger.info('this placedriver is master', { fence: leadership.revision });
      await ensureCluster(this.#options);
      await this.#serve(leadership);
    } finally {
      this.#leadership = undefined;
      await lease.revoke().catch(() => {});
    }
  }

  /** Watches the nodes until mastership ends; `default` is made once enough have registered. */
  async #serve(leadership: Leadership): Promise<void> {
    const { store, logger } = this.#options;
    const alive = new Map<NodeId, NodeRecord>();
    let working = Promise.resolve();
    const consider = () => {
      working = working
        .then(() => this.#ensureDefault(leadership, [...alive.values()]))
        .catch((failure) => logger.warn('placement failed', { error: messageOf(failure) }));
    };
    const add = (key: string, value: string) => {
      const record = decodeRecord<NodeRecord>(key, value);
      alive.set(record.node, record);
    };
    const watch = store.watch(keys.nodes, {
      onList(items) {
        alive.clear();
        for (const item of items) add(item.key, item.value);
        consider();
      },
      onEvents(events) {
        for (const event of events) {
          if (event.type === 'put') add(event.item.key, event.item.value);
          else alive.delete(event.key.slice(keys.nodes.length));
        }
        consider();
      },
    });
    try {
      await aborted(leadership.lost, this.#stop.signal);
    } finally {
      watch.close();
      await working;
    }
  }

  async #ensureDefault(leadership: Leadership, nodes: readonly NodeRecord[]): Promise<void> {
    const wanted = this.#options.default;
    if (leadership.lost.aborted || nodes.length < wanted.nodes) return;
    const existing = await this.#options.store.get(keys.namespace('default'));
    if (existing && decodeRecord<NamespaceRecord>(existing.key, existing.value).ready) return;
    await createNamespace(this.#options, leadership, nodes, {
      version: SCHEMA_VERSION,
      name: 'default',
      kind: 'redis',
      hash: 'slots',
      partitions: wanted.partitions,
      replicas: wanted.replicas,
      expiry: 'consistent',
      ready: false,
    });
  }
}

/** Draws the cluster's id the first time any placedriver serves. */
async function ensureCluster(options: CoordinatorOptions): Promise<void> {
  const { store, random, clock } = options;
  const record: ClusterRecord = {
    version: SCHEMA_VERSION,
    clusterId: random.hex(8),
    createdMs: clock.wallMs(),
  };
  await store.transaction(
    [{ key: keys.cluster, modRevision: 0 }],
    [{ type: 'put', key: keys.cluster, value: encodeRecord(record) }],
  );
}

/**
 * Writes a namespace in several transactions, each fenced by the master's election key; it
 * becomes visible by its last record. A half-written one is overwritten by the next attempt,
 * with ids never used before.
 */
async function createNamespace(
  options: CoordinatorOptions,
  leadership: Leadership,
  nodes: readonly NodeRecord[],
  namespace: NamespaceRecord,
): Promise<void> {
  const { store, logger } = options;
  const fence: Compare = { key: leadership.key, createRevision: leadership.revision };
  const { nextGroup, nextReplica } = await reserveIds(store, fence, namespace);
  const table = planTable(nodes, namespace, nextGroup, nextReplica, leadership.revision);
  const records = table.map(
    (record): MetaOperation => ({
      type: 'put',
      key: keys.partition(record.namespace, record.partition),
      value: encodeRecord(record),
    }),
  );
  for (let at = 0; at < records.length; at += limits.metaTxnOperationsMax) {
    await fenced(store, fence, records.slice(at, at + limits.metaTxnOperationsMax));
  }
  const ready = { ...namespace, ready: true };
  await fenced(store, fence, [
    { type: 'put', key: keys.namespace(namespace.name), value: encodeRecord(ready) },
  ]);
  logger.info('namespace created', {
    namespace: namespace.name,
    partitions: namespace.partitions,
    replicas: namespace.replicas,
  });
}

function planTable(
  nodes: readonly NodeRecord[],
  namespace: NamespaceRecord,
  firstGroup: number,
  firstReplica: number,
  fence: number,
): readonly PartitionRecord[] {
  const byName = new Map(nodes.map((record) => [record.node, record]));
  const placement = interleave(
    nodes.map((record) => ({ node: record.node, dc: record.tags['dc_info'] ?? '' })),
    namespace.partitions,
    namespace.replicas,
  );
  let nextReplica = firstReplica;
  return placement.map((holders, partition) => {
    const [firstSlot, lastSlot] = initialSlotRange(partition, namespace.partitions);
    const replicas = holders.map((node) => ({
      replica: nextReplica++,
      node,
      incarnation: must(byName.get(node), 'placement names live nodes').incarnation,
    }));
    return {
      version: SCHEMA_VERSION,
      namespace: namespace.name,
      partition,
      group: firstGroup + partition,
      firstSlot,
      lastSlot,
      birth: replicas,
      replicas,
      fence,
    };
  });
}

/** Group and replica ids are reserved before use, so that none is ever given twice. */
async function reserveIds(
  store: MetaStore,
  fence: Compare,
  namespace: NamespaceRecord,
): Promise<CountersRecord> {
  const item = await store.get(keys.counters);
  const current = item
    ? decodeRecord<CountersRecord>(item.key, item.value)
    : { version: SCHEMA_VERSION, nextGroup: 1, nextReplica: 1 };
  const next: CountersRecord = {
    version: SCHEMA_VERSION,
    nextGroup: current.nextGroup + namespace.partitions,
    nextReplica: current.nextReplica + namespace.partitions * namespace.replicas,
  };
  const unchanged: Compare = { key: keys.counters, modRevision: item?.modRevision ?? 0 };
  const { succeeded } = await store.transaction(
    [fence, unchanged],
    [{ type: 'put', key: keys.counters, value: encodeRecord(next) }],
  );
  if (!succeeded) throw new KvorumError('CONFLICT', 'another placedriver reserved ids meanwhile');
  return current;
}

async function fenced(
  store: MetaStore,
  fence: Compare,
  operations: readonly MetaOperation[],
): Promise<void> {
  const { succeeded } = await store.transaction([fence], operations);
  if (!succeeded) throw new KvorumError('LEASE_LOST', 'this placedriver is master no more');
}

/** Resolves when either signal aborts. */
function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    }
  });
}
