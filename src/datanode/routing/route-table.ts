/** RouteTable in memory: the coordinator and this node's replicas feed it, doors and router read. */
import { SLOT_COUNT, slotOfKey } from '../../common/hash.ts';
import type { GroupId, Namespace, NodeId, PartitionId, Slot, Term } from '../../common/ids.ts';
import { murmur3 } from '../../common/murmur3.ts';
import type { NodeRecord, PartitionRecord } from '../../meta/schema.ts';
import type { KnownNode, LeaderHint, MoveListener, RouteTable } from './table.ts';

/** Slot → partition; -1: none. */
type Slots = Int32Array;

interface NamespaceRoutes {
  /** As they were given. */
  readonly records: readonly PartitionRecord[];
  /** By number. */
  readonly partitions: readonly PartitionRecord[];
  /** Which slots are whose; namespaces that agree in it share `slots`. */
  readonly layout: string;
  /** Undefined: keys are dealt out by murmur3. */
  readonly slots: Slots | undefined;
}

interface Leadership {
  current: LeaderHint | undefined;
  last: LeaderHint | undefined;
  /** The last one has said that it leads no more, and nobody else does in its term. */
  resigned: boolean;
}

export class MutableRouteTable implements RouteTable {
  #namespaces = new Map<Namespace, NamespaceRoutes>();
  #nodes: ReadonlyMap<NodeId, NodeRecord> = new Map();
  /** Also those whose registration has lapsed: clients must be told of every slot. */
  #known: ReadonlyMap<NodeId, KnownNode> = new Map();
  readonly #leaders = new Map<GroupId, Leadership>();
  readonly #listeners = new Map<GroupId, Set<() => void>>();
  readonly #moved: MoveListener[] = [];

