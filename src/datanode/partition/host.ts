/**
 * All replicas of a node: runs those the roster names, gives each turn to those with something to
 * do, ticks them and hands them their messages.
 */
import { must } from '../../common/assert.ts';
import type { Clock, Timer } from '../../common/clock.ts';
import { faultOf, KvorumError, messageOf } from '../../common/errors.ts';
import type {
  GroupId,
  Incarnation,
  Namespace,
  NodeId,
  PartitionId,
  ReplicaId,
  Term,
} from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Logger } from '../../common/log.ts';
import type { Random } from '../../common/random.ts';
import type { Membership, PartitionRecord } from '../../meta/schema.ts';
import type { EngineHost } from '../engine/engine.ts';
import type { RaftLog } from '../raftlog/raft-log.ts';
import type { GroupMessage, Transport } from '../transport/transport.ts';
import { Courier } from './courier.ts';
import type { HostSettings } from './host-settings.ts';
import { MemberNodes } from './member-nodes.ts';
import { openReplica, removeOtherGenerations } from './open-replica.ts';
import { Replica } from './replica.ts';
import type { ReplicaNotes } from './replica-notes.ts';
import type { ReplicaWorld, RoleNews } from './replica-world.ts';
import { newOrigins, planRoster, type Roster, type RosterInput } from './roster.ts';
import { decodeSnapshotHeader } from './snapshot-codec.ts';
import { decodeProgressQuery, encodeProgress } from './snapshot-resume.ts';
import { Stand } from './stand.ts';
import { Upkeep } from './upkeep.ts';

export interface LeaderNews {
  readonly record: PartitionRecord;
  /** Undefined while the group has no leader that this replica knows. */
  readonly node: NodeId | undefined;
  readonly replica: ReplicaId;
  readonly term: Term;
  /** This node's own replica leads. */
  readonly own: boolean;
  readonly membership: Membership;
}

export interface HostOptions {
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly log: RaftLog;
  readonly engines: EngineHost;
  readonly notes: ReplicaNotes;
  readonly settings: HostSettings;
  onLeader(news: LeaderNews): void;
  /** A replica stopped serving (CORRUPT: for good); the node goes on with the others. */
  onReplicaFault(record: PartitionRecord, replica: ReplicaId, error: KvorumError): void;
}

