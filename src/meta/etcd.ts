/** The MetaStore over etcd's v3 API: a real etcd, or the embedded store, which speaks the same. */
import type { Revision } from '../common/ids.ts';
import { campaign } from './election.ts';
import { EtcdConnection, type EtcdOptions, endOf, itemOf } from './etcd-connection.ts';
import { EtcdLease } from './etcd-lease.ts';
import { EtcdWatch } from './etcd-watch.ts';
import { checkRequest } from './request-check.ts';
import type {
  Compare,
  Lease,
  MetaItem,
  MetaOperation,
  MetaStore,
  TransactionResult,
  Watch,
  WatchHandlers,
} from './store.ts';

/** Connects lazily: an absent store shows in the first call. */
export function connectEtcd(options: EtcdOptions): MetaStore {
  return new EtcdStore(options);
}

class EtcdStore implements MetaStore {
  readonly #connection: EtcdConnection;
  readonly #watches = new Set<EtcdWatch>();
  readonly #leases = new Set<EtcdLease>();

  constructor(options: EtcdOptions) {
    this.#connection = new EtcdConnection(options);
  }

  bind(clusterId: string): void {
    this.#connection.bind(clusterId);
  }

  identity(): string | undefined {
    return this.#connection.identity();
  }

  async get(key: string): Promise<MetaItem | undefined> {
    const { client } = this.#connection;
    const { kvs } = await this.#connection.call(`get ${key}`, (options) =>
      client.kv.range({ key: Buffer.from(key) }, options),
    );
    return kvs[0] && itemOf(kvs[0]);
  }

  async range(prefix: string): Promise<{ items: readonly MetaItem[]; revision: Revision }> {
    const { client } = this.#connection;
    const { kvs, header } = await this.#connection.call(`list ${prefix}`, (options) =>
      client.kv.range({ key: Buffer.from(prefix), range_end: endOf(prefix) }, options),
    );
    return { items: kvs.map(itemOf), revision: Number(header.revision) };
  }

  async put(key: string, value: string, lease?: Lease): Promise<Revision> {
    const { client } = this.#connection;
    checkRequest([], [{ type: 'put', key, value, ...(lease && { lease }) }]);
    const request = {
      key: Buffer.from(key),
      value: Buffer.from(value),
      ...(lease && { lease: lease.id }),
    };
    const { header } = await this.#connection.call(`put ${key}`, (options) =>
      client.kv.put(request, options),
    );
    return Number(header.revision);
  }

  async delete(key: string): Promise<Revision> {
    const { client } = this.#connection;
    checkRequest([], [{ type: 'delete', key }]);
    const { header } = await this.#connection.call(`delete ${key}`, (options) =>
      client.kv.deleteRange({ key: Buffer.from(key) }, options),
    );
    return Number(header.revision);
  }

  async transaction(
    compares: readonly Compare[],
    operations: readonly MetaOperation[],
  ): Promise<TransactionResult> {
    const { client } = this.#connection;
    checkRequest(compares, operations);
    const request = { compare: compares.map(compareOf), success: operations.map(operationOf) };
    const { succeeded, header } = await this.#connection.call('transaction', (options) =>
      client.kv.txn(request, options),
    );
    return { succeeded, revision: Number(header.revision) };
  }

  async grantLease(ttlMs: number): Promise<Lease> {
    await this.#connection.verify();
    const lease = await EtcdLease.grant(this.#connection, ttlMs);
    this.#leases.add(lease);
    lease.lost.addEventListener('abort', () => this.#leases.delete(lease), { once: true });
    return lease;
  }

  watch(prefix: string, handlers: WatchHandlers): Watch {
    const list = () => this.range(prefix);
    const watch = new EtcdWatch(this.#connection, prefix, list, handlers);
    this.#watches.add(watch);
    return {
      close: () => {
        this.#watches.delete(watch);
        watch.close();
      },
    };
  }

  campaign(prefix: string, value: string, lease: Lease, signal?: AbortSignal) {
    return campaign(this, prefix, value, lease, signal);
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    for (const lease of this.#leases) lease.abandon();
    this.#connection.close();
  }
}

function compareOf(compare: Compare) {
  const key = Buffer.from(compare.key);
  return 'modRevision' in compare
    ? ({ key, result: 'Equal', target: 'Mod', mod_revision: compare.modRevision } as const)
    : ({
        key,
        result: 'Equal',
        target: 'Create',
        create_revision: compare.createRevision,
      } as const);
}

function operationOf(operation: MetaOperation) {
  const key = Buffer.from(operation.key);
  if (operation.type === 'delete') return { request_delete_range: { key } };
  const { value, lease } = operation;
  return { request_put: { key, value: Buffer.from(value), ...(lease && { lease: lease.id }) } };
}
