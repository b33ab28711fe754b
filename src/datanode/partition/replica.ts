/**
 * One replica of one group: the raft core wired to log, engine and transport.
 *
 * Inputs (messages, ticks, proposals, storage completions) only change state and ask for a turn;
 * `turn` then proposes what was gathered, asks for one read round, and carries out what the core
 * hands out. Appends leave to the peers at once; responses and acknowledgements wait for the log
 * (decision 5).
 */
import { must } from '../../common/assert.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';
import type { LogIndex, ReplicaId, Term } from '../../common/ids.ts';
import type { PartitionRecord } from '../../meta/schema.ts';
import { type Counts, readCounts } from '../encoding/system.ts';
import { createView } from '../encoding/txn.ts';
import type { Engine } from '../engine/engine.ts';
import type { Message, PeerMessage, Snapshot } from '../raft/message.ts';
import { createRaftNode } from '../raft/raft.ts';
import type { RaftNode, RaftStatus, Role } from '../raft/ready.ts';
import type { ReplicaLog } from '../raftlog/raft-log.ts';
import { type AppliedBatch, type AppliedEntry, Applier } from './applier.ts';
import type { CommandBatch, LineResult, LocalPartition } from './batch.ts';
import { compactLog } from './compaction.ts';
import { encodeEnvelope } from './envelope.ts';
import { Expiry } from './expiry.ts';
import { GroupTime } from './group-time.ts';
import { type AppendWork, LogWriter } from './log-writer.ts';
import { failAll, Proposals } from './proposals.ts';
import { Reads } from './reads.ts';
import { ReplicaStorage } from './replica-storage.ts';
import { type OpenReplica, type ReplicaWorld, raftConfig } from './replica-world.ts';
import type { SnapshotHeader } from './snapshot-codec.ts';
import { type ReceivedSnapshot, SnapshotInbox } from './snapshot-inbox.ts';
import { SnapshotOutbox } from './snapshot-outbox.ts';
import type { ReplicaState } from './state.ts';

export class Replica implements LocalPartition {
  readonly id: ReplicaId;
  readonly record: PartitionRecord;
  readonly #world: ReplicaWorld;
  readonly #log: ReplicaLog;
  readonly #writer: LogWriter;
  readonly #raft: RaftNode;
  readonly #time: GroupTime;
  readonly #proposals = new Proposals();
  readonly #reads: Reads;
  readonly #applier: Applier;
  readonly #expiry: Expiry;
  readonly #inbox: SnapshotInbox;
  readonly #outbox: SnapshotOutbox;
  #engine: Engine;
  #syncedIndex: LogIndex;
  #leader: ReplicaId = 0;
  #role: Role = 'follower';
  #stopped = false;

  constructor(world: ReplicaWorld, open: OpenReplica) {
    this.#world = world;
    this.id = open.id;
    this.record = open.record;
    this.#engine = open.engine;
    this.#syncedIndex = open.state.index;
    this.#log = must(world.log.replica(open.id), `replica ${open.id} has a log`);
    const { clock, settings } = world;
    this.#time = new GroupTime(clock, settings.clockSkewMaxMs, () => world.peerOffsetsMs());
    this.#time.observe(open.state.timeMs);
    this.#time.observeLog(this.#log);
    this.#writer = new LogWriter(world.log, this.#log, open.id);
    this.#applier = this.#createApplier(open);
    this.#outbox = new SnapshotOutbox(world, open.record.group, () => this.#engine, this.id);
    this.#inbox = new SnapshotInbox(world, this.id);
    this.#reads = this.#createReads();
    this.#expiry = this.#createExpiry();
    const storage = new ReplicaStorage(this.#log, open.state, () =>
      this.#outbox.take(this.#log.firstIndex()),
    );
    this.#raft = createRaftNode(raftConfig(world, this.id, storage, open.state.index));
  }

  get namespace() {
    return this.record.namespace;
  }

