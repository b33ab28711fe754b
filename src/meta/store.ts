/**
 * The cluster's metadata store: what kvorum needs of etcd, and no more. Three stores pass one
 * contract suite: `etcd.ts` (a real etcd or the embedded store, over gRPC), `memory.ts` (in process).
 * Every call fails with KvorumError STORE_UNAVAILABLE within its deadline when the store is away (a
 * write may then still take effect), with STORE_LIMIT when it asks for too much, and with
 * STORE_REPLACED when the store is not the one this client has known; watches then tell nothing.
 */
import type { Revision } from '../common/ids.ts';

export interface MetaItem {
  readonly key: string;
  readonly value: string;
  readonly createRevision: Revision;
  readonly modRevision: Revision;
}

/** Holds when the key's modRevision (0: absent) or createRevision equals `revision`. */
export type Compare =
  | { readonly key: string; readonly modRevision: Revision }
  | { readonly key: string; readonly createRevision: Revision };

export type MetaOperation =
  | { readonly type: 'put'; readonly key: string; readonly value: string; readonly lease?: Lease }
  | { readonly type: 'delete'; readonly key: string };

export interface TransactionResult {
  readonly succeeded: boolean;
  readonly revision: Revision;
}

/** Kept alive by its holder until revoked or lost. */
export interface Lease {
  readonly id: string;
  /**
   * Aborts at last keep-alive + TTL − margin on the monotone clock, or when the store denies it.
   * Ask the lease for it anew before each act: a process that was paused learns it by asking, even
   * when its timers have not fired yet.
   */
  readonly lost: AbortSignal;
  revoke(): Promise<void>;
}

export interface WatchHandlers {
  /** The whole state under the prefix: first, and again whenever events may have been missed. */
  onList(items: readonly MetaItem[], revision: Revision): void;
  /** Changes after the last list, in revision order, each exactly once. */
  onEvents(events: readonly MetaEvent[], revision: Revision): void;
}

export type MetaEvent =
  | { readonly type: 'put'; readonly item: MetaItem }
  | { readonly type: 'delete'; readonly key: string; readonly modRevision: Revision };

export interface Watch {
  close(): void;
}

/** Mastership: fenced by `revision`, the create revision of the winner's key. */
export interface Leadership {
  readonly revision: Revision;
  readonly key: string;
  /** The lease's; ask for it anew before each act. */
  readonly lost: AbortSignal;
  resign(): Promise<void>;
}

export interface MetaStore {
  /** From now on only a store that holds the kvorum cluster of this id is the right one. */
  bind(clusterId: string): void;
  /** What the store calls itself (etcd's cluster id); undefined until it has answered. */
  identity(): string | undefined;
  get(key: string): Promise<MetaItem | undefined>;
  range(prefix: string): Promise<{ items: readonly MetaItem[]; revision: Revision }>;
  put(key: string, value: string, lease?: Lease): Promise<Revision>;
  delete(key: string): Promise<Revision>;
  /** Applies `operations` (at most limits.metaTxnOperationsMax) iff every compare holds. */
  transaction(
    compares: readonly Compare[],
    operations: readonly MetaOperation[],
  ): Promise<TransactionResult>;
  grantLease(ttlMs: number): Promise<Lease>;
  watch(prefix: string, handlers: WatchHandlers): Watch;
  /** Resolves when this candidate is master; rejects when `signal` aborts or the lease is lost. */
  campaign(prefix: string, value: string, lease: Lease, signal?: AbortSignal): Promise<Leadership>;
  close(): Promise<void>;
}
