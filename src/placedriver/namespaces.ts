/** Making a namespace: its partitions, their first table and their replicas' ids. */
import { must } from '../common/assert.ts';
import { initialSlotRange } from '../common/hash.ts';
import { limits } from '../common/limits.ts';
import type { Logger } from '../common/log.ts';
import {
  encodeRecord,
  keys,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
  SCHEMA_VERSION,
} from '../meta/schema.ts';
import type { Compare, Leadership, MetaOperation, MetaStore } from '../meta/store.ts';
import { fenced, reserveIds } from './fenced.ts';
import { firstTable } from './placement/rebalance.ts';

/**
 * Writes a namespace in several transactions, each fenced by the master's election key; it
 * becomes visible by its last record. A half-written one is overwritten by the next attempt,
 * with ids never used before.
 */
export async function createNamespace(
  options: { readonly store: MetaStore; readonly logger: Logger },
  leadership: Leadership,
  nodes: readonly NodeRecord[],
  namespace: NamespaceRecord,
): Promise<void> {
  const { store, logger } = options;
  const fence: Compare = { key: leadership.key, createRevision: leadership.revision };
  const { nextGroup, nextReplica } = await reserveIds(store, fence, {
    groups: namespace.partitions,
    replicas: namespace.partitions * namespace.replicas,
  });
  const table = planTable(nodes, namespace, nextGroup, nextReplica, leadership.revision);
  const records = table.map(
    (record): MetaOperation => ({
      type: 'put',
      key: keys.partition(record.namespace, record.partition),
      value: encodeRecord(record),
    }),
  );
  for (let at = 0; at < records.length; at += limits.metaTxnOperationsMax) {
    await fenced(store, fence, records.slice(at, at + limits.metaTxnOperationsMax));
  }
  const ready = { ...namespace, ready: true };
  await fenced(store, fence, [
    { type: 'put', key: keys.namespace(namespace.name), value: encodeRecord(ready) },
  ]);
  logger.info('namespace created', {
    namespace: namespace.name,
    partitions: namespace.partitions,
    replicas: namespace.replicas,
  });
}

function planTable(
  nodes: readonly NodeRecord[],
  namespace: NamespaceRecord,
  firstGroup: number,
  firstReplica: number,
  fence: number,
): readonly PartitionRecord[] {
  const byName = new Map(nodes.map((record) => [record.node, record]));
  const placement = firstTable(
    nodes.map(({ node, tags, host }) => ({
      node,
      dc: tags['dc_info'] ?? '',
      host: tags['host'] ?? host,
    })),
    namespace.partitions,
    namespace.replicas,
  );
  let nextReplica = firstReplica;
  return placement.map((holders, partition) => {
    const [firstSlot, lastSlot] = initialSlotRange(partition, namespace.partitions);
    const replicas = holders.map((node) => ({
      replica: nextReplica++,
      node,
      incarnation: must(byName.get(node), 'placement names live nodes').incarnation,
    }));
    return {
      version: SCHEMA_VERSION,
      namespace: namespace.name,
      partition,
      group: firstGroup + partition,
      firstSlot,
      lastSlot,
      ...(namespace.reads === 'lease' && { reads: 'lease' as const }),
      birth: replicas,
      replicas,
      epoch: 1,
      fence,
    };
  });
}
