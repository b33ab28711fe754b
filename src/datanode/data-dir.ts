/** A node's data directory: identity, raft log, notes on replicas. Opened before anything. */
import { type Clock, sleep } from '../common/clock.ts';
import type { Disk } from '../common/disk.ts';
import { codeOf, isUnusable, KvorumError, messageOf } from '../common/errors.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import type { MetaStore } from '../meta/store.ts';
import type { DatanodeConfig } from './config.ts';
import { createIdentity, type Identity, loadIdentity } from './coordinator/identity.ts';
import type { EngineHost } from './engine/engine.ts';
import { ReplicaNotes } from './partition/host/replica-notes.ts';
import { checkLogHoldsEngines } from './partition/replica/open-replica.ts';
import { checkLogIsThere, endQuarantine, quarantine } from './quarantine.ts';
import type { RaftLog } from './raftlog/raft-log.ts';
import { openSharedLog, type SharedLogOptions } from './raftlog/shared-log.ts';

export interface DataDirOptions {
  readonly config: DatanodeConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: Disk;
  readonly logger: Logger;
  readonly engines: EngineHost;
  readonly store: MetaStore;
  readonly tuning?: { readonly log?: LogTuning };
  onLogFailure(error: KvorumError): void;
}

export interface LogTuning
  extends Partial<Pick<SharedLogOptions, 'segmentBytes' | 'cacheBytes' | 'batchBytesMax'>> {
  /** Wraps the log, to watch what is durable. */
  observe?(log: RaftLog): RaftLog;
}

const RETRY_MS = 50;

/** What a data directory holds of a node: who it is, its log, and what it knows to be damaged. */
export interface DataDir {
  readonly identity: Identity;
  readonly log: RaftLog;
  readonly notes: ReplicaNotes;
  /** Closes the log, and notes where it ends. */
  close(): Promise<void>;
}

/** Opens it; one that cannot be trusted as a whole is set aside, and an empty one takes its place. */
export async function openDataDir(options: DataDirOptions): Promise<DataDir> {
  const { disk, config, logger } = options;
  const dir = config['data-dir'];
  try {
    await endQuarantine(disk, dir);
    return await openParts(options, dir).catch(async (failure: unknown) => {
      if (codeOf(failure) !== 'CORRUPT') throw failure;
      await quarantine(disk, dir, failure, logger);
      return openParts(options, dir);
    });
  } catch (failure) {
    throw refusalOf(failure, dir);
  }
}

/** What this process may not read or write, or what lies in the place of a file, is no damage. */
function refusalOf(cause: unknown, dir: string): unknown {
  if (!isUnusable(cause)) return cause;
  const text =
    `data-dir ${dir} cannot be used (${messageOf(cause)}); let the user that runs this process read ` +
    'and write all of it, and put back what somebody moved or replaced. If that cannot be done, move ' +
    'the directory away: the node comes back empty and is filled by its peers';
  return new KvorumError('BAD_CONFIG', text, { cause });
}

/** Throws CORRUPT when the directory as a whole cannot be trusted. */
async function openParts(options: DataDirOptions, dir: string): Promise<DataDir> {
  const { disk, clock, logger, engines } = options;
  const identity = await findIdentity(options);
  await checkLogIsThere(disk, dir, await engines.list());
  const notes = await ReplicaNotes.open(disk, dir, identity.incarnation);
  const { observe, ...tuning } = options.tuning?.log ?? {};
  const files = { disk, dir: `${dir}/log`, clock, logger };
  const log = await openSharedLog({
    ...{ ...files, ...tuning, knownSeq: notes.logSeq, onFailure: options.onLogFailure },
    onSegment: () => noteLog(notes, logger),
  });
  try {
    await checkLogHoldsEngines(engines, log, files.dir);
    notes.checkLog(log.replicas());
    notes.follow(log);
  } catch (failure) {
    await log.close();
    throw failure;
  }
  return {
    ...{ identity, log: observe?.(log) ?? log, notes },
    async close() {
      await log.close();
      await noteLog(notes, logger);
    },
  };
}

/** What is not noted is a cut that is not noticed: no reason to stop. */
async function noteLog(notes: ReplicaNotes, logger: Logger): Promise<void> {
  await notes.noteLog().catch((failure: unknown) => {
    logger.warn('how far the raft log is on disk could not be noted', { why: messageOf(failure) });
  });
}

/** The saved identity, or a new one as soon as the metadata store has a cluster to join. */
async function findIdentity(options: DataDirOptions): Promise<Identity> {
  const { disk, config, store, random, clock, logger } = options;
  const dataDir = config['data-dir'];
  const saved = await loadIdentity(disk, dataDir, config.name);
  if (saved !== undefined) return saved;
  const giveUpMs = clock.monotonicMs() + 2 * config.timing['lease-ttl-ms'];
  for (let tries = 1; ; tries++) {
    try {
      return await createIdentity(store, disk, dataDir, config.name, random);
    } catch (failure) {
      const mayPass = codeOf(failure) === 'CONFLICT' && clock.monotonicMs() < giveUpMs;
      if (codeOf(failure) !== 'STORE_UNAVAILABLE' && !mayPass) throw failure;
      if (tries % 100 === 1) logger.info('waiting to join', { reason: messageOf(failure) });
      await sleep(clock, RETRY_MS);
    }
  }
}
