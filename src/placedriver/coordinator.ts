/**
 * The master's work: names the cluster, gives the namespace `default` its first table, and replaces
 * replicas that lost their data. Everything it decides is in the metadata store; every write of
 * wanted state is fenced by the election's revision (decision 17).
 */
import { type Clock, sleep } from '../common/clock.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import type { NodeId } from '../common/ids.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import { decodeRecord, recordKinds } from '../meta/records.ts';
import {
  type ClusterRecord,
  encodeRecord,
  keys,
  type NodeRecord,
  SCHEMA_VERSION,
} from '../meta/schema.ts';
import type { Leadership, MetaStore } from '../meta/store.ts';
import { createNamespace } from './namespaces.ts';
import { Picture } from './picture.ts';
import { planRepairs } from './repair.ts';
import { executeRepair } from './repairs.ts';

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

  /** Watches everything until mastership ends, and does what each change asks for. */
  async #serve(leadership: Leadership): Promise<void> {
    const { store, clock, logger } = this.#options;
    const picture = new Picture((problem) => {
      logger.error('metadata that cannot be used: what was last read stays', { problem });
    });
    let working = Promise.resolve();
    let asked = false;
    const consider = () => {
      if (asked) return;
      asked = true;
      working = working
        .then(() => {
          asked = false;
          return this.#work(leadership, picture);
        })
        .catch((failure) => {
          logger.warn('placement failed', { error: messageOf(failure) });
          void sleep(clock, RETRY_MS, this.#stop.signal).then(consider, () => {});
        });
    };
    const watch = store.watch(keys.root, {
      onList(items) {
        picture.list(items);
        consider();
      },
      onEvents(events) {
        picture.apply(events);
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

  async #work(leadership: Leadership, picture: Picture): Promise<void> {
    if (leadership.lost.aborted) return;
    const repairs = planRepairs({
      partitions: picture.partitions(),
      alive: picture.aliveNodes(),
      damages: picture.damages(),
      leader: (record) => picture.leader(record),
    });
    for (const repair of repairs) {
      if (leadership.lost.aborted) return;
      await executeRepair(this.#options, leadership, repair);
    }
    if (!picture.namespace('default')?.ready) {
      await this.#ensureDefault(leadership, picture.aliveNodes());
    }
  }

  /** Throws BAD_RECORD when the namespace is there and cannot be read: it is not made anew. */
  async #ensureDefault(leadership: Leadership, nodes: readonly NodeRecord[]): Promise<void> {
    const wanted = this.#options.default;
    if (nodes.length < wanted.nodes) return;
    const existing = await this.#options.store.get(keys.namespace('default'));
    if (existing && decodeRecord(recordKinds.namespace, existing.key, existing.value).ready) return;
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

/** Resolves when either signal aborts. */
function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    }
  });
}
