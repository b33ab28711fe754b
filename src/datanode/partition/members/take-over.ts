/**
 * The survivor of a group that lost its quorum goes on alone, in the group that came from it: with
 * its id, its log and its engine, under a configuration of its own. Nothing it holds is given up:
 * what is behind the applied index may have been acknowledged, and commits with its first entry.
 *
 * Done in this order, each step durable before the next and repeated without harm: the node notes
 * that the replica belongs to the new group (from then on no older table makes it serve the former
 * one), then the engine's state gets configuration and epoch. Changes of members in the log before
 * serve an older epoch, and are refused when they are applied (decision 17).
 */
import { KvorumError } from '../../../common/errors.ts';
import type { ReplicaId } from '../../../common/ids.ts';
import type { Logger } from '../../../common/log.ts';
import type { PartitionRecord } from '../../../meta/schema.ts';
import { STATE_KEY } from '../../encoding/records/system.ts';
import { Txn } from '../../encoding/txn/txn.ts';
import type { Engine } from '../../engine/engine.ts';
import { EMPTY_CONF } from '../../raft/conf-change.ts';
import type { RaftLog } from '../../raftlog/raft-log.ts';
import { encodeState, type ReplicaState } from '../storage/state.ts';

const REMEDY = 'rebuild the partition from another node';

/** A survivor is never made anew: throws REPLICA_GONE when `id` should be one and is not here. */
export function checkSurvives({ rebuilt, birth }: PartitionRecord, id: ReplicaId): void {
  if (rebuilt === undefined || !birth.some(({ replica }) => replica === id)) return;
  const text = `replica ${id}, from which the partition was to be rebuilt, is not on this node`;
  throw new KvorumError('REPLICA_GONE', `${text}; ${REMEDY}`);
}

/** Returns the state to go on with; throws REPLICA_GONE when the replica never held anything. */
export async function takeOver(
  { log, logger }: { readonly log: RaftLog; readonly logger: Logger },
  engine: Engine,
  { rebuilt, birth, group, namespace, partition }: PartitionRecord,
  id: ReplicaId,
  state: ReplicaState,
): Promise<ReplicaState> {
  if (rebuilt === undefined || state.epoch >= rebuilt.epoch) return state;
  if (!birth.some(({ replica }) => replica === id)) return state;
  if (state.index === 0) {
    const text = `replica ${id}, from which the partition was to be rebuilt, was never filled`;
    throw new KvorumError('REPLICA_GONE', `${text}; ${REMEDY}`);
  }
  // what the former group appended counts as held once its only voter leads
  await log.flush();
  const confState = { ...EMPTY_CONF, voters: [id] };
  const alone: ReplicaState = { ...state, epoch: rebuilt.epoch, confState };
  const txn = new Txn(engine);
  txn.put(STATE_KEY, encodeState(alone));
  await engine.write(txn.operations());
  await engine.sync();
  const last = log.replica(id)?.lastIndex();
  const held = { applied: state.index, last, before: state.confState.voters };
  const fields = { namespace, partition, group, replica: id, ...held };
  logger.warn('the partition is rebuilt from this replica alone', fields);
  return alone;
}
