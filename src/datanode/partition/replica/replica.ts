/**
 * One replica of one group: the raft core wired to log, engine and transport (`replica-parts.ts`).
 *
 * Inputs (messages, ticks, proposals, storage completions) only change state and ask for a turn;
 * `turn` then proposes what was gathered, asks for one read round, and carries out what the core
 * hands out (`effects.ts`).
 */
import { faultOf, messageOf } from '../../../common/errors.ts';
import type { LogIndex, Namespace, PartitionId, ReplicaId, Term } from '../../../common/ids.ts';
import type { PartitionRecord } from '../../../meta/schema.ts';
import { type Counts, readCounts } from '../../encoding/records/system.ts';
import { createView } from '../../encoding/txn/txn.ts';
import type { PeerMessage, SleepMessage } from '../../raft/message.ts';
import type { RaftNode, RaftStatus } from '../../raft/ready.ts';
import type { ReplicaLog } from '../../raftlog/raft-log.ts';
import type { Applier } from '../applying/applier.ts';
import type { CommandBatch, LineResult, LocalPartition } from '../entries/batch.ts';
import { refusalOf } from '../entries/failed-batch.ts';
import { NOT_LED_HERE, type WaitOutcome, type WaitRequest } from '../entries/wait.ts';
import type { Leadership } from '../leading/leadership.ts';
import type { RoleWatch } from '../leading/role-watch.ts';
import type { Sleep } from '../sleeping/sleep.ts';
import type { ReplicaSnapshots } from '../snapshots/replica-snapshots.ts';
import type { SnapshotHeader } from '../snapshots/snapshot-codec.ts';
import { compactLog } from '../storage/compaction.ts';
import { engineName } from '../storage/engine-names.ts';
import type { EngineSlot } from '../storage/engine-slot.ts';
import type { GroupTime } from '../storage/group-time.ts';
import type { ReplicaState } from '../storage/state.ts';
import { guarded } from '../turns/turns.ts';
import type { Expiry } from '../upkeep/expiry.ts';
import type { Effects } from './effects.ts';
import { ReplicaParts } from './replica-parts.ts';
import type { OpenReplica, ReplicaWorld } from './replica-world.ts';
import type { Requests } from './requests.ts';

export class Replica implements LocalPartition {
  readonly id: ReplicaId;
  readonly record: PartitionRecord;
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly slot: EngineSlot;
  readonly #world: ReplicaWorld;
  readonly #log: ReplicaLog;
  readonly #raft: RaftNode;
  readonly #time: GroupTime;
  readonly #requests: Requests;
  readonly #applier: Applier;
  readonly #expiry: Expiry;
  readonly #snapshots: ReplicaSnapshots;
  readonly #leadership: Leadership;
  readonly #effects: Effects;
  readonly #sleep: Sleep;
  readonly #roles: RoleWatch;
  #stopped = false;
  #closed: Promise<void> = Promise.resolve();

  constructor(world: ReplicaWorld, open: OpenReplica) {
    this.#world = world;
    this.id = open.id;
    this.record = open.record;
    this.namespace = open.record.namespace;
    this.partition = open.record.partition;
    const parts = new ReplicaParts(this, world, open);
    this.slot = parts.slot;
    this.#log = parts.log;
    this.#raft = parts.raft;
    this.#time = parts.time;
    this.#requests = parts.requests;
    this.#applier = parts.applier;
    this.#expiry = parts.expiry;
    this.#snapshots = parts.snapshots;
    this.#leadership = parts.leadership;
    this.#effects = parts.effects;
    this.#sleep = parts.sleep;
    this.#roles = parts.roles;
  }

  get isLeader(): boolean {
    return this.#raft.role === 'leader' && !this.#stopped;
  }

  get term(): Term {
    return this.#raft.term;
  }

  get leader(): ReplicaId {
    return this.#raft.leader;
  }

  get state(): ReplicaState {
    return this.#applier.state;
  }

  /** Its group is idle (decision 19). */
  get asleep(): boolean {
    return this.#sleep.asleep;
  }

  get appliedIndex(): LogIndex {
    return this.state.index;
  }

  /** Nothing comes of ticking it before it asks for a turn. */
  get rests(): boolean {
    return this.#sleep.asleep && this.#expiry.rests;
  }

  readonly status = (): RaftStatus => this.#raft.status();
  readonly counts = (): Counts => readCounts(createView(this.slot.engine));

  /** The live parts, for observers; not to be changed. */
  inspect() {
    const own = { raft: this.#raft, log: this.#log, time: this.#time };
    return { ...own, engine: this.slot.engine, waiting: this.#requests.waiting };
  }

  execute(batch: CommandBatch): Promise<readonly LineResult[]> {
    const refused = refusalOf(batch, this);
    if (refused !== undefined) return Promise.resolve(refused);
    if (this.isLeader) this.#sleep.wake();
    this.#world.requestTurn();
    return this.#requests.gather(batch);
  }

  wait(request: WaitRequest, gone?: AbortSignal): Promise<WaitOutcome> {
    if (!this.isLeader) return Promise.resolve(NOT_LED_HERE);
    this.wake();
    return this.#requests.wait(request, gone);
  }

  confirmServed(ids: readonly Buffer[]): void {
    if (!this.isLeader) return;
    this.wake();
    this.#requests.confirmServed(ids);
  }

  step(message: PeerMessage): void {
    this.#input(() => {
      this.#sleep.onMessage(message);
      this.#raft.step(message);
    });
  }

