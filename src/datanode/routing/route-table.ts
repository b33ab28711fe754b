/** RouteTable in memory: the coordinator and this node's replicas feed it, doors and router read. */
import { SLOT_COUNT } from '../../common/hash.ts';
import type { GroupId, Namespace, NodeId, PartitionId, Slot, Term } from '../../common/ids.ts';
import type { NodeRecord, PartitionRecord } from '../../meta/schema.ts';
import type { KnownNode, LeaderHint, RouteTable } from './table.ts';

interface NamespaceRoutes {
  readonly partitions: readonly PartitionRecord[];
  /** Slot → partition. */
  readonly slots: Int32Array;
}

interface Leadership {
  current: LeaderHint | undefined;
  last: LeaderHint | undefined;
}

export class MutableRouteTable implements RouteTable {
  #namespaces = new Map<Namespace, NamespaceRoutes>();
  #nodes: ReadonlyMap<NodeId, NodeRecord> = new Map();
  /** Also those whose registration has lapsed: clients must be told of every slot. */
  readonly #known = new Map<NodeId, KnownNode>();
  readonly #leaders = new Map<GroupId, Leadership>();
  readonly #listeners = new Map<GroupId, Set<() => void>>();

  /** Replaces the table; leaders of groups that stay are kept. */
  setPartitions(records: readonly PartitionRecord[]): void {
    const grouped = new Map<Namespace, PartitionRecord[]>();
    for (const record of records) {
      const list = grouped.get(record.namespace) ?? [];
      list.push(record);
      grouped.set(record.namespace, list);
    }
    this.#namespaces = new Map([...grouped].map(([name, list]) => [name, routesOf(list)]));
  }

  /** `alive`: those registered now; `addresses`: the last registration of every node ever seen. */
  setNodes(
    alive: ReadonlyMap<NodeId, NodeRecord>,
    addresses: ReadonlyMap<NodeId, NodeRecord> = alive,
  ): void {
    this.#nodes = alive;
    for (const [node, record] of addresses) {
      this.#known.set(node, { record, alive: alive.has(node) });
    }
  }

  /** News of an older term than the newest known are ignored. */
  setLeader(group: GroupId, node: NodeId, term: Term): void {
    const known = this.#leaders.get(group) ?? { current: undefined, last: undefined };
    if (known.last && term < known.last.term) return;
    const changed = known.current?.node !== node || known.current.term !== term;
    known.current = { node, term };
    known.last = known.current;
    this.#leaders.set(group, known);
    if (changed) for (const listener of [...(this.#listeners.get(group) ?? [])]) listener();
  }

  /** The hint proved wrong (refused, or the node is gone): wait for newer news. */
  withdrawLeader(group: GroupId, hint: LeaderHint): void {
    const known = this.#leaders.get(group);
    if (known?.current?.node === hint.node && known.current.term === hint.term) {
      known.current = undefined;
    }
  }

  hasNamespace(namespace: Namespace): boolean {
    return this.#namespaces.has(namespace);
  }

  namespaces(): readonly Namespace[] {
    return [...this.#namespaces.keys()];
  }

  partitions(namespace: Namespace): readonly PartitionRecord[] | undefined {
    return this.#namespaces.get(namespace)?.partitions;
  }

  partitionOfSlot(namespace: Namespace, slot: Slot): PartitionId | undefined {
    const partition = this.#namespaces.get(namespace)?.slots[slot];
    return partition === undefined || partition < 0 ? undefined : partition;
  }

  leader(namespace: Namespace, partition: PartitionId): LeaderHint | undefined {
    return this.#leadership(namespace, partition)?.current;
  }

  lastLeader(namespace: Namespace, partition: PartitionId): LeaderHint | undefined {
    return this.#leadership(namespace, partition)?.last;
  }

  nodes(): ReadonlyMap<NodeId, NodeRecord> {
    return this.#nodes;
  }

  knownNodes(): ReadonlyMap<NodeId, KnownNode> {
    return this.#known;
  }

  onLeader(group: GroupId, listener: () => void): () => void {
    const listeners = this.#listeners.get(group) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(group, listeners);
    return () => listeners.delete(listener);
  }

  #leadership(namespace: Namespace, partition: PartitionId): Leadership | undefined {
    const record = this.#namespaces.get(namespace)?.partitions[partition];
    return record && this.#leaders.get(record.group);
  }
}

function routesOf(list: readonly PartitionRecord[]): NamespaceRoutes {
  const partitions = [...list].sort((a, b) => a.partition - b.partition);
  const slots = new Int32Array(SLOT_COUNT).fill(-1);
  for (const { firstSlot, lastSlot, partition } of partitions) {
    slots.fill(partition, firstSlot, lastSlot + 1);
  }
  return { partitions, slots };
}
