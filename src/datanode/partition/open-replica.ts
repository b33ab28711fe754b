/**
 * From log and engine directory to a replica that can start, or the birth of one (decision 18):
 * only the replicas of a partition's birth record start as voters.
 */
import { KvorumError } from '../../common/errors.ts';
import type { ReplicaId } from '../../common/ids.ts';
import type { Logger } from '../../common/log.ts';
import type { PartitionRecord, ReplicaRecord } from '../../meta/schema.ts';
import { STATE_KEY } from '../encoding/system.ts';
import { createView, Txn } from '../encoding/txn.ts';
import type { Engine, EngineHost } from '../engine/engine.ts';
import { EMPTY_CONF } from '../raft/conf-change.ts';
import type { RaftLog, ReplicaLog } from '../raftlog/raft-log.ts';
import type { OpenReplica } from './replica-world.ts';
import { decodeState, encodeState, type ReplicaState } from './state.ts';

export interface NodeStores {
  readonly log: RaftLog;
  readonly engines: EngineHost;
  readonly logger: Logger;
}

/** Throws KvorumError CORRUPT when log and engine do not fit together. */
export async function openReplica(
  stores: NodeStores,
  record: PartitionRecord,
  own: ReplicaRecord,
): Promise<OpenReplica> {
  if (stores.log.isTombstone(own.replica)) {
    throw new KvorumError('REPLICA_GONE', `replica ${own.replica} was removed and never returns`);
  }
  const log = stores.log.replica(own.replica);
  return log === undefined
    ? createReplica(stores, record, own.replica)
    : reopenReplica(stores, record, own.replica, log);
}

async function createReplica(
  { log, engines }: NodeStores,
  record: PartitionRecord,
  id: ReplicaId,
): Promise<OpenReplica> {
  await engines.remove(`${id}-0`);
  const { engine } = await engines.open(`${id}-0`);
  const state = birthState(record, id);
  const txn = new Txn(engine);
  txn.put(STATE_KEY, encodeState(state));
  await engine.write(txn.operations());
  await engine.sync();
  const base = { index: 0, term: 0 };
  log.append({ replica: id, reset: { base, generation: 0 } }, () => {});
  await log.flush();
  return { id, record, engine, state };
}

function birthState(record: PartitionRecord, id: ReplicaId): ReplicaState {
  const born = record.birth.some((member) => member.replica === id);
  const voters = record.birth.map((member) => member.replica).sort((a, b) => a - b);
  const confState = born ? { ...EMPTY_CONF, voters } : EMPTY_CONF;
  return { index: 0, term: 0, timeMs: 0, fence: record.fence, confState };
}

async function reopenReplica(
  { engines, logger }: NodeStores,
  record: PartitionRecord,
  id: ReplicaId,
  log: ReplicaLog,
): Promise<OpenReplica> {
  const name = `${id}-${log.generation}`;
  const { engine, report } = await engines.open(name);
  if (report.cutBytes > 0) {
    logger.warn('engine log cut after a crash; the rest is applied again from the raft log', {
      engine: name,
      bytes: report.cutBytes,
      cuts: report.cuts,
    });
  }
  try {
    const state = readState(engine, name);
    checkFits(state, log, name);
    return { id, record, engine, state };
  } catch (failure) {
    await engine.close();
    throw failure;
  }
}

function readState(engine: Engine, name: string): ReplicaState {
  const bytes = createView(engine).get(STATE_KEY);
  if (bytes === undefined) {
    throw new KvorumError('CORRUPT', `engine ${name} has no replica state: its data is gone`);
  }
  return decodeState(bytes, `engine ${name}`);
}

function checkFits(state: ReplicaState, log: ReplicaLog, name: string): void {
  if (state.index >= log.base.index && state.index <= log.lastIndex()) return;
  throw new KvorumError(
    'CORRUPT',
    `engine ${name} is applied up to ${state.index}, but the raft log holds ` +
      `${log.firstIndex()} to ${log.lastIndex()}: data was lost on this node`,
  );
}

/** Engines that no replica of the log uses: half-received snapshots, removed replicas. */
export async function removeOtherGenerations(
  engines: EngineHost,
  log: RaftLog,
  logger: Logger,
): Promise<void> {
  const used = new Set(log.replicas().map((id) => `${id}-${log.replica(id)?.generation ?? 0}`));
  for (const name of await engines.list()) {
    if (used.has(name)) continue;
    logger.info('removing an engine no replica uses', { engine: name });
    await engines.remove(name);
  }
}
