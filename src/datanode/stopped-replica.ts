/** What a datanode's log says of a replica that stopped after a fault. */
import type { Clock } from '../common/clock.ts';
import { diskRemedy } from '../common/disk-remedy.ts';
import type { KvorumError } from '../common/errors.ts';
import type { ReplicaId } from '../common/ids.ts';
import type { LogFields, Logger } from '../common/log.ts';
import type { PartitionRecord } from '../meta/schema.ts';

const DEFECT_REMEDY =
  'a defect of kvorum: keep the stack and report it; the replica stays down until this datanode is ' +
  'restarted, or, while the others are a quorum, it is moved to another one (kvorum move)';

/** A replica that its disk refuses is opened again every two seconds, and stops each time. */
const TOLD_AGAIN_MS = 60_000;

interface Told {
  readonly untilMs: number;
  /** How often it has stopped since. */
  more: number;
}

/** Tells of replicas that stop: of those that a disk stops again and again, once a minute each. */
export class StoppedReplicas {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #logger: Pick<Logger, 'error'>;
  readonly #told = new Map<ReplicaId, Told>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, logger: Pick<Logger, 'error'>) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** It stopped just now; `again` counts the times that were not told of before. */
  tell(
    record: Pick<PartitionRecord, 'namespace' | 'partition'>,
    replica: ReplicaId,
    error: KvorumError,
  ): void {
    const nowMs = this.#clock.monotonicMs();
    const told = this.#told.get(replica);
    if (error.code === 'DISK_FAILED' && told !== undefined && nowMs < told.untilMs) {
      told.more++;
      return;
    }
    const again = told !== undefined && told.more > 0 && { again: told.more };
    this.#logger.error('a replica stopped', {
      ...stoppedReplicaFields(record, replica, error),
      ...again,
    });
    for (const [id, { untilMs, more }] of this.#told) {
      if (untilMs <= nowMs && more === 0) this.#told.delete(id);
    }
    this.#told.set(replica, { untilMs: nowMs + TOLD_AGAIN_MS, more: 0 });
  }
}

/** Why it stopped and what to do about it; of what nobody foresaw also where. */
export function stoppedReplicaFields(
  { namespace, partition }: Pick<PartitionRecord, 'namespace' | 'partition'>,
  replica: ReplicaId,
  error: KvorumError,
): LogFields {
  const { code } = error;
  return { namespace, partition, replica, code, error: error.message, ...adviceOn(error) };
}

function adviceOn(error: KvorumError): LogFields {
  const { code, cause, stack } = error;
  if (code === 'DISK_FAILED') {
    return { remedy: `${diskRemedy(error)}: the replica is opened again by itself` };
  }
  if (code !== 'INTERNAL') return {};
  const origin = cause instanceof Error ? cause.stack : undefined;
  return { remedy: DEFECT_REMEDY, stack: origin ?? stack };
}
