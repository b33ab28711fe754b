/**
 * All replicas of a node: gives each turn to those with something to do, ticks them and hands them
 * their messages. Which of them run is the matter of `replica-set.ts`.
 */

import { must } from '../../common/assert.ts';
import type { Timer } from '../../common/clock.ts';
import { KvorumError } from '../../common/errors.ts';
import type { GroupId, Namespace, NodeId, PartitionId, ReplicaId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { PartitionRecord } from '../../meta/schema.ts';
import { RankPool } from '../encoding/rank-trees.ts';
import { withWriteBehind } from '../engine/write-behind.ts';
import type { GroupMessage, Transport } from '../transport/transport.ts';
import { Cohorts } from './cohort.ts';
import { CommitNews } from './commit-news.ts';
import { wantedOf } from './convergence.ts';
import { Courier } from './courier.ts';
import { Departures } from './departures.ts';
import { GoneMembers } from './gone-members.ts';
import type { HostOptions } from './host-options.ts';
import { knownWorld, withHotRanges } from './hot-engines.ts';
import { KeyEventGate } from './key-event-gate.ts';
import { LateAppends } from './late-appends.ts';
import { giveAwayAll } from './leave.ts';
import { MemberNodes } from './member-nodes.ts';
import { PartitionMeters } from './meters.ts';
import { removeOtherGenerations } from './open-replica.ts';
import { Orphans } from './orphans.ts';
import { Pace } from './pace.ts';
import { PeerRequests } from './peer-requests.ts';
import { Places } from './places.ts';
import { PromptNodes } from './prompt-nodes.ts';
import type { Replica } from './replica.ts';
import { ReplicaSet, type WantedTable } from './replica-set.ts';
import type { ReplicaWorld, RoleNews } from './replica-world.ts';
import { ReturnHold } from './return-hold.ts';
import { SleepWatch } from './sleep-watch.ts';
import { sleepersOf } from './sleepers.ts';
import { decodeSnapshotHeader } from './snapshot-codec.ts';
import { Stand } from './stand.ts';
import { Ticks } from './ticks.ts';
import { guarded, Turns } from './turns.ts';
import { Upkeep } from './upkeep.ts';

/** Frames from node to node, not from replica to replica. */
const NO_GROUP = 0;

export class PartitionHost {
  readonly meters = new PartitionMeters();
  /** When writes leave this node, and who is called at the end of a turn. */
  readonly cohorts: Cohorts;
  readonly turns: Turns;
  /** Which groups' replicas take part in nothing yet. */
  readonly hold: ReturnHold;
  readonly #options: HostOptions;
  readonly #set: ReplicaSet;
  readonly #members = new MemberNodes();
  readonly #stand: Stand;
  readonly #orphans: Orphans;
  readonly #upkeep: Upkeep;
  readonly #sleepWatch: SleepWatch;
  /** Groups whose membership this node's leaders are changing, and those they hand over. */
  readonly #changing = new Places(limits.membershipChangesPerNodeMax);
  readonly #transfers = new Places(limits.leaderTransfersPerNodeMax);
  readonly #departures = new Departures();
  readonly #prompt = new PromptNodes(this.#members);
  readonly #requests: PeerRequests;
  readonly #pace: Pace;
  readonly #ranks = new RankPool();
  readonly #lateAppends: LateAppends;
  readonly #ticks: Ticks;
  readonly #gone = new GoneMembers((...asked) => this.hold.askWhy(...asked));
  #underLease: ReadonlySet<Namespace> = new Set();
  #transport: Transport | undefined;
  #courier: Courier | undefined;
  #news: CommitNews | undefined;
  #timers = new Set<Timer>();
  #stopped = false;

  constructor(options: HostOptions) {
    const { clock, settings } = options;
    const after = (delayMs: number, run: () => void) => this.#after(delayMs, run);
    const known = knownWorld(clock, settings, options.random.fork('known records'));
    const behind = withWriteBehind(options.engines, {
      clock,
      batchBytesMax: settings.behindBatchBytesMax,
      onFailure: (name, error) => this.#onEngineFailure(name, error),
    });
    this.#options = { ...options, engines: withHotRanges(behind, known) };
    this.#set = new ReplicaSet({
      ...this.#options,
      worldOf: (record, id, replica) => this.#worldOf(record, id, replica),
      onOpened: (replica) => this.#onOpened(replica),
      onRemoved: (group) => {
        this.#members.forget(group);
        this.#gone.forget(group);
        this.#ticks.changed();
      },
      onFault: (...fault) => this.#onFault(...fault),
      after,
    });
    this.cohorts = new Cohorts(options.clock);
    this.turns = new Turns(options.clock);
    this.#lateAppends = new LateAppends(after);
    this.#pace = new Pace(options.clock);
    this.#stand = new Stand(options.random, after);
    const campaignMs = settings.orphanCampaignMs;
    this.#orphans = new Orphans({ ...options, stand: this.#stand, campaignMs, after });
    this.hold = new ReturnHold({
      nodeOf: (group, replica) => this.#members.nodeOf(group, replica),
      request: (to, body, timeoutMs) => this.#transport!.request(to, body, timeoutMs),
      after,
      onReleased: (group) => this.#standFirst(this.#set.get(group)),
      onGivenUp: (group) => this.#set.deny(group),
    });
    this.#ticks = this.#createTicks();
    this.#sleepWatch = new SleepWatch({
      era: () => this.#ticks.era,
      sleepers: () => sleepersOf(this.#set, this.#members),
      peers: () => this.#members.nodes().filter((node) => node !== options.node),
      send: (to, message) => this.#transport?.send(to, NO_GROUP, message),
      request: (...asked) => this.#transport!.request(...asked),
    });
    this.#requests = new PeerRequests(this.#set, this.#members, this.#departures, this.#sleepWatch);
    this.#upkeep = new Upkeep({
      ...options,
      replicas: () => this.replicas(),
      rests: (replica) => this.#ticks.rests(replica),
      onFault: (replica, error) => replica.fail(error),
    });
  }

  /** Begins ticking; messages to peers go through `transport`. */
  async start(transport: Transport): Promise<void> {
    this.#transport = transport;
    const courier = new Courier(this.#members, transport);
    this.#courier = courier;
    this.#news = new CommitNews({
      after: (delayMs, run) => this.#after(delayMs, run),
      send: (group, message) => courier.send(group, message),
    });
    await removeOtherGenerations(this.#options.engines, this.#options.log, this.#options.logger);
    this.#ticks.start();
    this.#upkeep.start();
  }

  /**
   * Takes over the wanted table and what the leaders reported: replicas of this incarnation are
   * opened or, from a record that names them, created; those that their groups have let go, or whose
   * groups are deleted, are removed.
   * Resolves when that is done; a replica that fails is reported, not thrown.
   */
  applyTable(table: WantedTable): Promise<void> {
    this.#underLease = table.underLease;
    const changed = this.#members.setRecords(table.records);
    this.#ticks.changed();
    for (const group of changed) this.#set.get(group)?.wake();
    return this.#set.apply(table);
  }

  /** How reads of the namespace are to be confirmed. */
  reads(namespace: Namespace): 'linearizable' | 'lease' {
    return this.#underLease.has(namespace) ? 'lease' : 'linearizable';
  }

  /**
   * The table is not older than the node's registration in this life: replicas of groups that it
   * still names take part again (`return-hold.ts`).
   */
  current(): void {
    void this.#set.arranged().then(() => this.hold.end());
  }

  /**
   * Before the node stops: the others are told, and its leaders handed over. Resolves, soon after
   * `boundMs` at the latest, to how many it still leads.
   */
  async leave(boundMs: number): Promise<number> {
    const { node, clock } = this.#options;
    const transport = must(this.#transport, 'a node that leaves has started');
    const peers = this.#members.nodes().filter((one) => one !== node && transport.isReachable(one));
    await this.#departures.announce(transport, peers);
    return giveAwayAll(clock, () => this.replicas(), boundMs);
  }

  /** Before the node has to go at once: its leaders ask others to take over. */
  handOver(): void {
    for (const replica of this.#set.all()) guarded(replica, () => replica.handOver());
  }

  /** `group`: whose it must be; one that runs here may be of a namespace that was deleted since. */
  local(namespace: Namespace, partition: PartitionId, group?: GroupId): Replica | undefined {
    const replica = this.#set.of(namespace, partition);
    return group === undefined || replica?.record.group === group ? replica : undefined;
  }

  replicas(): readonly Replica[] {
    return this.#set.list();
  }

  /** The newest wanted record of a replica's group. */
  recordOf({ record }: Replica): PartitionRecord {
    return this.#members.record(record.group) ?? record;
  }

  /** Groups of this node that stopped after a fault, with the reason. */
  readonly faults = (): ReadonlyMap<GroupId, string> => this.#set.faults();

  /** The replicas that these are of, in order. */
  readonly stopped = (): readonly ReplicaId[] => this.#set.stopped();

  onMessages(from: NodeId, messages: readonly GroupMessage[]): void {
    for (const { group, message } of messages) {
      const replica = this.#set.get(group);
      if (message.type === 'gone') this.#onGone(from, group, message.from);
      else if (message.type === 'sleepers') this.#sleepWatch.onDigest(from, message);
      else if (replica?.id === message.to) {
        if (this.hold.holds(group)) continue;
        this.#members.heard(group, message.from, from);
        if (message.type === 'sleep' || message.type === 'asleep') replica.stepSleep(message);
        else replica.step(message);
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
    const replica = this.#set.get(group);
    if (replica === undefined || replica.id === id) return;
    replica.reportUnreachable(id);
    if (!this.#gone.isNew(node, { group, replica: id })) return;
    const { namespace, partition } = replica;
    const fields = { namespace, partition, replica: id, node };
    this.#options.logger.info('a replica is not on its node', fields);
  }

  async onStream(header: Buffer, chunks: AsyncIterable<Buffer>): Promise<void> {
    const snapshot = decodeSnapshotHeader(header);
    const { group, message } = snapshot;
    const replica = this.#set.get(group);
    if (replica?.id !== message.to || this.hold.holds(group)) {
      throw new KvorumError('REPLICA_GONE', `replica ${message.to} of group ${group} is not here`);
    }
    await replica.receiveSnapshot(snapshot, chunks);
  }

  /** A peer's question about what is here, or its word that it stops; undefined: neither. */
  onRequest(from: NodeId, body: Buffer): Buffer | undefined {
    return this.#requests.answer(from, body);
  }

  /**
   * A peer node came or went: groups with a member there wake, those led by a node that went look
   * for a leader at once (decision 19).
   */
  onPeer(node: NodeId, reachable: boolean): void {
    this.#departures.forget(node);
    this.#orphans.onPeer(node, reachable);
    for (const [group, replica] of this.#set.entries()) {
      for (const member of this.#members.on(node, group)) {
        if (member === replica.id) continue;
        replica.wake();
        if (reachable) continue;
        replica.reportUnreachable(member);
        if (!this.hold.holds(group)) this.#orphans.seek(replica, member, node);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#ticks.stop();
    for (const timer of this.#timers) timer.cancel();
    await this.#set.settle();
    await this.#upkeep.stop();
    await this.#set.stop();
  }

  #onOpened(replica: Replica): void {
    this.#requestTurn(replica);
    this.hold.opened(replica);
    if (!this.hold.holds(replica.record.group)) this.#standFirst(replica);
  }

  /** The replica that should lead does not wait for an election timeout. */
  #standFirst(replica: Replica | undefined): void {
    if (replica === undefined || replica.record.replicas[0]?.replica !== replica.id) return;
    this.#stand.for(replica, 100 + this.#options.random.below(100));
  }

  /** What was written behind failed: no write need come that would tell. */
  #onEngineFailure(name: string, error: KvorumError): void {
    for (const replica of this.#set.all()) {
      if (replica.engineName === name) guarded(replica, () => replica.fail(error));
    }
  }

  #onFault(
    record: PartitionRecord,
    id: ReplicaId,
    error: KvorumError,
    failed: Replica | undefined,
  ): void {
    this.#changing.give(record.group);
    this.#transfers.give(record.group);
    this.#ticks.changed();
    if (error.code === 'CORRUPT' && failed) this.#upkeep.locate(failed, this.#options.logger);
    this.#options.onReplicaFault(record, id, error);
  }

  #worldOf(record: PartitionRecord, id: ReplicaId, replica: () => Replica): ReplicaWorld {
    const { clock, random, log, engines, notes, settings } = this.#options;
    const { namespace, partition, group } = record;
    const courier = must(this.#courier, 'replicas are opened after the start');
    const news = must(this.#news, 'replicas are opened after the start');
    return {
      clock,
      random,
      log,
      engines,
      settings,
      meters: this.meters,
      pace: this.#pace,
      cohort: this.cohorts.join(() => this.#requestTurn(replica())),
      ranks: this.#ranks,
      logger: this.#options.logger.child({ namespace, partition, replica: id }),
      send: (message) => news.send(group, message),
      isReachable: (member) => courier.isReachable(group, member),
      snapshotProgress: ({ to }, snapshot) => courier.askProgress(group, to, snapshot),
      streamSnapshot: (message, header, chunks) => courier.stream(group, message, header, chunks),
      requestTurn: () => this.#requestTurn(replica()),
      requestLateAppends: () => this.#lateAppends.request(replica()),
      onRole: (news) => this.#onRole(record, news),
      keyEvents: new KeyEventGate(this.#options.keyEvents, namespace, replica),
      onFault: (error) => this.#set.fault(record, id, error),
      wanted: () => wantedOf(this.#members.record(group) ?? record),
      underLease: () => this.#underLease.has(namespace) && notes.mayPromise(id),
      beginChange: () => this.#changing.take(group),
      endChange: () => this.#changing.give(group),
      mayLead: (member) => this.#mayLead(group, member),
      beginTransfer: () => this.#transfers.take(group),
      endTransfer: () => this.#transfers.give(group),
      judgeRace: (...race) => this.#prompt.judge(group, ...race),
      wallMs: (member) => courier.wallMs(group, member),
    };
  }

  #mayLead(group: GroupId, member: ReplicaId): boolean {
    const node = this.#members.nodeOf(group, member);
    if (node === undefined || this.#departures.isLeaving(node)) return false;
    return this.#transport?.isReachable(node) === true;
  }

  #onRole(birth: PartitionRecord, { leader, ...news }: RoleNews): void {
    const { group } = birth;
    const record = this.#members.record(group) ?? birth;
    const node = leader === 0 ? undefined : this.#members.nodeOf(group, leader);
    this.#options.onLeader({ ...news, record, node, replica: leader });
  }

  #requestTurn(replica: Replica): void {
    this.turns.request(replica);
    this.#ticks.stir(replica);
  }

  #createTicks(): Ticks {
    return new Ticks({
      clock: this.#options.clock,
      tickMs: this.#options.settings.tickMs,
      isServing: (group, replica) => {
        if (this.#set.get(group) !== replica) return 'no';
        return this.hold.holds(group) ? 'held' : 'yes';
      },
      onStirred: (replica) => this.#upkeep.watch(replica),
      onTicks: (ticks) => this.#sleepWatch.tick(ticks),
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