  /**
   * Replaces the table; leaders of groups that stay are kept, those of others forgotten. Records are not
   * changed, only replaced: a namespace with those it had keeps its routes, since this is called whenever
   * anything is told of one among hundreds.
   */
  setPartitions(records: readonly PartitionRecord[]): void {
    const grouped = new Map<Namespace, PartitionRecord[]>();
    for (const record of records) {
      const list = grouped.get(record.namespace) ?? [];
      list.push(record);
      grouped.set(record.namespace, list);
    }
    this.#namespaces = this.#routesOf(grouped);
    const groups = new Set(records.map(({ group }) => group));
    for (const group of this.#leaders.keys()) if (!groups.has(group)) this.#leaders.delete(group);
    for (const group of [...this.#listeners.keys()]) if (!groups.has(group)) this.#tell(group);
  }

  #routesOf(grouped: ReadonlyMap<Namespace, readonly PartitionRecord[]>) {
    const layouts = new Map<string, Slots>();
    for (const { layout, slots } of this.#namespaces.values()) {
      if (slots !== undefined) layouts.set(layout, slots);
    }
    const routes = new Map<Namespace, NamespaceRoutes>();
    for (const [name, records] of grouped) {
      const before = this.#namespaces.get(name);
      const isKept = before !== undefined && isSame(before.records, records);
      routes.set(name, isKept ? before : routesOf(records, layouts));
    }
    return routes;
  }

  /** `alive`: those registered now; `addresses`: the last registration of all that may come back. */
  setNodes(
    alive: ReadonlyMap<NodeId, NodeRecord>,
    addresses: ReadonlyMap<NodeId, NodeRecord> = alive,
  ): void {
    this.#nodes = alive;
    this.#known = new Map(
      [...addresses].map(([node, record]) => [node, { record, alive: alive.has(node) }]),
    );
  }

  /** News of an older term than the newest known are ignored, and of one that was resigned. */
  setLeader(group: GroupId, node: NodeId, term: Term): void {
    const known = this.#leadershipOf(group);
    if (known.last && term < known.last.term) return;
    if (known.resigned && term === known.last?.term) return;
    known.resigned = false;
    const changed = known.current?.node !== node || known.current.term !== term;
    const from = known.last?.node;
    known.current = { node, term };
    known.last = known.current;
    this.#leaders.set(group, known);
    if (changed) this.#tell(group);
    if (from !== undefined && from !== node)
      for (const told of this.#moved) told(group, from, node);
  }

  onMoved(listener: MoveListener): void {
    this.#moved.push(listener);
  }

  /** The hint proved wrong (refused, or the node is gone): wait for newer news. */
  withdrawLeader(group: GroupId, hint: LeaderHint): void {
    const known = this.#leaders.get(group);
    if (known?.current?.node === hint.node && known.current.term === hint.term) {
      known.current = undefined;
    }
  }

  /** It leads no more in that term: until news of a newer one there is nobody to ask. */
  resignLeader(group: GroupId, { node, term }: LeaderHint): void {
    const known = this.#leadershipOf(group);
    if (known.last && term < known.last.term) return;
    this.#leaders.set(group, { current: undefined, last: { node, term }, resigned: true });
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

  /** Undefined when the table has no such partition. */
  groupOf(namespace: Namespace, partition: PartitionId): GroupId | undefined {
    return this.#namespaces.get(namespace)?.partitions[partition]?.group;
  }

  partitionOfKey(namespace: Namespace, key: Buffer): PartitionId | undefined {
    const routes = this.#namespaces.get(namespace);
    if (routes === undefined) return undefined;
    if (routes.slots !== undefined) return this.partitionOfSlot(namespace, slotOfKey(key));
    return murmur3(key) % routes.partitions.length;
  }

  partitionOfSlot(namespace: Namespace, slot: Slot): PartitionId | undefined {
    const partition = this.#namespaces.get(namespace)?.slots?.[slot];
    return partition === undefined || partition < 0 ? undefined : partition;
  }

  hasSlots(namespace: Namespace): boolean {
    return this.#namespaces.get(namespace)?.slots !== undefined;
  }

  leader(namespace: Namespace, partition: PartitionId): LeaderHint | undefined {
    return this.#leadership(namespace, partition)?.current;
  }

  lastLeader(namespace: Namespace, partition: PartitionId): LeaderHint | undefined {
    return this.#leadership(namespace, partition)?.last;
  }

  hasResigned(namespace: Namespace, partition: PartitionId): boolean {
    return this.#leadership(namespace, partition)?.resigned === true;
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
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(group) === listeners) {
        this.#listeners.delete(group);
      }
    };
  }

  #tell(group: GroupId): void {
    for (const listener of [...(this.#listeners.get(group) ?? [])]) listener();
  }

  #leadershipOf(group: GroupId): Leadership {
    return this.#leaders.get(group) ?? { current: undefined, last: undefined, resigned: false };
  }

  #leadership(namespace: Namespace, partition: PartitionId): Leadership | undefined {
    const record = this.#namespaces.get(namespace)?.partitions[partition];
    return record && this.#leaders.get(record.group);
  }
}

function isSame(before: readonly PartitionRecord[], now: readonly PartitionRecord[]): boolean {
  return before.length === now.length && before.every((record, at) => record === now[at]);
}

/** `layouts`: those that are there. */
function routesOf(
  records: readonly PartitionRecord[],
  layouts: Map<string, Slots>,
): NamespaceRoutes {
  const partitions = [...records].sort((a, b) => a.partition - b.partition);
  if (partitions.some(({ murmur3: dealt }) => dealt !== undefined)) {
    return { records, partitions, layout: '', slots: undefined };
  }
  const layout = partitions.map((of) => `${of.partition} ${of.firstSlot} ${of.lastSlot}`).join();
  const slots = layouts.get(layout) ?? slotsOf(partitions);
  layouts.set(layout, slots);
  return { records, partitions, layout, slots };
}

function slotsOf(partitions: readonly PartitionRecord[]): Slots {
  const slots = new Int32Array(SLOT_COUNT).fill(-1);
  for (const { firstSlot, lastSlot, partition } of partitions) {
    slots.fill(partition, firstSlot, lastSlot + 1);
  }
  return slots;
}