  stepSleep(message: SleepMessage): void {
    this.#input(() => this.#sleep.onSleepMessage(message));
  }

  /** Something changed that the group may have to act on. */
  wake(): void {
    this.#input(() => this.#sleep.wake());
  }

  tick(): void {
    if (this.#stopped) return;
    if (this.#sleep.tick()) return this.#expiry.tick();
    this.#raft.tick();
    this.#requests.expire();
    this.#expiry.tick();
    this.#requests.resume();
    this.#leadership.tick();
    this.#world.requestTurn();
  }

  campaign(): void {
    this.#sleep.wake();
    this.#input(() => this.#raft.campaign());
  }

  /** The leader's node went away: forget it, so that a pre-vote is granted; see RaftNode. */
  forgetLeader(): number {
    this.#sleep.wake();
    this.#input(() => this.#raft.forgetLeader());
    return this.#raft.promiseLeftMs;
  }

  readonly reportUnreachable = (replica: ReplicaId): void =>
    this.#input(() => this.#raft.reportUnreachable(replica));

  /** What became of a snapshot that was streamed to it. */
  reportSnapshot(replica: ReplicaId, outcome: 'sent' | 'failed'): void {
    this.#input(() => this.#raft.reportSnapshot(replica, outcome));
  }

  #input(give: () => void): void {
    if (this.#stopped) return;
    guarded(this, give);
    this.#world.requestTurn();
  }

  /** Called at the end of a turn in which something came in. */
  turn(): void {
    if (this.#stopped) return;
    this.#requests.flush();
    while (this.#raft.hasReady()) {
      const ready = this.#raft.ready();
      if (ready.softState) this.#roles.notice();
      for (const message of ready.messages) this.#effects.carryOut(message);
      if (ready.readStates.length > 0) this.#requests.confirm(ready.readStates);
    }
    if (this.#raft.hasLateAppends) this.#world.requestLateAppends();
    this.#roles.notice();
  }

  /** What followers are sent without haste leaves now. */
  sendLateAppends(): void {
    this.#input(() => this.#raft.sendLateAppends());
  }

  /** Takes in a snapshot stream; resolves when raft has accepted or ignored it. */
  receiveSnapshot(header: SnapshotHeader, chunks: AsyncIterable<Buffer>): Promise<void> {
    return this.#snapshots.receive(header, chunks);
  }

  readonly snapshotProgress = (id: number): number => this.#snapshots.progress(id);

  /** Syncs the engine, then lets the log go up to a tail behind what is synced (decision 7). */
  async syncAndCompact(): Promise<void> {
    if (this.#stopped) return;
    const current = await this.slot.sync(this.appliedIndex);
    if (this.#stopped || !current) return;
    const needed = this.#snapshots.neededBy(this.status().progress);
    compactLog(this.#world, this.id, this.#log, this.slot.syncedIndex, needed);
  }

  /** The engine in use; from when a snapshot's is to take its place, that one. */
  get engineName(): string {
    return engineName(this.id, this.#log.generation);
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** `settling`: who waits for what is committed hears what it answers. */
  async stop(settling = true): Promise<void> {
    if (settling) await this.#requests.settle();
    if (this.#stopped) return this.#closed;
    this.#halt('the replica stops');
    await this.#release();
    const { engine } = this.slot;
    // what is not synced is applied again from the log: a disk that is full keeps nobody from stopping
    await engine.sync().catch((failure) => {
      const fields = { replica: this.id, error: messageOf(failure) };
      this.#world.logger.warn('engine not synced before it is closed', fields);
    });
    await engine.close();
  }

  readonly fateOf: LocalPartition['fateOf'] = (entry) => this.#requests.fateOf(entry);
  readonly changes: LocalPartition['changes'] = (...asked) => this.#requests.changes.ask(...asked);

  /** Before it has to go, in a moment. */
  readonly handOver = (): void => this.#input(() => this.#leadership.handOver('takes no more'));

  /** Before its node stops: see `leave.ts`. */
  giveAway(tried: ReadonlySet<ReplicaId>): ReplicaId {
    this.wake();
    return this.#leadership.giveAway(tried);
  }

  #halt(why: string): void {
    this.#stopped = true;
    this.#requests.stop(why);
    this.#expiry.stop();
    this.#leadership.stepDown();
  }

  async #release(): Promise<void> {
    await this.#applier.stop();
    await this.#snapshots.close();
  }

  /** It cannot be trusted or used any more: it stops at once, and its node is told. */
  fail(error: unknown): void {
    if (this.#stopped) return;
    this.#leadership.handOver();
    this.#halt('the replica stopped after a fault');
    this.#roles.lose();
    this.#closed = this.#release()
      .then(() => this.slot.engine.close())
      .catch((failure) => this.#world.logger.debug('closing', { error: messageOf(failure) }));
    this.#world.onFault(faultOf(error, `replica ${this.id}`));
  }
}