export class PartitionHost {
  readonly #options: HostOptions;
  readonly #groups = new Map<GroupId, Replica>();
  readonly #faults = new Map<GroupId, { readonly id: ReplicaId; readonly message: string }>();
  readonly #members = new MemberNodes();
  readonly #stand: Stand;
  readonly #upkeep: Upkeep;
  /** Groups whose membership this node's leaders are changing. */
  readonly #changing = new Set<GroupId>();
  /** Replicas whose nodes said that they are gone; each is logged once. */
  readonly #gone = new Set<ReplicaId>();
  #transport: Transport | undefined;
  #courier: Courier | undefined;
  #table: Pick<RosterInput, 'records' | 'memberships'> = { records: [], memberships: new Map() };
  #dirty = new Set<Replica>();
  #turnAsked = false;
  #timers = new Set<Timer>();
  #arranging: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#stand = new Stand(options.random, (delayMs, run) => this.#after(delayMs, run));
    this.#upkeep = new Upkeep({
      ...options,
      replicas: () => this.replicas(),
      onFault: (replica, error) => replica.fail(error),
    });
  }

  /** Begins ticking; messages to peers go through `transport`. */
  async start(transport: Transport): Promise<void> {
    this.#transport = transport;
    this.#courier = new Courier(this.#members, transport);
    await removeOtherGenerations(this.#options.engines, this.#options.log, this.#options.logger);
    this.#scheduleTick();
    this.#upkeep.start();
  }

  /**
   * Takes over the wanted table and what the leaders reported: replicas of this incarnation are
   * opened or, from a record that names them, created; those their groups have let go are removed.
   * Resolves when that is done; a replica that fails is reported, not thrown.
   */
  applyTable(
    records: readonly PartitionRecord[],
    memberships: ReadonlyMap<GroupId, Membership> = new Map(),
  ): Promise<void> {
    this.#members.setRecords(records);
    this.#table = { records, memberships };
    return this.#arrangeNext(() => this.#arrange());
  }

  /** Before the node has to go: its leaders ask others to take over. */
  handOver(): void {
    for (const replica of this.#groups.values()) replica.handOver();
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

  /** The newest wanted record of a replica's group. */
  recordOf({ record }: Replica): PartitionRecord {
    return this.#members.record(record.group) ?? record;
  }

  /** Groups of this node that stopped after a fault, with the reason. */
  faults(): ReadonlyMap<GroupId, string> {
    return new Map([...this.#faults].map(([group, { message }]) => [group, message]));
  }

  onMessages(from: NodeId, messages: readonly GroupMessage[]): void {
    for (const { group, message } of messages) {
      const replica = this.#groups.get(group);
      if (message.type === 'gone') this.#onGone(from, group, message.from);
      else if (replica?.id === message.to) {
        this.#members.heard(group, message.from, from);
        replica.step(message);
      }
      // A frame for a replica that is not here creates nothing (decision 18).
      else if (this.#neverHere(group, message.to)) {
        const { from: to, to: gone } = message;
        this.#transport?.send(from, group, { type: 'gone', from: gone, to, term: 0 });
      }
    }
  }

  /** True when the wanted table is known and does not give this node such a replica. */
  #neverHere(group: GroupId, id: ReplicaId): boolean {
    if (!this.#members.known) return false;
    const { node, incarnation } = this.#options;
    const named = this.#members.record(group)?.replicas.find((replica) => replica.replica === id);
    return named?.node !== node || named.incarnation !== incarnation;
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
    this.#options.logger.info('a replica is not on its node', fields);
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
    const { random, settings } = this.#options;
    for (const [group, replica] of this.#groups) {
      for (const member of this.#members.on(node, group)) {
        if (member === replica.id) continue;
        replica.reportUnreachable(member);
        if (replica.leader !== member) continue;
        replica.forgetLeader();
        this.#stand.for(replica, random.below(settings.orphanCampaignMs));
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    await this.#arranging;
    await this.#upkeep.stop();
    await Promise.all([...this.#groups.values()].map((replica) => replica.stop()));
  }

  async #arrange(): Promise<void> {
    const { node, incarnation, log, notes } = this.#options;
    const held = log.replicas();
    const origins = notes.origins();
    const roster = planRoster({ node, incarnation, ...this.#table, held, origins });
    await this.#stopReplaced(roster);
    for (const id of roster.retired) await this.#retire(id);
    await notes.addOrigins(newOrigins(roster, held));
    for (const [group, { record, id }] of roster.run) {
      if (this.#stopped) return;
      const failed = this.#faults.get(group)?.id === id;
      if (!failed && !this.#groups.has(group)) await this.#open(record, id);
    }
  }

  /** Another replica takes the place, or the group goes on without it. */
  async #stopReplaced({ run, retired }: Roster): Promise<void> {
    for (const [group, replica] of this.#groups) {
      const next = run.get(group)?.id;
      if (next === replica.id || (next === undefined && !retired.includes(replica.id))) continue;
      this.#groups.delete(group);
      this.#members.forget(group);
      await replica.stop();
    }
  }

  /** Never to come back under this id; its data goes. */
  async #retire(id: ReplicaId): Promise<void> {
    const { log, engines, notes, logger } = this.#options;
    log.append({ replica: id, tombstone: true }, () => {});
    await log.flush();
    for (const name of await engines.list()) {
      if (name.startsWith(`${id}-`)) await engines.remove(name);
    }
    await notes.forget(id);
    logger.info('replica removed: its group goes on without it', { replica: id });
  }

  async #open(record: PartitionRecord, id: ReplicaId): Promise<void> {
    const { notes, random } = this.#options;
    try {
      const damage = notes.damage(id);
      if (damage !== undefined) throw new KvorumError('CORRUPT', damage);
      const open = await openReplica(this.#options, record, id);
      if (this.#stopped) {
        await open.engine.close();
        return;
      }
      const replica: Replica = new Replica(
        this.#worldOf(record, id, () => replica),
        open,
      );
      this.#groups.set(record.group, replica);
      this.#faults.delete(record.group);
      this.#requestTurn(replica);
      // The replica that should lead.
      if (record.replicas[0]?.replica === id) this.#stand.for(replica, 100 + random.below(100));
    } catch (failure) {
      this.#fault(record, id, failure);
    }
  }

  #fault(record: PartitionRecord, id: ReplicaId, failure: unknown): void {
    if (this.#stopped) return;
    const error = faultOf(failure, `replica ${id}`);
    const failed = this.#groups.get(record.group);
    if (failed?.id === id) this.#groups.delete(record.group);
    if (error.code === 'DISK_FAILED') this.#tryAgain(record.group, id, failed);
    this.#changing.delete(record.group);
    this.#faults.set(record.group, { id, message: error.message });
    if (error.code === 'CORRUPT') {
      if (failed !== undefined) this.#upkeep.locate(failed, this.#options.logger);
      this.#options.notes.addDamage(id, error.message).catch((cause) => {
        this.#options.logger.error('damage not noted', { replica: id, error: messageOf(cause) });
      });
    }
    this.#options.onReplicaFault(record, id, error);
  }

  /** The disk may have been mended (or emptied) meanwhile. */
  #tryAgain(group: GroupId, id: ReplicaId, failed: Replica | undefined): void {
    this.#after(this.#options.settings.diskRetryMs, () => {
      void this.#arrangeNext(async () => {
        await failed?.stop();
        if (this.#faults.get(group)?.id === id) this.#faults.delete(group);
        await this.#arrange();
      });
    });
  }

  /** One after the other; what the disk refused is tried again. */
  #arrangeNext(work: () => Promise<void>): Promise<void> {
    const { logger, settings } = this.#options;
    this.#arranging = this.#arranging.then(work).catch((failure) => {
      if (this.#stopped) return;
      logger.error('replicas could not be arranged', { error: messageOf(failure) });
      this.#after(settings.diskRetryMs, () => void this.#arrangeNext(() => this.#arrange()));
    });
    return this.#arranging;
  }

  #worldOf(record: PartitionRecord, id: ReplicaId, replica: () => Replica): ReplicaWorld {
    const { clock, random, log, engines, settings } = this.#options;
    const { namespace, partition, group } = record;
    const courier = must(this.#courier, 'replicas are opened after the start');
    return {
      clock,
      random,
      log,
      engines,
      settings,
      logger: this.#options.logger.child({ namespace, partition, replica: id }),
      send: (message) => courier.send(group, message),
      snapshotProgress: ({ to }, snapshot) => courier.askProgress(group, to, snapshot),
      streamSnapshot: (message, header, chunks) => courier.stream(group, message, header, chunks),
      requestTurn: () => this.#requestTurn(replica()),
      onRole: (news) => this.#onRole(record, news),
      onFault: (error) => this.#fault(record, id, error),
      wanted: () => {
        const { epoch, replicas } = this.#members.record(group) ?? record;
        return { epoch, replicas: replicas.map((member) => member.replica) };
      },
      beginChange: () => this.#beginChange(group),
      endChange: () => this.#changing.delete(group),
      peerOffsetsMs: () => courier.clockOffsetsMs(group),
    };
  }

  #beginChange(group: GroupId): boolean {
    if (this.#changing.has(group)) return true;
    if (this.#changing.size >= limits.membershipChangesPerNodeMax) return false;
    this.#changing.add(group);
    return true;
  }

  #onRole(birth: PartitionRecord, { leader, term, own, membership }: RoleNews): void {
    const { group } = birth;
    const record = this.#members.record(group) ?? birth;
    const node = leader === 0 ? undefined : this.#members.nodeOf(group, leader);
    this.#options.onLeader({ record, node, replica: leader, term, own, membership });
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
        replica.fail(failure);
      }
    }
  }

  /** Ticks at the end of a turn: after a stall the sockets are read first (decision 19). */
  #scheduleTick(): void {
    this.#after(this.#options.settings.tickMs, () => {
      this.#options.clock.endOfTurn(() => {
        if (this.#stopped) return;
        for (const replica of this.#groups.values()) replica.tick();
        this.#scheduleTick();
      });
    });
  }

  #after(delayMs: number, run: () => void): void {
    const timer = this.#options.clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#stopped) run();
    });
    this.#timers.add(timer);
  }
}
