/**
 * All replicas of a node: opens them, gives each turn to those with something to do, ticks them,
 * hands them their messages, and syncs their engines one at a time (decision 7).
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { codeOf, KvorumError, messageOf } from '../../common/errors.ts';
import type {
  GroupId,
  Incarnation,
  Namespace,
  NodeId,
  PartitionId,
  ReplicaId,
  Term,
} from '../../common/ids.ts';
import type { Logger } from '../../common/log.ts';
import type { Random } from '../../common/random.ts';
import type { PartitionRecord, ReplicaRecord } from '../../meta/schema.ts';
import type { EngineHost } from '../engine/engine.ts';
import type { PeerMessage } from '../raft/message.ts';
import type { Role } from '../raft/ready.ts';
import type { RaftLog } from '../raftlog/raft-log.ts';
import type { GroupMessage, Transport } from '../transport/transport.ts';
import type { HostSettings } from './host-settings.ts';
import { PartitionMeters } from './meters.ts';
import { openReplica, removeOtherGenerations } from './open-replica.ts';
import { Replica } from './replica.ts';
import type { ReplicaWorld } from './replica-world.ts';
import { decodeSnapshotHeader } from './snapshot-codec.ts';
import { askProgress, decodeProgressQuery, encodeProgress } from './snapshot-resume.ts';

export interface LeaderNews {
  readonly record: PartitionRecord;
  /** Undefined while the group has no leader that this replica knows. */
  readonly node: NodeId | undefined;
  readonly replica: ReplicaId;
  readonly term: Term;
  /** This node's own replica leads. */
  readonly own: boolean;
}

export interface HostOptions {
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly log: RaftLog;
  readonly engines: EngineHost;
  readonly settings: HostSettings;
  onLeader(news: LeaderNews): void;
  /** A replica stopped serving; the node goes on with the others. */
  onReplicaFault(record: PartitionRecord, error: KvorumError): void;
}

/** How soon, and how often, a replica stands that need not wait out an election timeout. */
const STAND_DELAY_MS = 100;
const STAND_TRIES = 5;

