/** The partitions of a namespace as the SDK knows them: who leads, who holds, where nodes are. Pure. */
import { SLOT_COUNT, slotOfKey } from '../common/hash.ts';
import type { PartitionId, Slot } from '../common/ids.ts';
import { murmur3 } from '../common/murmur3.ts';
import type { Address } from '../common/network.ts';

/** A datanode that lives. */
export interface TableNode {
  readonly name: string;
  readonly host: string;
  /** Where commands are sent. */
  readonly port: number;
  /** Where bounded-stale reads of any replica are answered; undefined: it has no such port. */
  readonly followerPort: number | undefined;
  /** Its tag `dc_info`. */
  readonly dc: string | undefined;
}

export interface TablePartition {
  readonly partition: PartitionId;
  readonly firstSlot: Slot;
  readonly lastSlot: Slot;
  /** Name of the node; undefined: nobody is known to lead. */
  readonly leader: string | undefined;
  readonly term: number;
  /** Names of all nodes that hold it. */
  readonly replicas: readonly string[];
}

export interface TableContent {
  /** Grows with every change; 0 where the source has none. */
  readonly epoch: number;
  readonly hash: 'slots' | 'murmur3';
  readonly nodes: readonly TableNode[];
  /** By number, without gaps. Empty: any node takes any command. */
  readonly partitions: readonly TablePartition[];
  /** Every partition of the table is one raft group: sessions are opened by partition. */
  readonly groups: boolean;
}

/** What a placedriver or datanode is asked for the table. */
export interface TableSource {
  /**
   * Undefined: nothing has changed since `epoch`. Rejects when nobody answers, or `signal` ends it.
   * `elsewhere`: a command met what the table does not tell, so others than last time come first.
   */
  fetch(
    epoch: number | undefined,
    signal: AbortSignal,
    elsewhere: boolean,
  ): Promise<TableContent | undefined>;
}

export class PartitionTable {
  readonly content: TableContent;
  readonly nodes: ReadonlyMap<string, TableNode>;
  readonly #bySlot: Uint16Array | undefined;
  /** Leaders heard of since from the nodes themselves. */
  readonly #moved = new Map<PartitionId, Address>();

  constructor(content: TableContent) {
    this.content = content;
    this.nodes = new Map(content.nodes.map((node) => [node.name, node]));
    if (content.hash === 'murmur3' || content.partitions.length === 0) return;
    const bySlot = new Uint16Array(SLOT_COUNT);
    for (const { partition, firstSlot, lastSlot } of content.partitions) {
      bySlot.fill(partition, firstSlot, lastSlot + 1);
    }
    this.#bySlot = bySlot;
  }

  /** Undefined: any node takes it. */
  partitionOf(key: Buffer): PartitionId | undefined {
    const count = this.content.partitions.length;
    if (count === 0) return undefined;
    if (this.#bySlot === undefined) return murmur3(key) % count;
    return this.#bySlot[slotOfKey(key)];
  }

  /**
   * Keys of one unit are of one raft group for certain: that of the partition, or of the slot where
   * neighbouring partitions may look like one. Undefined: any node takes all.
   */
  unitOf(key: Buffer): number | undefined {
    if (this.content.groups || this.#bySlot === undefined) return this.partitionOf(key);
    return slotOfKey(key);
  }

  /** `MOVED`: holds until the next table. */
  noteMoved(partition: PartitionId, address: Address): void {
    this.#moved.set(partition, address);
  }

  /**
   * Where to send a command of the partition, the best first: the leader, then the other replicas
   * (they pass it on, or name the leader), then anybody.
   */
  candidates(partition: PartitionId | undefined): readonly Address[] {
    const found: Address[] = [];
    if (partition === undefined) return this.content.nodes;
    const moved = this.#moved.get(partition);
    if (moved !== undefined) found.push(moved);
    const { leader, replicas } = this.content.partitions[partition] ?? { replicas: [] };
    for (const name of [leader, ...replicas]) {
      const node = name === undefined ? undefined : this.nodes.get(name);
      if (node !== undefined && !found.includes(node)) found.push(node);
    }
    return found.length > 0 ? found : this.content.nodes;
  }

  /** Follower-read ports of the partition's replicas that do not lead, in `dc` when that is given. */
  followers(partition: PartitionId, dc: string | undefined): readonly Address[] {
    const { leader, replicas } = this.content.partitions[partition] ?? { replicas: [] };
    return replicas.flatMap((name) => {
      const node = this.nodes.get(name);
      if (node?.followerPort === undefined || name === leader) return [];
      if (dc !== undefined && node.dc !== dc) return [];
      return [{ host: node.host, port: node.followerPort }];
    });
  }

  /** All addresses that connections may be open to. */
  addresses(): readonly Address[] {
    const own = this.content.nodes.flatMap(({ host, port, followerPort }) =>
      followerPort === undefined
        ? [{ host, port }]
        : [
            { host, port },
            { host, port: followerPort },
          ],
    );
    return [...own, ...this.#moved.values()];
  }
}
