/**
 * The cluster as the metadata store shows it, folded from watch events; pure. Partitions count
 * only once their namespace is ready: a half-written one may still be written anew.
 */
import type { GroupId, Namespace, NodeId } from '../../common/ids.ts';
import {
  decodeRecord,
  keys,
  type LeaderRecord,
  type Membership,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../../meta/schema.ts';
import type { MetaEvent, MetaItem } from '../../meta/store.ts';

/** What is kept on disk, so that a node serves while the store is away (decision 16). */
export interface ClusterImage {
  readonly version: number;
  readonly nodes: readonly NodeRecord[];
  readonly namespaces: readonly NamespaceRecord[];
  readonly partitions: readonly PartitionRecord[];
  readonly leaders: readonly LeaderRecord[];
}

/** Which parts of the view a set of events changed. */
export interface ViewChange {
  readonly nodes: boolean;
  readonly table: boolean;
  readonly leaders: boolean;
}

export class ClusterView {
  readonly #nodes = new Map<string, NodeRecord>();
  readonly #namespaces = new Map<string, NamespaceRecord>();
  readonly #partitions = new Map<string, PartitionRecord>();
  readonly #leaders = new Map<string, LeaderRecord>();
  /** Addresses outlive the lease: a node that is away may come back to the same place. */
  readonly #addresses = new Map<NodeId, NodeRecord>();

  static fromImage(image: ClusterImage): ClusterView {
    const view = new ClusterView();
    for (const node of image.nodes) view.#addresses.set(node.node, node);
    for (const record of image.namespaces)
      view.#namespaces.set(keys.namespace(record.name), record);
    for (const record of image.partitions) {
      view.#partitions.set(keys.partition(record.namespace, record.partition), record);
    }
    for (const record of image.leaders) {
      view.#leaders.set(keys.leader(record.namespace, record.partition), record);
    }
    return view;
  }

  image(): ClusterImage {
    return {
      version: 1,
      nodes: [...this.#addresses.values()],
      namespaces: [...this.#namespaces.values()],
      partitions: [...this.#partitions.values()],
      leaders: [...this.#leaders.values()],
    };
  }

  list(items: readonly MetaItem[]): ViewChange {
    for (const map of [this.#nodes, this.#namespaces, this.#partitions, this.#leaders]) map.clear();
    for (const item of items) this.#put(item);
    return { nodes: true, table: true, leaders: true };
  }

  apply(events: readonly MetaEvent[]): ViewChange {
    const changed = { nodes: false, table: false, leaders: false };
    for (const event of events) {
      const key = event.type === 'put' ? event.item.key : event.key;
      const part = partOf(key);
      if (part === undefined) continue;
      changed[part] = true;
      if (event.type === 'put') this.#put(event.item);
      else this.#delete(key);
    }
    return changed;
  }

  /** Last known records of all nodes, alive or not. */
  addresses(): ReadonlyMap<NodeId, NodeRecord> {
    return this.#addresses;
  }

  isAlive(node: NodeId): boolean {
    return this.#nodes.has(keys.node(node));
  }

  namespaces(): readonly NamespaceRecord[] {
    return [...this.#namespaces.values()].filter((record) => record.ready);
  }

  partitions(): readonly PartitionRecord[] {
    const ready = new Set<Namespace>(this.namespaces().map((record) => record.name));
    return [...this.#partitions.values()].filter((record) => ready.has(record.namespace));
  }

  leaders(): readonly LeaderRecord[] {
    return [...this.#leaders.values()];
  }

  /** What the groups' leaders reported, of the groups that are wanted. */
  memberships(): ReadonlyMap<GroupId, Membership> {
    const groups = new Map(
      this.partitions().map(({ namespace, partition, group }) => [
        `${namespace} ${partition}`,
        group,
      ]),
    );
    const memberships = new Map<GroupId, Membership>();
    for (const { namespace, partition, membership } of this.#leaders.values()) {
      const group = groups.get(`${namespace} ${partition}`);
      if (group !== undefined) memberships.set(group, membership);
    }
    return memberships;
  }

  #put({ key, value }: MetaItem): void {
    if (key.startsWith(keys.nodes)) {
      const record = decodeRecord<NodeRecord>(key, value);
      this.#nodes.set(key, record);
      this.#addresses.set(record.node, record);
    } else if (key.startsWith(keys.namespaces)) {
      this.#namespaces.set(key, decodeRecord<NamespaceRecord>(key, value));
    } else if (key.startsWith(keys.partitions)) {
      this.#partitions.set(key, decodeRecord<PartitionRecord>(key, value));
    } else if (key.startsWith(keys.leaders)) {
      this.#leaders.set(key, decodeRecord<LeaderRecord>(key, value));
    }
  }

  #delete(key: string): void {
    for (const map of [this.#nodes, this.#namespaces, this.#partitions, this.#leaders]) {
      map.delete(key);
    }
  }
}

function partOf(key: string): keyof ViewChange | undefined {
  if (key.startsWith(keys.nodes)) return 'nodes';
  if (key.startsWith(keys.namespaces) || key.startsWith(keys.partitions)) return 'table';
  if (key.startsWith(keys.leaders)) return 'leaders';
  return undefined;
}
