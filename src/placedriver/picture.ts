/** The metadata store as a placedriver sees it: records by key, folded from watch events. */
import type { Incarnation, Namespace, NodeId, Revision } from '../common/ids.ts';
import {
  type DamageRecord,
  decodeRecord,
  type IncarnationRecord,
  keys,
  type LeaderRecord,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../meta/schema.ts';
import type { MetaEvent, MetaItem } from '../meta/store.ts';

export interface StoredPartition {
  readonly record: PartitionRecord;
  readonly modRevision: Revision;
}

export class Picture {
  readonly #items = new Map<string, MetaItem>();

  list(items: readonly MetaItem[]): void {
    this.#items.clear();
    for (const item of items) this.#items.set(item.key, item);
  }

  apply(events: readonly MetaEvent[]): void {
    for (const event of events) {
      if (event.type === 'put') this.#items.set(event.item.key, event.item);
      else this.#items.delete(event.key);
    }
  }

  /** All of the namespace's records are written. */
  isReady(namespace: Namespace): boolean {
    const key = keys.namespace(namespace);
    const item = this.#items.get(key);
    return item !== undefined && decodeRecord<NamespaceRecord>(key, item.value).ready;
  }

  /** The registered ones: their leases hold. */
  aliveNodes(): NodeRecord[] {
    return this.#all<NodeRecord>(keys.nodes).map(({ record }) => record);
  }

  /** Which incarnation each name belongs to, alive or not. */
  incarnations(): ReadonlyMap<NodeId, Incarnation> {
    const records = this.#all<IncarnationRecord>(keys.incarnations);
    return new Map(records.map(({ record }) => [record.node, record.incarnation]));
  }

  partitions(): StoredPartition[] {
    return this.#all<PartitionRecord>(keys.partitions);
  }

  leader({ namespace, partition }: PartitionRecord): LeaderRecord | undefined {
    const item = this.#items.get(keys.leader(namespace, partition));
    return item && decodeRecord<LeaderRecord>(item.key, item.value);
  }

  damages(): DamageRecord[] {
    return this.#all<DamageRecord>(keys.damages).map(({ record }) => record);
  }

  #all<T extends { readonly version: number }>(
    prefix: string,
  ): { readonly record: T; readonly modRevision: Revision }[] {
    const found: { record: T; modRevision: Revision }[] = [];
    for (const [key, { value, modRevision }] of this.#items) {
      if (key.startsWith(prefix)) found.push({ record: decodeRecord<T>(key, value), modRevision });
    }
    return found;
  }
}
