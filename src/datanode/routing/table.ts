/** The partition table and the leaders as this node knows them; fed by coordinator and raft. */
import type { GroupId, Namespace, NodeId, PartitionId, Slot, Term } from '../../common/ids.ts';
import type { NodeRecord, PartitionRecord } from '../../meta/schema.ts';

export interface LeaderHint {
  readonly node: NodeId;
  readonly term: Term;
}

/** `alive`: registered now; otherwise its last registration, which may be out of date. */
export interface KnownNode {
  readonly record: NodeRecord;
  readonly alive: boolean;
}

export type MoveListener = (group: GroupId, from: NodeId, to: NodeId) => void;

export interface RouteTable {
  hasNamespace(namespace: Namespace): boolean;
  /** Partitions of a namespace by number; undefined for an unknown namespace. */
  partitions(namespace: Namespace): readonly PartitionRecord[] | undefined;
  /** Undefined for an unknown namespace. */
  partitionOfKey(namespace: Namespace, key: Buffer): PartitionId | undefined;
  /** Undefined for an unknown namespace, and for one whose keys are not dealt out by slots. */
  partitionOfSlot(namespace: Namespace, slot: Slot): PartitionId | undefined;
  /** False for an unknown namespace, and for one whose keys are not dealt out by slots. */
  hasSlots(namespace: Namespace): boolean;
  /** The newest known leader that has not been withdrawn. */
  leader(namespace: Namespace, partition: PartitionId): LeaderHint | undefined;
  /** The newest leader ever known, for answers that must always cover every slot. */
  lastLeader(namespace: Namespace, partition: PartitionId): LeaderHint | undefined;
  /** The newest leader ever known has said that it leads no more, and there is no news of another. */
  hasResigned(namespace: Namespace, partition: PartitionId): boolean;
  nodes(): ReadonlyMap<NodeId, NodeRecord>;
  /** Every node seen since this process started. */
  knownNodes(): ReadonlyMap<NodeId, KnownNode>;
  /** Runs `listener` when a leader of the group becomes known or changes, and when the group goes. */
  onLeader(group: GroupId, listener: () => void): () => void;
  /** Runs `listener` whenever a group has another leader than the last one known. */
  onMoved(listener: MoveListener): void;
}
