/**
 * The MetaStore over etcd's v3 API: a real etcd, or the embedded store, which speaks the same.
 * Retrying is our policy's alone: the client's own is off, and every call has a deadline.
 */
import { noop } from 'cockatiel';
import { Etcd3 } from 'etcd3';
import type { Clock } from '../common/clock.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import type { Revision } from '../common/ids.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import { campaign } from './election.ts';
import { type EtcdConnection, endOf, itemOf } from './etcd-connection.ts';
import { EtcdLease } from './etcd-lease.ts';
import { EtcdWatch } from './etcd-watch.ts';
import type {
  Compare,
  Lease,
  MetaItem,
  MetaOperation,
  MetaStore,
  TransactionResult,
  WatchHandlers,
} from './store.ts';

export interface EtcdOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** `http://host:port` of each member. */
  readonly urls: readonly string[];
  /** Of one call; default 3,000. */
  readonly timeoutMs?: number;
}

const CALL_TIMEOUT_MS = 3_000;

/** Connects lazily: an absent store shows in the first call. */
export function connectEtcd(options: EtcdOptions): MetaStore {
  return new EtcdStore(options);
}

class EtcdStore implements MetaStore {
  readonly #connection: EtcdConnection;
  readonly #watches = new Set<EtcdWatch>();
  readonly #leases = new Set<EtcdLease>();
  #closed = false;

  constructor(options: EtcdOptions) {
    const { clock, random, logger, urls, timeoutMs = CALL_TIMEOUT_MS } = options;
    const client = new Etcd3({
      hosts: [...urls],
      faultHandling: { global: noop, host: () => noop },
      grpcOptions: {
        'grpc.max_receive_message_length': -1,
        'grpc.keepalive_time_ms': 10_000,
        'grpc.keepalive_timeout_ms': 3_000,
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': 1_000,
      },
    });
    this.#connection = {
      client,
      clock,
      random,
      logger,
      timeoutMs,
      call: (what, run) => this.#call(what, urls, run),
    };
  }

  async get(key: string): Promise<MetaItem | undefined> {
    const { call, client } = this.#connection;
    const { kvs } = await call(`get ${key}`, (options) =>
      client.kv.range({ key: Buffer.from(key) }, options),
    );
    return kvs[0] && itemOf(kvs[0]);
  }

  async range(prefix: string): Promise<{ items: readonly MetaItem[]; revision: Revision }> {
    const { call, client } = this.#connection;
    const { kvs, header } = await call(`list ${prefix}`, (options) =>
      client.kv.range({ key: Buffer.from(prefix), range_end: endOf(prefix) }, options),
    );
    return { items: kvs.map(itemOf), revision: Number(header.revision) };
  }

  async put(key: string, value: string, lease?: Lease): Promise<Revision> {
    const { call, client } = this.#connection;
    const request = {
      key: Buffer.from(key),
      value: Buffer.from(value),
      ...(lease && { lease: lease.id }),
    };
    const { header } = await call(`put ${key}`, (options) => client.kv.put(request, options));
    return Number(header.revision);
  }

  async delete(key: string): Promise<Revision> {
    const { call, client } = this.#connection;
    const { header } = await call(`delete ${key}`, (options) =>
      client.kv.deleteRange({ key: Buffer.from(key) }, options),
    );
    return Number(header.revision);
  }

  async transaction(
    compares: readonly Compare[],
    operations: readonly MetaOperation[],
  ): Promise<TransactionResult> {
    const { call, client } = this.#connection;
    const request = { compare: compares.map(compareOf), success: operations.map(operationOf) };
    const { succeeded, header } = await call('transaction', (options) =>
      client.kv.txn(request, options),
    );
    return { succeeded, revision: Number(header.revision) };
  }

  async grantLease(ttlMs: number): Promise<Lease> {
    const lease = await EtcdLease.grant(this.#connection, ttlMs);
    this.#leases.add(lease);
    lease.lost.addEventListener('abort', () => this.#leases.delete(lease), { once: true });
    return lease;
  }

  watch(prefix: string, handlers: WatchHandlers): EtcdWatch {
    const list = () => this.range(prefix);
    const watch = new EtcdWatch(this.#connection, prefix, list, handlers);
    this.#watches.add(watch);
    return watch;
  }

  campaign(prefix: string, value: string, lease: Lease, signal?: AbortSignal) {
    return campaign(this, prefix, value, lease, signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const watch of this.#watches) watch.close();
    for (const lease of this.#leases) lease.abandon();
    this.#connection.client.close();
  }

  async #call<T>(
    what: string,
    urls: readonly string[],
    run: (options: { deadline: number }) => Promise<T>,
  ): Promise<T> {
    if (this.#closed) throw new KvorumError('STOPPING', 'the metadata client is closed');
    const { clock, timeoutMs } = this.#connection;
    try {
      return await run({ deadline: clock.wallMs() + timeoutMs });
    } catch (cause) {
      const problem = messageOf(cause);
      if (/lease not found/i.test(problem)) {
        throw new KvorumError('LEASE_LOST', `${what}: the lease has ended`, { cause });
      }
      throw new KvorumError(
        'STORE_UNAVAILABLE',
        `metadata store at ${urls.join(', ')}: ${what}: ${problem}; ` +
          'is a placedriver (or etcd) running there?',
        { cause },
      );
    }
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
