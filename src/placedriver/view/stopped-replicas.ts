/** Replicas that stopped after a fault: their nodes live, and tell of them beside what they carry. Pure. */
import type { PartitionRecord, ReplicaRecord } from '../../meta/schema.ts';
import type { Picture } from '../picture.ts';

/** Of the partition's; a node that is away, or of an older build, tells of none. */
export function stoppedOf(
  picture: Pick<Picture, 'load'>,
  { replicas }: Pick<PartitionRecord, 'replicas'>,
): ReplicaRecord[] {
  return replicas.filter(({ node, replica }) => picture.load(node)?.stopped?.includes(replica));
}
