/**
 * Which replicas run on a node: opens those the roster names, removes those their groups have let
 * go, and tries again what the disk refused. One arrangement after the other.
 */
import { faultOf, KvorumError, messageOf } from '../../../common/errors.ts';
import type {
  GroupId,
  Incarnation,
  Namespace,
  NodeId,
  PartitionId,
  ReplicaId,
} from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { Logger } from '../../../common/log.ts';
import type { PartitionRecord } from '../../../meta/schema.ts';
import type { EngineHost } from '../../engine/engine.ts';
import type { RaftLog } from '../../raftlog/raft-log.ts';
import { newOrigins, planRoster, type Roster, type RosterInput } from '../members/roster.ts';
import { openReplica } from '../replica/open-replica.ts';
import { Replica } from '../replica/replica.ts';
import type { ReplicaWorld } from '../replica/replica-world.ts';
import { replicaOfEngine } from '../storage/engine-names.ts';
import type { HostSettings } from './host-settings.ts';
import type { ReplicaNotes } from './replica-notes.ts';

export interface ReplicaSetOptions {
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly logger: Logger;
  readonly log: RaftLog;
  readonly engines: EngineHost;
  readonly notes: ReplicaNotes;
  readonly settings: HostSettings;
  worldOf(record: PartitionRecord, id: ReplicaId, replica: () => Replica): ReplicaWorld;
  onOpened(replica: Replica): void;
  onRemoved(group: GroupId): void;
  /** `failed`: the replica that ran, if it was open. */
  onFault(
    record: PartitionRecord,
    id: ReplicaId,
    error: KvorumError,
    failed: Replica | undefined,
  ): void;
  after(delayMs: number, run: () => void): void;
}

export interface WantedTable extends Pick<RosterInput, 'records' | 'memberships' | 'deletions'> {
  /** Namespaces whose reads are to be served under leases. */
  readonly underLease: ReadonlySet<Namespace>;
}

interface Fault {
  readonly id: ReplicaId;
  readonly message: string;
}

