/**
 * What an operator may ask of the master: each request changes wanted state in the metadata store,
 * fenced, and the master's chores do the rest. Requests reject with BAD_ARGUMENT (the text names the
 * argument), NOT_FOUND, CONFLICT (why not now, and what to do), LEASE_LOST or STORE_UNAVAILABLE (the
 * request may have taken effect).
 */
import type { Namespace, NodeId, PartitionId } from '../../common/ids.ts';
import type { BalanceWindow, NamespaceRecord } from '../../meta/schema.ts';

/** Options of a new namespace; see NamespaceRecord. */
export type NamespaceSpec = Pick<
  NamespaceRecord,
  'name' | 'partitions' | 'replicas' | 'hash' | 'tags' | 'reads'
>;

export type NamespaceChange = Partial<Pick<NamespaceRecord, 'replicas' | 'tags' | 'reads'>>;

export interface BalanceChange {
  readonly enabled?: boolean;
  /** null: at any time. */
  readonly window?: BalanceWindow | null;
}

export interface PartitionName {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
}

export interface Operator {
  /** Resolves when the namespace is visible. */
  createNamespace(spec: NamespaceSpec): Promise<void>;
  /** Changes what is named; partitions and hash stay what they were made with. */
  updateNamespace(name: Namespace, change: NamespaceChange): Promise<void>;
  /**
   * Resolves when it is gone for clients; its data is destroyed behind. `default`, which clients are
   * in before they SELECT anything, is made anew at once, empty and as the placedriver is configured.
   */
  deleteNamespace(name: Namespace): Promise<void>;

  setBalance(change: BalanceChange): Promise<void>;
  /** Never raises it. */
  lowerStableNodes(count: number): Promise<void>;
  setUpgrade(on: boolean): Promise<void>;

  /** Begins to empty a node; `undrain` takes that back. */
  drain(node: NodeId): Promise<void>;
  undrain(node: NodeId): Promise<void>;
  /** Moves one replica. */
  move(what: PartitionName, from: NodeId, to: NodeId): Promise<void>;
  /** The replica of `to` becomes the one that should lead. */
  transferLeader(what: PartitionName, to: NodeId): Promise<void>;
  /** The replica on `node` is given up and made anew elsewhere (or there, when nowhere else). */
  removeReplica(what: PartitionName, node: NodeId): Promise<void>;

  /**
   * The group lost its quorum for ever: it is rebuilt from what `survivor` holds, and what the others
   * held is given up. `confirmation` must be `lose-data-of NAMESPACE/PARTITION`.
   */
  rebuild(what: PartitionName, survivor: NodeId, confirmation: string): Promise<void>;

  /** A banned placedriver does not become master, and resigns when it is. */
  banPlacedriver(name: NodeId, banned: boolean): Promise<void>;
}
