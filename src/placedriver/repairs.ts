/** Carries out a repair: a new replica id takes the lost one's place in the wanted record. */
import type { Logger } from '../common/log.ts';
import { encodeRecord, keys, type PartitionRecord } from '../meta/schema.ts';
import type { Compare, Leadership, MetaStore } from '../meta/store.ts';
import { reserveIds } from './fenced.ts';
import type { StoredPartition } from './picture.ts';
import type { Repair } from './repair.ts';

/** Does nothing when the record changed meanwhile: what is seen next decides anew. */
export async function executeRepair(
  { store, logger }: { readonly store: MetaStore; readonly logger: Logger },
  leadership: Leadership,
  { partition, lost, node, incarnation, why }: Repair<StoredPartition>,
): Promise<void> {
  const { record, modRevision } = partition;
  const key = keys.partition(record.namespace, record.partition);
  const fence: Compare = { key: leadership.key, createRevision: leadership.revision };
  const ids = await reserveIds(store, fence, { groups: 0, replicas: 1 });
  const replica = ids.nextReplica;
  const next: PartitionRecord = {
    ...record,
    replicas: record.replicas.map((member) =>
      member.replica === lost.replica ? { replica, node, incarnation } : member,
    ),
    epoch: record.epoch + 1,
    fence: leadership.revision,
  };
  const { succeeded } = await store.transaction(
    [fence, { key, modRevision }],
    [
      { type: 'put', key, value: encodeRecord(next) },
      { type: 'delete', key: keys.damage(lost.replica) },
    ],
  );
  if (!succeeded) return;
  const { namespace, partition: number } = record;
  const fields = { namespace, partition: number, lost: lost.replica, replica, node, why };
  logger.info('replica to be replaced', fields);
}
