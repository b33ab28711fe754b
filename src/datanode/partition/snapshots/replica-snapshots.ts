/**
 * Snapshots of one replica, both ways: what its core wants sent is streamed from the outbox, what
 * arrives fills the inbox, and when the core has accepted it one log batch switches to it
 * (decision 7b).
 */
import { must } from '../../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../../common/ids.ts';
import type { PeerMessage, Snapshot } from '../../raft/message.ts';
import type { ProgressStatus } from '../../raft/ready.ts';
import type { ReplicaLog } from '../../raftlog/raft-log.ts';
import type { OpenReplica, ReplicaWorld } from '../replica/replica-world.ts';
import type { LogNeeds } from '../storage/compaction.ts';
import type { EngineSlot } from '../storage/engine-slot.ts';
import type { AppendWork, LogWriter } from '../storage/log-writer.ts';
import type { SnapshotHeader, SnapshotMessage } from './snapshot-codec.ts';
import { type ReceivedSnapshot, SnapshotInbox } from './snapshot-inbox.ts';
import { SnapshotOutbox } from './snapshot-outbox.ts';

export interface SnapshotGround {
  readonly slot: EngineSlot;
  readonly log: ReplicaLog;
  readonly writer: LogWriter;
  appliedIndex(): LogIndex;
  stopped(): boolean;
  /** Resolves when nothing is being applied. */
  whenIdle(): Promise<void>;
  /** Everything of the replica is as of `received` from now on. */
  onSwitched(received: ReceivedSnapshot): void;
  step(message: PeerMessage): void;
  /** The one that the core has accepted and that is not switched to yet; see RaftNode. */
  pendingSnapshot(): Snapshot | undefined;
  onReport(replica: ReplicaId, outcome: 'sent' | 'failed'): void;
  onFault(error: unknown): void;
}

export class ReplicaSnapshots {
  readonly #ground: SnapshotGround;
  readonly #inbox: SnapshotInbox;
  readonly #outbox: SnapshotOutbox;
  /** Accepted by the core; the engine is not exchanged yet. */
  readonly #installing = new Set<ReceivedSnapshot>();

  constructor(world: ReplicaWorld, { id, record }: OpenReplica, ground: SnapshotGround) {
    this.#ground = ground;
    this.#inbox = new SnapshotInbox(world, id, (message) => this.#offer(message));
    this.#outbox = new SnapshotOutbox(world, record.group, () => ground.slot.engine, id);
  }

  /** What RaftStorage hands the core: the state now, captured. */
  take(): Snapshot | 'unavailable' {
    return this.#outbox.take(this.#ground.log.firstIndex());
  }

  /** What of the log is still needed, by `peers` and by who takes the snapshot kept for sending. */
  neededBy(peers: readonly ProgressStatus[]): LogNeeds {
    return { peers, snapshotIndex: this.#outbox.keptIndex };
  }

  send(message: SnapshotMessage): void {
    this.#outbox.deliver(message, (outcome) => this.#ground.onReport(message.to, outcome));
  }

  /** Takes in a stream; resolves when raft has accepted or ignored it. */
  async receive(header: SnapshotHeader, chunks: AsyncIterable<Buffer>): Promise<void> {
    const { appliedIndex, stopped, log } = this.#ground;
    if (stopped() || header.message.snapshot.index <= appliedIndex()) return;
    await this.#inbox.receive(header, chunks, log.generation + 1);
  }

  /** The core decides at once; true: it is going to be installed. */
  #offer(message: SnapshotMessage): boolean {
    const { stopped, step, pendingSnapshot } = this.#ground;
    if (stopped()) return false;
    step(message);
    return pendingSnapshot() === message.snapshot;
  }

  /** Of what is being sent to `replica`, 0 to 1; undefined: nothing is. */
  share(replica: ReplicaId): number | undefined {
    return this.#outbox.share(replica);
  }

  /** Leadership ended. */
  stepDown(): void {
    this.#outbox.stepDown();
  }

  progress(id: number): number {
    return this.#inbox.progress(id);
  }

  /** The core accepted `snapshot`: the batch of `work` drops the log before it and switches. */
  install(snapshot: Snapshot, work: AppendWork, deliver: () => void): void {
    const { index, term } = snapshot;
    const received = must(this.#inbox.take(index), 'a snapshot is installed once received');
    this.#installing.add(received);
    const reset = { base: { index, term }, generation: received.generation };
    const exchange = () => this.#switch(received).catch((failure) => this.#ground.onFault(failure));
    this.#ground.writer.reset(work, reset, exchange, deliver);
  }

  /**
   * Drops what is held of engines: what is being sent, what was received, and what was to take the
   * engine's place: the log may have switched to it, then it is opened the next time.
   */
  async close(): Promise<void> {
    await Promise.all([this.#outbox.end(), this.#inbox.close()]);
    for (const { engine } of this.#installing) await engine.close();
  }

  async #switch(received: ReceivedSnapshot): Promise<void> {
    await this.#ground.whenIdle();
    if (this.#ground.stopped()) return;
    this.#installing.delete(received);
    const removeOld = this.#ground.slot.exchange(received);
    this.#ground.onSwitched(received);
    await this.#outbox.close();
    await removeOld();
  }
}
