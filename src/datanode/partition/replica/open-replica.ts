/**
 * From log and engine directory to a replica that can start, or the birth of one (decision 18):
 * only the replicas of a partition's birth record start as voters.
 */
import { KvorumError } from '../../../common/errors.ts';
import type { LogIndex, ReplicaId } from '../../../common/ids.ts';
import type { Logger } from '../../../common/log.ts';
import type { PartitionRecord } from '../../../meta/schema.ts';
import { STATE_KEY } from '../../encoding/records/system.ts';
import { createView, Txn } from '../../encoding/txn/txn.ts';
import type { Engine, EngineHost } from '../../engine/engine.ts';
import { EMPTY_CONF } from '../../raft/conf-change.ts';
import { NONE } from '../../raft/message.ts';
import type { RaftLog, ReplicaLog } from '../../raftlog/raft-log.ts';
import type { ReplicaNotes } from '../host/replica-notes.ts';
import { checkSurvives, takeOver } from '../members/take-over.ts';
import { engineName, replicaOfEngine } from '../storage/engine-names.ts';
import { decodeState, encodeState, type ReplicaState } from '../storage/state.ts';
import type { OpenReplica } from './replica-world.ts';

export interface NodeStores {
  readonly log: RaftLog;
  readonly engines: EngineHost;
  readonly logger: Logger;
  readonly notes: ReplicaNotes;
}

/** Throws KvorumError CORRUPT when log and engine do not fit together. */
export async function openReplica(
  stores: NodeStores,
  record: PartitionRecord,
  id: ReplicaId,
): Promise<OpenReplica> {
  if (stores.log.isTombstone(id)) {
    throw new KvorumError('REPLICA_GONE', `replica ${id} was removed and never returns`);
  }
  const log = stores.log.replica(id);
  if (log === undefined) checkSurvives(record, id);
  return log === undefined
    ? createReplica(stores, record, id)
    : reopenReplica(stores, record, id, log);
}

async function createReplica(
  { log, engines }: NodeStores,
  record: PartitionRecord,
  id: ReplicaId,
): Promise<OpenReplica> {
  await engines.remove(`${id}-0`);
  const { engine } = await engines.open(`${id}-0`);
  const born = record.birth.some((member) => member.replica === id);
  const state = born ? birthState(record) : UNBORN;
  const txn = new Txn(engine);
  txn.put(STATE_KEY, encodeState(state));
  await engine.write(txn.operations());
  await engine.sync();
  const { index, term } = state;
  const hardState = { term, vote: NONE, commit: index };
  log.append({ replica: id, reset: { base: { index, term }, generation: 0 }, hardState }, () => {});
  await log.flush();
  return { id, record, engine, state, promised: false };
}

const BIRTH_INDEX = 1;

/** Later members hold nothing, until a snapshot of their leader gives them all, members included. */
const UNBORN: ReplicaState = { index: 0, term: 0, timeMs: 0, epoch: 0, confState: EMPTY_CONF };

/**
 * Equal on all replicas of the birth record, whenever each is made. It stands for an entry 1 that
 * no log holds: who has nothing is sent a snapshot, because no entry tells the first members.
 */
function birthState(record: PartitionRecord): ReplicaState {
  const voters = record.birth.map((member) => member.replica).sort((a, b) => a - b);
  return { index: BIRTH_INDEX, term: 1, timeMs: 0, epoch: 1, confState: { ...EMPTY_CONF, voters } };
}

async function reopenReplica(
  stores: NodeStores,
  record: PartitionRecord,
  id: ReplicaId,
  log: ReplicaLog,
): Promise<OpenReplica> {
  const { engines, logger, notes } = stores;
  // a life before this one, in this process, may have queued what is not durable yet
  await stores.log.flush();
  const name = engineName(id, log.generation);
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
    checkIsOf(state, record, id, name);
    const taken = await takeOver(stores, engine, record, id, state);
    return { id, record, engine, state: taken, promised: notes.mayPromise(id) };
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

/**
 * Ids are never given twice, so a state that names none of the group's members is another group's: its
 * engine was put in the place of this one. Who was removed is not among the members, but knows of others.
 */
function checkIsOf(
  { index, confState }: ReplicaState,
  { birth, replicas }: PartitionRecord,
  id: ReplicaId,
  name: string,
): void {
  if (index === 0) return;
  const { voters, votersOutgoing, learners, learnersNext } = confState;
  const members = new Set([...voters, ...votersOutgoing, ...learners, ...learnersNext]);
  if (members.has(id)) return;
  if ([...birth, ...replicas].some(({ replica }) => members.has(replica))) return;
  throw new KvorumError(
    'CORRUPT',
    `engine ${name} holds the data of replicas ${[...members].join(', ')}, which are of another ` +
      `group than replica ${id}: it was put in the place of this one's`,
  );
}

/**
 * Throws KvorumError CORRUPT when the log holds no replica, yet an engine has more than what a replica
 * is born with: then the log was emptied, and with it the votes, and nothing may be made of it here.
 */
export async function checkLogHoldsEngines(
  engines: EngineHost,
  log: RaftLog,
  logDir: string,
): Promise<void> {
  if (log.replicas().length > 0) return;
  for (const name of await engines.list()) {
    if (log.isTombstone(replicaOfEngine(name))) continue;
    const index = await appliedIn(engines, name);
    if (index <= BIRTH_INDEX) continue;
    throw new KvorumError(
      'CORRUPT',
      `${logDir}: holds no replica, but engine ${name} is applied up to ${index}: the raft log is gone`,
    );
  }
}

/** 0 for one that cannot be read: it may have been in the making. */
async function appliedIn(engines: EngineHost, name: string): Promise<LogIndex> {
  try {
    const { engine } = await engines.open(name);
    try {
      return readState(engine, name).index;
    } finally {
      await engine.close();
    }
  } catch {
    return 0;
  }
}

/** Engines that no replica of the log uses: half-received snapshots, removed replicas. */
export async function removeOtherGenerations(
  engines: EngineHost,
  log: RaftLog,
  logger: Logger,
): Promise<void> {
  const used = new Set(
    log.replicas().map((id) => engineName(id, log.replica(id)?.generation ?? 0)),
  );
  for (const name of await engines.list()) {
    if (used.has(name)) continue;
    logger.info('removing an engine no replica uses', { engine: name });
    await engines.remove(name);
  }
}