export class PartitionHost {
  readonly meters = new PartitionMeters();
  readonly #options: HostOptions;
  readonly #groups = new Map<GroupId, Replica>();
  readonly #faults = new Map<GroupId, string>();
  /** Replicas whose nodes said that they are gone; each is logged once. */
  readonly #gone = new Set<ReplicaId>();
  #records = new Map<GroupId, PartitionRecord>();
  #transport: Transport | undefined;
  #dirty = new Set<Replica>();
  #turnAsked = false;
  #timers = new Set<Timer>();
  #opening: Promise<void> = Promise.resolve();
  #syncing: Promise<void> = Promise.resolve();
  #nextSync = 0;
  #stopped = false;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** Begins ticking; messages to peers go through `transport`. */
  async start(transport: Transport): Promise<void> {
    this.#transport = transport;
    await removeOtherGenerations(this.#options.engines, this.#options.log, this.#options.logger);
    this.#scheduleTick();
    this.#scheduleSync();
  }

  /**
   * Takes over the wanted table: replicas of this incarnation are opened or, from a record that
   * names them, created. Resolves when all are open; a replica that fails is reported, not thrown.
   */
  applyTable(records: readonly PartitionRecord[]): Promise<void> {
    this.#records = new Map(records.map((record) => [record.group, record]));
    this.#opening = this.#opening.then(() => this.#openMissing(records));
    return this.#opening;
  }

  local(namespace: Namespace, partition: PartitionId): Replica | undefined {
    for (const replica of this.#groups.values()) {
      if (replica.partition === partition && replica.namespace === namespace) return replica;
    }
    return undefined;
  }

  replicas(): readonly Replica[] {
    return [...this.#groups.values()];
  }

  /** Groups of this node that stopped after a fault, with the reason. */
  faults(): ReadonlyMap<GroupId, string> {
    return this.#faults;
  }

  onMessages(from: NodeId, messages: readonly GroupMessage[]): void {
    for (const { group, message } of messages) {
      const replica = this.#groups.get(group);
      if (message.type === 'gone') this.#onGone(from, group, message.from);
      else if (replica?.id === message.to) replica.step(message);
      // A frame for a replica that is not here creates nothing (decision 18).
      else if (this.#neverHere(group, message.to)) {
        const { from: to, to: gone } = message;
        this.#transport?.send(from, group, { type: 'gone', from: gone, to, term: 0 });
      }
    }
  }

  /** True when the wanted table is known and does not give this node such a replica. */
  #neverHere(group: GroupId, id: ReplicaId): boolean {
    if (this.#records.size === 0) return false;
    const { node, incarnation } = this.#options;
    const own = this.#records.get(group)?.replicas.find((replica) => replica.replica === id);
    return own?.node !== node || own.incarnation !== incarnation;
  }

  /** The other node has lost the replica, with its disk: nothing goes there until it is replaced. */
  #onGone(node: NodeId, group: GroupId, id: ReplicaId): void {
    const replica = this.#groups.get(group);
    if (replica === undefined || replica.id === id) return;
    replica.reportUnreachable(id);
    if (this.#gone.has(id)) return;
    this.#gone.add(id);
    const { namespace, partition } = replica;
    const fields = { namespace, partition, replica: id, node };
    this.#options.logger.warn('a replica is gone: its node has no data of it', fields);
  }

  async onStream(header: Buffer, chunks: AsyncIterable<Buffer>): Promise<void> {
    const snapshot = decodeSnapshotHeader(header);
    const { group, message } = snapshot;
    const replica = this.#groups.get(group);
    if (replica?.id !== message.to) {
      throw new KvorumError('REPLICA_GONE', `replica ${message.to} of group ${group} is not here`);
    }
    await replica.receiveSnapshot(snapshot, chunks);
  }

  /** A peer asks how much of its snapshot is here. */
  snapshotProgress(body: Buffer): Buffer {
    const { group, replica, id } = decodeProgressQuery(body);
    const own = this.#groups.get(group);
    return encodeProgress(own?.id === replica ? own.snapshotProgress(id) : 0);
  }

  /** A peer node came or went: groups led there look for a leader at once (decision 19). */
  onPeer(node: NodeId, reachable: boolean): void {
    if (reachable) return;
    for (const replica of this.#groups.values()) {
      for (const member of this.#recordOf(replica).replicas) {
        if (member.node !== node || member.replica === replica.id) continue;
        replica.reportUnreachable(member.replica);
        if (replica.leader === member.replica) this.#orphaned(replica);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    await this.#opening;
    await this.#syncing;
    await Promise.all([...this.#groups.values()].map((replica) => replica.stop()));
  }

  #recordOf(replica: Replica): PartitionRecord {
    return this.#records.get(replica.record.group) ?? replica.record;
  }

  async #openMissing(records: readonly PartitionRecord[]): Promise<void> {
    const { node, incarnation } = this.#options;
    for (const record of records) {
      if (this.#stopped) return;
      const own = record.replicas.find((r) => r.node === node && r.incarnation === incarnation);
      if (own === undefined || this.#groups.has(record.group)) continue;
      if (this.#faults.has(record.group)) continue;
      await this.#open(record, own);
    }
  }

  async #open(record: PartitionRecord, own: ReplicaRecord): Promise<void> {
    try {
      const open = await openReplica(this.#options, record, own);
      if (this.#stopped) {
        await open.engine.close();
        return;
      }
      const replica: Replica = new Replica(
        this.#worldOf(record, own.replica, () => replica),
        open,
      );
      this.#groups.set(record.group, replica);
      this.#requestTurn(replica);
      // The replica that should lead.
      if (record.replicas[0]?.replica === replica.id) this.#stand(replica, this.#standDelayMs());
    } catch (failure) {
      this.#fault(record, failure);
    }
  }

  #fault(record: PartitionRecord, failure: unknown): void {
    const error =
      failure instanceof KvorumError
        ? failure
        : new KvorumError('CORRUPT', messageOf(failure), { cause: failure });
    this.#groups.delete(record.group);
    this.#faults.set(record.group, error.message);
    this.#options.onReplicaFault(record, error);
  }

  #worldOf(record: PartitionRecord, id: ReplicaId, replica: () => Replica): ReplicaWorld {
    const { clock, random, log, engines, settings } = this.#options;
    const { namespace, partition, group } = record;
    return {
      clock,
      random,
      log,
      engines,
      settings,
      meters: this.meters,
      logger: this.#options.logger.child({ namespace, partition, replica: id }),
      send: (message) => this.#send(group, message),
      snapshotProgress: (message, snapshot) => this.#askProgress(group, message.to, snapshot),
      streamSnapshot: (message, header, chunks) => this.#stream(group, message, header, chunks),
      requestTurn: () => this.#requestTurn(replica()),
      onRole: (leader, term, role) => this.#onRole(group, leader, term, role),
      onFault: (error) => this.#fault(record, error),
      peerOffsetsMs: () => this.#peerOffsetsMs(group),
    };
  }

  #nodeOf(group: GroupId, id: ReplicaId): NodeId | undefined {
    const record = this.#records.get(group) ?? this.#groups.get(group)?.record;
    const member =
      record?.replicas.find((r) => r.replica === id) ?? record?.birth.find((r) => r.replica === id);
    return member?.node;
  }

  #send(group: GroupId, message: PeerMessage): void {
    const node = this.#nodeOf(group, message.to);
    if (node !== undefined) this.#transport?.send(node, group, message);
  }

  async #askProgress(group: GroupId, replica: ReplicaId, id: number): Promise<number> {
    const node = this.#nodeOf(group, replica);
    if (node === undefined || this.#transport === undefined) return 0;
    return askProgress(this.#transport, node, { group, replica, id });
  }

  #stream(
    group: GroupId,
    message: PeerMessage,
    header: Buffer,
    chunks: AsyncIterable<Buffer>,
  ): Promise<void> {
    const node = this.#nodeOf(group, message.to);
    if (node === undefined || this.#transport === undefined) {
      return Promise.reject(new KvorumError('PEER_UNREACHABLE', `no node for ${message.to}`));
    }
    return this.#transport.stream(node, header, chunks);
  }

  #peerOffsetsMs(group: GroupId): readonly number[] {
    const offsets: number[] = [];
    for (const member of this.#records.get(group)?.replicas ?? []) {
      const offset = this.#transport?.clockOffsetMs(member.node);
      if (offset !== undefined) offsets.push(offset);
    }
    return offsets;
  }

  #onRole(group: GroupId, leader: ReplicaId, term: Term, role: Role): void {
    const record = this.#records.get(group) ?? this.#groups.get(group)?.record;
    if (record === undefined) return;
    const node = leader === 0 ? undefined : this.#nodeOf(group, leader);
    this.#options.onLeader({ record, node, replica: leader, term, own: role === 'leader' });
  }

  /**
   * A replica that need not wait out an election timeout stands at once, and again while nobody
   * leads: the others may not have noticed yet that the leader is gone, and refuse. A group that
   * has a leader refuses it in the pre-vote.
   */
  #stand(replica: Replica, delayMs: number, tries = STAND_TRIES): void {
    this.#schedule(delayMs, () => {
      if (replica.leader !== 0) return;
      replica.campaign();
      if (tries > 1) this.#stand(replica, this.#standDelayMs(), tries - 1);
    });
  }

  #standDelayMs(): number {
    return STAND_DELAY_MS + this.#options.random.below(STAND_DELAY_MS);
  }

  #orphaned(replica: Replica): void {
    replica.forgetLeader();
    const { random, settings } = this.#options;
    this.#stand(replica, random.below(settings.orphanCampaignMs));
  }

  #requestTurn(replica: Replica): void {
    this.#dirty.add(replica);
    if (this.#turnAsked) return;
    this.#turnAsked = true;
    this.#options.clock.endOfTurn(() => this.#turn());
  }

  #turn(): void {
    this.#turnAsked = false;
    const dirty = this.#dirty;
    this.#dirty = new Set();
    for (const replica of dirty) {
      try {
        replica.turn();
      } catch (failure) {
        this.#options.logger.error('replica failed', { error: messageOf(failure) });
        void replica.stop();
        this.#fault(replica.record, failure);
      }
    }
  }

  /** Ticks at the end of a turn: after a stall the sockets are read first (decision 19). */
  #scheduleTick(): void {
    this.#schedule(this.#options.settings.tickMs, () => {
      this.#options.clock.endOfTurn(() => {
        if (this.#stopped) return;
        for (const replica of this.#groups.values()) replica.tick();
        this.#scheduleTick();
      });
    });
  }

  /** One engine at a time, in turn. */
  #scheduleSync(): void {
    this.#schedule(this.#options.settings.engineSyncIntervalMs, () => {
      this.#syncing = this.#syncNext().finally(() => {
        if (!this.#stopped) this.#scheduleSync();
      });
    });
  }

  async #syncNext(): Promise<void> {
    const all = [...this.#groups.values()];
    for (let tried = 0; tried < all.length; tried++) {
      const replica = all[this.#nextSync++ % all.length]!;
      if (!replica.dirty) continue;
      try {
        await replica.syncAndCompact();
      } catch (failure) {
        if (codeOf(failure) !== 'STOPPING') this.#fault(replica.record, failure);
      }
      return;
    }
  }

  #schedule(delayMs: number, run: () => void): void {
    const timer = this.#options.clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#stopped) run();
    });
    this.#timers.add(timer);
  }
}
