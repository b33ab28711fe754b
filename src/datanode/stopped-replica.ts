/** What a datanode's log says of a replica that stopped after a fault. */
import type { KvorumError } from '../common/errors.ts';
import type { ReplicaId } from '../common/ids.ts';
import type { LogFields } from '../common/log.ts';
import type { PartitionRecord } from '../meta/schema.ts';

const DISK_REMEDY = 'make room or mend the disk: the replica is opened again by itself';
const DEFECT_REMEDY =
  'a defect of kvorum: keep the stack and report it; the replica stays down until this datanode is ' +
  'restarted, or, while the others are a quorum, it is moved to another one (kvorum move)';

/** Why it stopped and what to do about it; of what nobody foresaw also where. */
export function stoppedReplicaFields(
  { namespace, partition }: Pick<PartitionRecord, 'namespace' | 'partition'>,
  replica: ReplicaId,
  error: KvorumError,
): LogFields {
  const { code } = error;
  return { namespace, partition, replica, code, error: error.message, ...adviceOn(error) };
}

function adviceOn({ code, cause, stack }: KvorumError): LogFields {
  if (code === 'DISK_FAILED') return { remedy: DISK_REMEDY };
  if (code !== 'INTERNAL') return {};
  const origin = cause instanceof Error ? cause.stack : undefined;
  return { remedy: DEFECT_REMEDY, stack: origin ?? stack };
}