  get partition() {
    return this.record.partition;
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

  get appliedIndex(): LogIndex {
    return this.#applier.state.index;
  }

  get state(): ReplicaState {
    return this.#applier.state;
  }

  status(): RaftStatus {
    return this.#raft.status();
  }

  counts(): Counts {
    return readCounts(createView(this.#engine));
  }

  execute(batch: CommandBatch): Promise<readonly LineResult[]> {
    const refused = this.#refusal(batch);
    if (refused !== undefined) return Promise.resolve(refused);
    this.#world.requestTurn();
    return batch.kind === 'write' ? this.#proposals.gather(batch) : this.#reads.gather(batch);
  }

  step(message: PeerMessage): void {
    if (this.#stopped) return;
    this.#raft.step(message);
    this.#world.requestTurn();
  }

  tick(): void {
    if (this.#stopped) return;
    this.#raft.tick();
    const nowMs = this.#world.clock.monotonicMs();
    this.#proposals.expire(nowMs);
    this.#reads.expire(nowMs);
    this.#expiry.tick();
    this.#reads.resume();
    this.#world.requestTurn();
  }

  campaign(): void {
    if (this.#stopped) return;
    this.#raft.campaign();
    this.#world.requestTurn();
  }

  /** The leader's node went away: forget it, so that a pre-vote is granted at once. */
  forgetLeader(): void {
    if (this.#stopped) return;
    this.#raft.forgetLeader();
    this.#world.requestTurn();
  }

  transferLeader(to: ReplicaId): void {
    this.#raft.transferLeader(to);
    this.#world.requestTurn();
  }

  reportUnreachable(replica: ReplicaId): void {
    if (this.#stopped) return;
    this.#raft.reportUnreachable(replica);
  }

  /** One batch of effects; called at the end of a turn in which something came in. */
  turn(): void {
    if (this.#stopped) return;
    if (this.#proposals.hasGathered) this.#flushProposals();
    if (this.#reads.hasFresh) this.#reads.flush(() => this.#raft.requestRead());
    while (this.#raft.hasReady()) {
      const ready = this.#raft.ready();
      if (ready.softState) this.#noticeRole();
      for (const message of ready.messages) this.#carryOut(message);
      if (ready.readStates.length > 0) this.#reads.confirm(ready.readStates);
    }
    this.#noticeRole();
  }

  /** Takes in a snapshot stream; resolves when raft has accepted or ignored it. */
  async receiveSnapshot(header: SnapshotHeader, chunks: AsyncIterable<Buffer>): Promise<void> {
    const { message } = header;
    if (this.#stopped || message.snapshot.index <= this.appliedIndex) return;
    await this.#inbox.receive(header, chunks, this.#log.generation + 1);
    if (this.#stopped) return;
    this.step(message);
  }

  snapshotProgress(id: number): number {
    return this.#inbox.progress(id);
  }

  /** Syncs the engine, then lets the log go up to a tail behind what is synced (decision 7). */
  async syncAndCompact(): Promise<void> {
    if (this.#stopped) return;
    const engine = this.#engine;
    const { index } = this.#applier.state;
    if (index > this.#syncedIndex) {
      await engine.sync();
      if (this.#stopped || engine !== this.#engine) return;
      this.#syncedIndex = index;
    }
    const { log, settings } = this.#world;
    compactLog(log, this.id, this.#log, this.#syncedIndex, settings, this.status().progress);
  }

  /** True when the engine holds more than was last synced. */
  get dirty(): boolean {
    return !this.#stopped && this.#applier.state.index > this.#syncedIndex;
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#proposals.stop();
    this.#reads.failAll('STOPPING', 'the node stops');
    this.#expiry.stepDown();
    await this.#applier.stop();
    await this.#outbox.close();
    await this.#inbox.close();
    await this.#engine.sync();
    await this.#engine.close();
  }

  #createApplier(open: OpenReplica): Applier {
    return new Applier(open.engine, open.state, open.record, {
      applyConfChange: (change) => this.#raft.applyConfChange(change),
      onApplied: (entries, _state, batch) => this.#onApplied(entries, batch),
      onFault: (error) => this.#fault(error),
    });
  }

  #createReads(): Reads {
    const ground = {
      engine: () => this.#engine,
      appliedIndex: () => this.#applier.state.index,
      writing: () => this.#applier.writing,
      clearing: () => this.#applier.clearing,
      nowMs: () => this.#time.nowMs(),
      random: () => this.#world.random.float(),
      expirySettled: (nowMs: number) => this.#expiry.settled(nowMs),
      onFault: (error: unknown) => this.#fault(error),
      lookups: this.#world.meters.lookups,
    };
    return new Reads(ground, this.record);
  }

  #createExpiry(): Expiry {
    const ground = {
      engine: () => this.#engine,
      appliedTimeMs: () => this.#applier.state.timeMs,
      nowMs: () => this.#time.nowMs(),
      propose: (keys: Parameters<typeof this.proposeExpiry>[0]) => this.proposeExpiry(keys),
      resume: () => this.#reads.resume(),
    };
    return new Expiry(ground, this.#world.logger);
  }

  /** Appends an expire entry; false when this replica cannot propose now. */
  proposeExpiry(keys: readonly { readonly key: Buffer; readonly deadlineMs: number }[]): boolean {
    if (!this.isLeader) return false;
    const body = { family: 'internal', operation: 'expire', keys } as const;
    const timeMs = this.#time.nowMs();
    const result = this.#raft.propose([encodeEnvelope({ timeMs, seed: 0, body })]);
    this.#world.requestTurn();
    return result.ok;
  }

  #refusal(batch: CommandBatch): readonly LineResult[] | undefined {
    if (this.#stopped) return failAll(batch, 'STOPPING', 'the replica stops');
    if (!this.isLeader) return failAll(batch, 'NOT_LEADER', 'this replica does not lead');
    if (batch.term !== undefined && batch.term !== this.#raft.term) {
      return failAll(batch, 'TERM_CHANGED', `asked for term ${batch.term}, it is ${this.term}`);
    }
    return undefined;
  }

  #flushProposals(): void {
    const { clock, random } = this.#world;
    const timeMs = this.#time.nowMs();
    this.#proposals.flush(
      clock.monotonicMs(),
      (lines) => encodeEnvelope({ timeMs, seed: random.u32(), body: { family: 'redis', lines } }),
      (data) => this.#raft.propose(data),
    );
  }

  #carryOut(message: Message): void {
    switch (message.type) {
      case 'storageAppend':
        this.#append(message);
        return;
      case 'storageApply':
        this.#applier.enqueue(
          message.entries,
          this.#world.meters.timeApply(this.#world.clock, () => this.#deliver(message.responses)),
        );
        return;
      case 'storageAppendResponse':
      case 'storageApplyResponse':
        this.#deliver([message]);
        return;
      case 'snapshot':
        this.#outbox.deliver(message, (outcome) => this.#reportSnapshot(message.to, outcome));
        return;
      default:
        if (message.to === this.id) this.#raft.step(message);
        else this.#world.send(message);
    }
  }

  #append(work: AppendWork): void {
    const deliver = () => this.#deliver(work.responses);
    if (work.snapshot !== undefined) {
      this.#installSnapshot(work.snapshot, work, deliver);
      return;
    }
    this.#time.observeEntries(work.entries);
    this.#writer.append(work, deliver);
  }

  /** The inbox holds the streamed data: one log batch switches to it (decision 7b). */
  #installSnapshot(snapshot: Snapshot, work: AppendWork, deliver: () => void): void {
    const received = must(
      this.#inbox.take(snapshot.index),
      'a snapshot is installed once received',
    );
    const { index, term } = snapshot;
    this.#writer.reset(work, { base: { index, term }, generation: received.generation }, () => {
      this.#switchEngine(received).then(deliver, (failure) => this.#fault(failure));
    });
  }

  async #switchEngine(received: ReceivedSnapshot): Promise<void> {
    await this.#applier.whenIdle();
    if (this.#stopped) return;
    const old = { engine: this.#engine, name: `${this.id}-${received.generation - 1}` };
    this.#engine = received.engine;
    this.#applier.replace(received.engine, received.state);
    this.#syncedIndex = received.state.index;
    this.#time.observe(received.state.timeMs);
    this.#proposals.skipTo(received.state.index);
    this.#world.logger.info('snapshot installed', { index: received.state.index });
    await this.#outbox.close();
    await old.engine.close();
    await this.#world.engines.remove(old.name);
  }

  #reportSnapshot(replica: ReplicaId, outcome: 'sent' | 'failed'): void {
    if (this.#stopped) return;
    this.#raft.reportSnapshot(replica, outcome);
    this.#world.requestTurn();
  }

  #deliver(responses: readonly Message[]): void {
    if (this.#stopped) return;
    for (const message of responses) {
      const own =
        message.to === this.id ||
        message.type === 'storageAppendResponse' ||
        message.type === 'storageApplyResponse';
      if (own) this.#raft.step(message);
      else this.#world.send(message as PeerMessage);
    }
    this.#world.requestTurn();
  }

  #onApplied(entries: readonly AppliedEntry[], batch: AppliedBatch): void {
    for (const entry of entries) this.#proposals.settle(entry.index, entry.term, entry.replies);
    if (this.isLeader) this.#world.meters.expiredKeys += batch.expiredKeys;
    this.#expiry.onApplied(batch.earliestDeadlineMs, batch.expiryEntries > 0);
    this.#reads.resume();
  }

  #noticeRole(): void {
    const { role, leader } = this.#raft;
    if (role === this.#role && leader === this.#leader) return;
    const led = this.#role === 'leader';
    this.#role = role;
    this.#leader = leader;
    if (role === 'leader') this.#expiry.lead();
    else if (led) {
      this.#expiry.stepDown();
      this.#reads.failAll('NOT_LEADER', 'leadership was lost');
    }
    this.#world.onRole(leader, this.#raft.term, role);
  }

  #fault(error: unknown): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#proposals.stop();
    this.#reads.failAll('STOPPING', 'the replica stopped after a fault');
    this.#expiry.stepDown();
    const fault =
      error instanceof KvorumError
        ? error
        : new KvorumError('CORRUPT', `replica ${this.id}: ${messageOf(error)}`, { cause: error });
    this.#world.onFault(fault);
  }
}
