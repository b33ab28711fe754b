/**
 * The metadata store in this process: linearizable, with leases on the clock it is given. Tests and
 * the simulator use it; several clients share one `MemoryMeta`.
 */
import { type Clock, sleep, type Timer } from '../common/clock.ts';
import { KvorumError } from '../common/errors.ts';
import type { Revision } from '../common/ids.ts';
import { campaign } from './election.ts';
import { Lineage, replacedText } from './lineage.ts';
import { checkRequest } from './request-check.ts';
import { keys } from './schema.ts';
import type {
  Compare,
  Lease,
  MetaEvent,
  MetaItem,
  MetaOperation,
  MetaStore,
  TransactionResult,
  Watch,
  WatchHandlers,
} from './store.ts';

export interface MemoryMetaOptions {
  readonly clock: Clock;
  /** From a call to its effect, and from the effect to its answer; default 0. */
  readonly latencyMs?: number;
}

interface Watcher {
  readonly prefix: string;
  deliver(events: readonly MetaEvent[], revision: Revision): void;
  relist(): void;
}

interface LeaseState {
  readonly keys: Set<string>;
  end(): void;
}

const UNAVAILABLE = 'the metadata store is away';

/** The store itself; `connect` gives each user a client of its own. */
export class MemoryMeta {
  readonly clock: Clock;
  latencyMs: number;
  readonly items = new Map<string, MetaItem>();
  readonly leases = new Map<string, LeaseState>();
  readonly watchers = new Set<Watcher>();
  revision: Revision = 1;
  #available = true;
  #nextLease = 1;

  constructor(options: MemoryMetaOptions) {
    this.clock = options.clock;
    this.latencyMs = options.latencyMs ?? 0;
  }

  get available(): boolean {
    return this.#available;
  }

  /** While false every call fails and nothing is told to watches; leases go on ending. */
  set available(available: boolean) {
    const back = available && !this.#available;
    this.#available = available;
    if (back) this.relist();
  }

  /** As after a compaction: every watch begins anew with a list. */
  relist(): void {
    for (const watcher of this.watchers) watcher.relist();
  }

  connect(): MetaStore & { crash(): void } {
    return new MemoryClient(this);
  }

  newLeaseId(): string {
    return String(this.#nextLease++);
  }

  commit(compares: readonly Compare[], operations: readonly MetaOperation[]): TransactionResult {
    const holds = compares.every((compare) => {
      const item = this.items.get(compare.key);
      return 'modRevision' in compare
        ? (item?.modRevision ?? 0) === compare.modRevision
        : (item?.createRevision ?? 0) === compare.createRevision;
    });
    if (!holds) return { succeeded: false, revision: this.revision };
    const lost = operations.find(
      (one) => one.type === 'put' && one.lease && !this.#holds(one.lease),
    );
    if (lost) throw new KvorumError('LEASE_LOST', `put ${lost.key}: the lease has ended`);
    if (operations.length > 0) this.#apply(operations);
    return { succeeded: true, revision: this.revision };
  }

  #holds(lease: Lease): boolean {
    return this.leases.has(lease.id);
  }

  #apply(operations: readonly MetaOperation[]): void {
    const revision = this.revision + 1;
    const events: MetaEvent[] = [];
    for (const operation of operations) {
      const { key } = operation;
      const known = this.items.get(key);
      if (operation.type === 'delete') {
        if (known === undefined) continue;
        this.items.delete(key);
        events.push({ type: 'delete', key, modRevision: revision });
        continue;
      }
      const { value, lease } = operation;
      const createRevision = known?.createRevision ?? revision;
      const item = { key, value, createRevision, modRevision: revision };
      this.items.set(key, item);
      for (const state of this.leases.values()) state.keys.delete(key);
      if (lease) this.leases.get(lease.id)!.keys.add(key);
      events.push({ type: 'put', item });
    }
    if (events.length === 0) return;
    this.revision = revision;
    for (const watcher of this.watchers) watcher.deliver(events, revision);
  }
}

class MemoryClient implements MetaStore {
  readonly #meta: MemoryMeta;
  readonly #leases = new Set<MemoryLease>();
  readonly #watchers = new Set<Watcher>();
  readonly #lineage = new Lineage();
  #bound = false;
  #closed = false;

  constructor(meta: MemoryMeta) {
    this.#meta = meta;
  }

  bind(clusterId: string): void {
    this.#lineage.bind(clusterId);
    this.#bound = true;
  }

  identity(): string | undefined {
    return this.#lineage.etcdId;
  }

  get(key: string): Promise<MetaItem | undefined> {
    return this.#call(() => this.#meta.items.get(key));
  }

  range(prefix: string): Promise<{ items: readonly MetaItem[]; revision: Revision }> {
    return this.#call(() => this.#list(prefix));
  }

  async put(key: string, value: string, lease?: Lease): Promise<Revision> {
    const operation = { type: 'put', key, value, ...(lease && { lease }) } as const;
    return (await this.transaction([], [operation])).revision;
  }

