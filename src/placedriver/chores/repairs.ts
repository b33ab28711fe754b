/** Carries out repairs: a new replica id takes the lost one's place in the wanted record. */
import type { ReplicaId } from '../../common/ids.ts';
import { encodeRecord, keys, type PartitionRecord } from '../../meta/schema.ts';
import { reserveIds } from '../fenced.ts';
import type { StoredPartition } from '../picture.ts';
import { planRepairs, type Repair } from '../repair.ts';
import type { MasterTerm } from '../term.ts';

export async function repairReplicas(term: MasterTerm): Promise<undefined> {
  const { picture, leadership, settings, store, fence } = term;
  const repairs = planRepairs({
    partitions: picture.partitions(),
    alive: picture.aliveNodes(),
    damages: picture.damages(),
    atOnceMax: settings.movesAtOnceMax,
    leader: (record) => picture.leader(record),
  });
  if (repairs.length === 0 || leadership.lost.aborted) return;
  const ids = await reserveIds(store, fence, { groups: 0, replicas: repairs.length });
  for (const [at, repair] of repairs.entries()) {
    if (leadership.lost.aborted) return;
    await executeRepair(term, repair, ids.nextReplica + at);
  }
}

/** Does nothing when the record changed meanwhile: what is seen next decides anew. */
async function executeRepair(
  { store, logger, leadership, fence }: MasterTerm,
  { partition, lost, node, incarnation, why }: Repair<StoredPartition>,
  replica: ReplicaId,
): Promise<void> {
  const { record, modRevision } = partition;
  const key = keys.partition(record.namespace, record.partition);
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
