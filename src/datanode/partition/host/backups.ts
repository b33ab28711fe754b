/**
 * The backups that are being taken of this node's partitions. Each holds a state of an engine, in which is
 * all that was acknowledged before it was asked for; what nobody asks of any more is let go.
 */
import type { Clock, Timer } from '../../../common/clock.ts';
import { codeOf, KvorumError, messageOf } from '../../../common/errors.ts';
import type { NodeId } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { Logger } from '../../../common/log.ts';
import type { Random } from '../../../common/random.ts';
import type { BackupPage, BackupState } from '../../commands/rows/backup-port.ts';
import { rdbFileVersions } from '../../encoding/rdb/rdb-frame.ts';
import { type Counts, readCounts, STATE_KEY } from '../../encoding/records/system.ts';
import { libraryTotals } from '../../encoding/scripts/kept-libraries.ts';
import { createView } from '../../encoding/txn/txn.ts';
import type { EngineSnapshot } from '../../engine/engine.ts';
import { OK } from '../../resp/reply.ts';
import { HeldBackup } from '../backups/held-backup.ts';
import type { CommandBatch } from '../entries/batch.ts';
import type { Replica } from '../replica/replica.ts';
import { decodeState, type ReplicaState } from '../storage/state.ts';
import { Pace } from '../turns/pace.ts';

export interface BackupsGround {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Open {
  readonly replica: Replica;
  readonly held: HeldBackup;
  idle: Timer | undefined;
  /** Pages are made one after the other. */
  asked: Promise<unknown>;
}

interface Taken {
  readonly snapshot: EngineSnapshot;
  readonly nowMs: number;
  readonly state: ReplicaState;
  readonly counts: Counts;
  readonly libraries: number;
}

export class Backups {
  readonly #ground: BackupsGround;
  readonly #pace: Pace;
  readonly #open = new Map<string, Open>();
  /** Those that are being opened count as well. */
  #opening = 0;
  #isStopped = false;

  constructor(ground: BackupsGround) {
    this.#ground = ground;
    this.#pace = new Pace(ground.clock);
  }

  /** Those that are open. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Holds the state of now, with its libraries of functions or without. Rejects unless `replica` leads,
   * and when too many are open.
   */
  async open(replica: Replica, withLibraries: boolean): Promise<BackupState> {
    if (this.#isStopped) throw new KvorumError('STOPPING', 'the node stops');
    if (this.#open.size + this.#opening >= limits.backups.openMax) {
      const text = `${limits.backups.openMax} backups are being taken of this node`;
      throw new KvorumError('BUSY', `${text}: try again`);
    }
    this.#opening++;
    try {
      return await this.#hold(replica, await this.#take(replica), withLibraries);
    } finally {
      this.#opening--;
    }
  }

  /** The next page of it, or the last once more; `offset`: how many bytes were in those before. */
  page(id: string, offset: number): Promise<BackupPage> {
    const open = this.#find(id);
    open.idle?.cancel();
    open.idle = undefined;
    const page = open.asked.then(() => open.held.page(offset));
    open.asked = page.catch((failure) => this.#onFailure(id, open, failure));
    void open.asked.then(() => this.#watch(id, open));
    return page;
  }

  /** Nothing happens when it is not there. */
  async close(id: string): Promise<void> {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    open.idle?.cancel();
    await open.held.close();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#open.keys()].map((id) => this.close(id)));
  }

  #find(id: string): Open {
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    throw new KvorumError('NOT_FOUND', `no backup ${id} is being taken here: begin it anew`);
  }

  /** By a read as any other: behind a round, and all that has to be applied for it. */
  async #take(replica: Replica): Promise<Taken> {
    let taken: Taken | undefined;
    const run = (_view: unknown, { nowMs }: { readonly nowMs: number }) => {
      void taken?.snapshot.close();
      taken = stateOf(replica, nowMs);
      return OK;
    };
    const [result] = await replica.execute(readOf(replica, run, this.#ground.clock));
    if (result?.ok && taken !== undefined) return taken;
    void taken?.snapshot.close();
    const { code, message } = result?.ok === false ? result : NOTHING;
    throw new KvorumError(code, message);
  }

  async #hold(replica: Replica, taken: Taken, withLibraries: boolean): Promise<BackupState> {
    const { node, random } = this.#ground;
    const { state, counts } = taken;
    const libraries = withLibraries ? taken.libraries : undefined;
    const held = new HeldBackup(taken.snapshot, this.#pace, taken.nowMs, libraries);
    const open: Open = { replica, held, idle: undefined, asked: Promise.resolve() };
    const id = `${node}/${random.hex(8)}`;
    this.#open.set(id, open);
    this.#watch(id, open);
    try {
      const isNewer = await held.hasFieldDeadlines();
      return {
        id,
        partition: replica.partition,
        group: replica.record.group,
        index: state.index,
        term: state.term,
        timeMs: taken.nowMs,
        keys: counts.keys,
        expires: counts.expires,
        approximateBytes: await replica.slot.engine.approximateBytes(),
        rdbVersion: isNewer ? rdbFileVersions.withFieldDeadlines : rdbFileVersions.plain,
        libraries,
      };
    } catch (failure) {
      await this.#onFailure(id, open, failure);
      throw failure;
    }
  }

  /** Damage is the replica's as well, as when any read meets it. */
  async #onFailure(id: string, open: Open, failure: unknown): Promise<void> {
    if (codeOf(failure) === 'BAD_ARGUMENT') return;
    const { namespace, partition } = open.replica;
    const fields = { namespace, partition, error: messageOf(failure) };
    this.#ground.logger.warn('a backup of a partition ended', fields);
    if (codeOf(failure) === 'CORRUPT') open.replica.fail(failure);
    await this.close(id);
  }

  #watch(id: string, open: Open): void {
    if (this.#open.get(id) !== open) return;
    open.idle?.cancel();
    open.idle = this.#ground.clock.setTimer(limits.backups.idleMs, () => void this.close(id));
  }
}

const NOTHING = { code: 'INTERNAL', message: 'a read was answered without having run' } as const;

function readOf(
  { namespace, partition, record }: Replica,
  run: NonNullable<NonNullable<CommandBatch['prepared']>[number]>['run'],
  clock: Clock,
): CommandBatch {
  return {
    ...{ namespace, partition, group: record.group, kind: 'read', protocol: 2, term: undefined },
    lines: [[Buffer.from('kv.backup')]],
    prepared: [{ run, singlePoint: false }],
    deadlineMs: clock.monotonicMs() + limits.holdMs,
  };
}

/** In a turn in which reads may run. */
function stateOf(replica: Replica, nowMs: number): Taken {
  const snapshot = replica.slot.engine.snapshot();
  try {
    const view = createView(snapshot);
    const bytes = view.get(STATE_KEY);
    if (bytes === undefined) throw new KvorumError('NO_PARTITION', 'the replica has no state yet');
    const state = decodeState(bytes, `replica ${replica.id}`);
    const counts = readCounts(view);
    const { libraries } = libraryTotals(view);
    snapshot.keep?.();
    return { snapshot, nowMs, state, counts, libraries };
  } catch (failure) {
    void snapshot.close();
    throw failure;
  }
}