  async delete(key: string): Promise<Revision> {
    return (await this.transaction([], [{ type: 'delete', key }])).revision;
  }

  async transaction(compares: readonly Compare[], operations: readonly MetaOperation[]) {
    checkRequest(compares, operations);
    return this.#call(() => this.#meta.commit(compares, operations));
  }

  grantLease(ttlMs: number): Promise<Lease> {
    return this.#call(() => {
      const lease = new MemoryLease(this.#meta, ttlMs);
      this.#leases.add(lease);
      return lease;
    });
  }

  watch(prefix: string, handlers: WatchHandlers): Watch {
    const { clock, latencyMs } = this.#meta;
    let closed = false;
    /** What was told before the newest list is not told again. */
    let round = 0;
    /** The store was not the right one: once it is, a list is due. */
    let withheld = false;
    const later = (run: () => void) => {
      const mine = round;
      clock.setTimer(latencyMs, () => {
        if (closed || this.#closed || mine !== round || !this.#meta.available) return;
        withheld = this.#otherStore() !== undefined;
        if (!withheld) run();
      });
    };
    const watcher: Watcher = {
      prefix,
      deliver: (events, revision) => {
        if (withheld) return watcher.relist();
        const told = events.filter((event) =>
          (event.type === 'put' ? event.item.key : event.key).startsWith(prefix),
        );
        if (told.length > 0) later(() => handlers.onEvents(told, revision));
      },
      relist: () => {
        round++;
        const { items, revision } = this.#list(prefix);
        later(() => handlers.onList(items, revision));
      },
    };
    this.#meta.watchers.add(watcher);
    this.#watchers.add(watcher);
    if (this.#meta.available) watcher.relist();
    return {
      close: () => {
        closed = true;
        this.#meta.watchers.delete(watcher);
        this.#watchers.delete(watcher);
      },
    };
  }

  campaign(prefix: string, value: string, lease: Lease, signal?: AbortSignal) {
    return campaign(this, prefix, value, lease, signal);
  }

  async close(): Promise<void> {
    this.crash();
  }

  /** As if the client's process had ended: its leases run out in their time. */
  crash(): void {
    this.#closed = true;
    for (const watcher of this.#watchers) this.#meta.watchers.delete(watcher);
    for (const lease of this.#leases) lease.abandon();
  }

  /** Why this is not the store of the cluster that was bound. */
  #otherStore(): string | undefined {
    if (!this.#bound) return undefined;
    return this.#lineage.judgeCluster(this.#meta.items.get(keys.cluster));
  }

  #list(prefix: string): { items: readonly MetaItem[]; revision: Revision } {
    const items = [...this.#meta.items.values()].filter(({ key }) => key.startsWith(prefix));
    items.sort((a, b) => (a.key < b.key ? -1 : 1));
    return { items, revision: this.#meta.revision };
  }

  async #call<T>(run: () => T): Promise<T> {
    const { clock, latencyMs } = this.#meta;
    await sleep(clock, latencyMs);
    if (this.#closed) throw new KvorumError('STOPPING', 'the metadata client is closed');
    if (!this.#meta.available) throw new KvorumError('STORE_UNAVAILABLE', UNAVAILABLE);
    const why = this.#otherStore();
    if (why !== undefined) throw new KvorumError('STORE_REPLACED', replacedText('memory', why));
    const result = run();
    await sleep(clock, latencyMs);
    return result;
  }
}

class MemoryLease implements Lease {
  readonly id: string;
  readonly #meta: MemoryMeta;
  readonly #ttlMs: number;
  readonly #lost = new AbortController();
  #renewed = true;
  #endsMs: number;
  #timer: Timer;

  constructor(meta: MemoryMeta, ttlMs: number) {
    this.#meta = meta;
    this.#ttlMs = ttlMs;
    this.id = meta.newLeaseId();
    this.#endsMs = meta.clock.monotonicMs() + ttlMs;
    meta.leases.set(this.id, { keys: new Set(), end: () => this.#end() });
    this.#timer = this.#schedule();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async revoke(): Promise<void> {
    this.#end();
  }

  abandon(): void {
    this.#renewed = false;
  }

  #schedule(): Timer {
    return this.#meta.clock.setTimer(this.#ttlMs / 3, () => {
      const nowMs = this.#meta.clock.monotonicMs();
      if (this.#renewed && this.#meta.available) this.#endsMs = nowMs + this.#ttlMs;
      if (nowMs >= this.#endsMs) this.#end();
      else this.#timer = this.#schedule();
    });
  }

  #end(): void {
    this.#timer.cancel();
    const state = this.#meta.leases.get(this.id);
    if (state === undefined) return;
    this.#meta.leases.delete(this.id);
    this.#lost.abort(new Error(`lease ${this.id} has ended`));
    const deletes = [...state.keys].map((key) => ({ type: 'delete', key }) as const);
    this.#meta.commit([], deletes);
  }
}