export class ReplicaSet {
  readonly #options: ReplicaSetOptions;
  readonly #groups = new Map<GroupId, Replica>();
  /** Of `#groups`, until that changes. */
  #list: readonly Replica[] | undefined;
  readonly #faults = new Map<GroupId, Fault>();
  readonly #byPartition = new Map<Namespace, Map<PartitionId, Replica>>();
  readonly #denied = new Set<GroupId>();
  #table: WantedTable = {
    ...{ records: [], memberships: new Map(), deletions: [] },
    underLease: new Set(),
  };
  #arranging: Promise<void> = Promise.resolve();
  /** By the newest table; asked for and not begun. */
  #next: Promise<void> | undefined;
  /** Until what was found damaged last is on disk. */
  #noted: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: ReplicaSetOptions) {
    this.#options = options;
  }

  /** The replica of a partition that runs here. */
  of(namespace: Namespace, partition: PartitionId): Replica | undefined {
    return this.#byPartition.get(namespace)?.get(partition);
  }

  get(group: GroupId): Replica | undefined {
    return this.#groups.get(group);
  }

  entries(): Iterable<[GroupId, Replica]> {
    return this.#groups;
  }

  /** As they are now. */
  list(): readonly Replica[] {
    this.#list ??= [...this.#groups.values()];
    return this.#list;
  }

  all(): Iterable<Replica> {
    return this.#groups.values();
  }

  /** Groups of this node that stopped after a fault, with the reason. */
  faults(): ReadonlyMap<GroupId, string> {
    return new Map([...this.#faults].map(([group, { message }]) => [group, message]));
  }

  /** The replicas that these are of, in order. */
  stopped(): readonly ReplicaId[] {
    return [...this.#faults.values()].map(({ id }) => id).sort((a, b) => a - b);
  }

  /** Resolves when what `table` asks of this node is done; a replica that fails is reported. */
  apply(table: WantedTable): Promise<void> {
    this.#table = table;
    // of many tables that come while one is carried out the last one counts
    this.#next ??= this.#arrangeNext(() => {
      this.#next = undefined;
      return this.#arrange();
    });
    return this.#next;
  }

  /** A peer knows that the group was given up: nothing of it runs here, whatever the table says. */
  deny(group: GroupId): void {
    if (this.#denied.has(group)) return;
    this.#denied.add(group);
    const text = 'a peer knows that the group was rebuilt without this replica: it stops';
    this.#options.logger.warn(text, { group });
    void this.#arrangeNext(() => this.#arrange());
  }

  /** Resolves when what was asked so far is done. */
  arranged(): Promise<void> {
    return this.#arranging;
  }

  /** A replica stopped, or could not be opened; the node goes on with the others. */
  fault(record: PartitionRecord, id: ReplicaId, failure: unknown): void {
    if (this.#stopped) return;
    const error = faultOf(failure, `replica ${id}`);
    const failed = this.#groups.get(record.group);
    if (failed?.id === id) this.#drop(failed);
    if (error.code === 'DISK_FAILED') this.#tryAgain(record.group, id, failed);
    this.#faults.set(record.group, { id, message: error.message });
    if (error.code === 'CORRUPT') {
      // notes are written one after the other: the last one is the last to be done
      this.#noted = this.#options.notes.addDamage(id, error.message).catch((cause) => {
        this.#options.logger.error('damage not noted', { replica: id, error: messageOf(cause) });
      });
    }
    this.#options.onFault(record, id, error, failed?.id === id ? failed : undefined);
  }

  /** Nothing is arranged any more; what is under way is waited for. */
  async settle(): Promise<void> {
    this.#stopped = true;
    await this.#arranging;
    await this.#noted;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#groups.values()].map((replica) => replica.stop()));
  }

  async #arrange(): Promise<void> {
    const { node, incarnation, log, notes } = this.#options;
    const held = log.replicas();
    const origins = notes.origins();
    const denied = this.#denied;
    const roster = planRoster({ node, incarnation, ...this.#table, held, origins, denied });
    await this.#stopReplaced(roster);
    await this.#retire(roster.retired);
    this.#forgetFaults(roster);
    await notes.addOrigins(newOrigins(roster, held, origins));
    await notes.addPromising(this.#underLease(roster));
    await this.#openMissing(roster);
  }

  #underLease({ run }: Roster): readonly ReplicaId[] {
    const { underLease } = this.#table;
    const leased = [...run.values()].filter(({ record }) => underLease.has(record.namespace));
    return leased.map(({ id }) => id);
  }

  /** Several at a time: each waits for the disk most of the while. */
  async #openMissing({ run }: Roster): Promise<void> {
    const missing = [...run].filter(
      ([group, { id }]) => this.#faults.get(group)?.id !== id && !this.#groups.has(group),
    );
    const openNext = async () => {
      for (let next = missing.shift(); next && !this.#stopped; next = missing.shift()) {
        const [, { record, id }] = next;
        await this.#open(record, id);
      }
    };
    await Promise.all(Array.from({ length: limits.replicasOpenedAtOnceMax }, openNext));
  }

  /** Another replica takes the place, the group goes on without it, is given up or deleted. */
  async #stopReplaced({ run, retired, former }: Roster): Promise<void> {
    const gone = new Set(retired);
    const replaced = [...this.#groups].filter(([group, { id }]) => {
      const next = run.get(group)?.id;
      return next === undefined ? former.has(group) || gone.has(id) : next !== id;
    });
    for (const [group, replica] of replaced) {
      this.#drop(replica);
      this.#options.onRemoved(group);
    }
    // what a group that was given up had committed is nobody's any more
    await Promise.all(replaced.map(([group, replica]) => replica.stop(!former.has(group))));
  }

  /** Never to come back under these ids; their data goes. */
  async #retire(ids: readonly ReplicaId[]): Promise<void> {
    if (ids.length === 0) return;
    const { log, engines, notes, logger } = this.#options;
    for (const replica of ids) log.append({ replica, tombstone: true }, () => {});
    await log.flush();
    const gone = new Set(ids);
    for (const name of await engines.list()) {
      if (gone.has(replicaOfEngine(name))) await engines.remove(name);
    }
    await notes.forget(ids);
    for (const replica of ids) logger.info('replica removed for good', { replica });
  }

  /** A replica that is not to run here, and of which nothing is here, is no fault of this node. */
  #forgetFaults({ run }: Roster): void {
    const held = new Set(this.#options.log.replicas());
    for (const [group, { id }] of this.#faults) {
      if (held.has(id) || run.get(group)?.id === id) continue;
      this.#faults.delete(group);
      this.#options.onRemoved(group);
    }
  }

  async #open(record: PartitionRecord, id: ReplicaId): Promise<void> {
    const { notes, worldOf, onOpened } = this.#options;
    try {
      const damage = notes.damage(id);
      if (damage !== undefined) throw new KvorumError('CORRUPT', damage);
      const open = await openReplica(this.#options, record, id);
      if (this.#stopped) {
        await open.engine.close();
        return;
      }
      const replica: Replica = new Replica(
        worldOf(record, id, () => replica),
        open,
      );
      this.#add(replica);
      this.#faults.delete(record.group);
      onOpened(replica);
    } catch (failure) {
      this.fault(record, id, failure);
    }
  }

  #add(replica: Replica): void {
    const { namespace, partition, record } = replica;
    this.#groups.set(record.group, replica);
    this.#list = undefined;
    const partitions = this.#byPartition.get(namespace) ?? new Map<PartitionId, Replica>();
    this.#byPartition.set(namespace, partitions.set(partition, replica));
  }

  #drop({ namespace, partition, record }: Replica): void {
    this.#groups.delete(record.group);
    this.#list = undefined;
    const partitions = this.#byPartition.get(namespace);
    partitions?.delete(partition);
    if (partitions?.size === 0) this.#byPartition.delete(namespace);
  }

  /** The disk may have been mended (or emptied) meanwhile. */
  #tryAgain(group: GroupId, id: ReplicaId, failed: Replica | undefined): void {
    this.#options.after(this.#options.settings.diskRetryMs, () => {
      void this.#arrangeNext(async () => {
        await failed?.stop();
        if (this.#faults.get(group)?.id === id) this.#faults.delete(group);
        await this.#arrange();
      });
    });
  }

  /** One after the other; what the disk refused is tried again. */
  #arrangeNext(work: () => Promise<void>): Promise<void> {
    const { logger, settings, after } = this.#options;
    this.#arranging = this.#arranging.then(work).catch((failure) => {
      if (this.#stopped) return;
      logger.error('replicas could not be arranged', { error: messageOf(failure) });
      after(settings.diskRetryMs, () => void this.#arrangeNext(() => this.#arrange()));
    });
    return this.#arranging;
  }
}
