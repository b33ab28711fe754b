/**
 * All replicas of a node: gives each turn to those with something to do, ticks them and hands them
 * their messages. Which of them run is the matter of `replica-set.ts`, and what they are given of
 * their node that of `replica-worlds.ts`.
 */
import { must } from '../../../common/assert.ts';
import { KvorumError } from '../../../common/errors.ts';
import type { GroupId, Namespace, NodeId, PartitionId, ReplicaId } from '../../../common/ids.ts';
import { TimerSet } from '../../../common/timer-set.ts';
import type { PartitionRecord } from '../../../meta/schema.ts';
import type { EngineHost } from '../../engine/engine.ts';
import { withWriteBehind } from '../../engine/write-behind.ts';
import type { GroupMessage, Transport } from '../../transport/transport.ts';
import { Departures } from '../leading/departures.ts';
import { giveAwayAll } from '../leading/leave.ts';
import { Orphans } from '../leading/orphans.ts';
import { Stand } from '../leading/stand.ts';
import { GoneMembers } from '../members/gone-members.ts';
import { MemberNodes } from '../members/member-nodes.ts';
import type { ToldVersions } from '../members/node-builds.ts';
import { ReturnHold } from '../members/return-hold.ts';
import type { Cohorts } from '../proposing/cohort.ts';
import { knownWorld, withHotRanges } from '../remembering/hot-engines.ts';
import { removeOtherGenerations } from '../replica/open-replica.ts';
import type { Replica } from '../replica/replica.ts';
import { SleepWatch } from '../sleeping/sleep-watch.ts';
import { sleepersOf } from '../sleeping/sleepers.ts';
import { decodeSnapshotHeader } from '../snapshots/snapshot-codec.ts';
import { Ticks } from '../turns/ticks.ts';
import { guarded, Turns } from '../turns/turns.ts';
import { Upkeep } from '../upkeep/upkeep.ts';
import { Backups } from './backups.ts';
import type { HostOptions } from './host-options.ts';
import { PartitionMeters } from './meters.ts';
import { PeerRequests } from './peer-requests.ts';
import { ReplicaSet, type WantedTable } from './replica-set.ts';
import { ReplicaWorlds } from './replica-worlds.ts';

/** Frames from node to node, not from replica to replica. */
const NO_GROUP = 0;

export class PartitionHost {
  readonly meters = new PartitionMeters();
  /** Who is called at the end of a turn. */
  readonly turns: Turns;
  /** Those that are being taken of its partitions. */
  readonly backups: Backups;
  /** Which groups' replicas take part in nothing yet. */
  readonly hold: ReturnHold;
  readonly #options: HostOptions;
  readonly #set: ReplicaSet;
  readonly #members: MemberNodes;
  readonly #stand: Stand;
  readonly #orphans: Orphans;
  readonly #upkeep: Upkeep;
  readonly #sleepWatch: SleepWatch;
  readonly #departures = new Departures();
  readonly #worlds: ReplicaWorlds;
  readonly #requests: PeerRequests;
  readonly #ticks: Ticks;
  readonly #gone = new GoneMembers((...asked) => this.hold.askWhy(...asked));
  #underLease: ReadonlySet<Namespace> = new Set();
  readonly #timers: TimerSet;
  #transport: Transport | undefined;

  constructor(options: HostOptions) {
    const { clock, random, settings } = options;
    this.#timers = new TimerSet(clock);
    const { after } = this.#timers;
    this.#options = { ...options, engines: this.#engines(options) };
    this.#members = new MemberNodes(options.node);
    this.#worlds = this.#createWorlds();
    this.#set = this.#createSet();
    this.turns = new Turns(clock);
    this.backups = new Backups({ ...options, random: random.fork('backups') });
    this.#stand = new Stand(random, after);
    const campaignMs = settings.orphanCampaignMs;
    this.#orphans = new Orphans({ ...options, stand: this.#stand, campaignMs, after });
    this.hold = this.#createHold();
    this.#ticks = this.#createTicks();
    this.#sleepWatch = this.#createSleepWatch();
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
    this.#worlds.start(transport);
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

  /** What all nodes that are known said of their builds. */
  setBuilds(told: ToldVersions): void {
    this.#members.builds.set(told);
  }

  /** When writes leave this node. */
  get cohorts(): Cohorts {
    return this.#worlds.cohorts;
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
    this.#ticks.stop();
    this.#timers.end();
    await this.backups.stop();
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
    this.#stand.for(replica);
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
    this.#worlds.release(record.group);
    this.#ticks.changed();
    if (error.code === 'CORRUPT' && failed) this.#upkeep.locate(failed, this.#options.logger);
    this.#options.onReplicaFault(record, id, error);
  }

  readonly #requestTurn = (replica: Replica): void => {
    this.turns.request(replica);
    this.#ticks.stir(replica);
  };

  /** Engines that write behind, and of which the node remembers what need not be read. */
  #engines({ clock, random, engines, settings }: HostOptions): EngineHost {
    const behind = withWriteBehind(engines, {
      clock,
      batchBytesMax: settings.behindBatchBytesMax,
      onFailure: (name, error) => this.#onEngineFailure(name, error),
    });
    return withHotRanges(behind, knownWorld(clock, settings, random.fork('known records')));
  }

  #createWorlds(): ReplicaWorlds {
    return new ReplicaWorlds(this.#options, {
      meters: this.meters,
      members: this.#members,
      departures: this.#departures,
      after: this.#timers.after,
      requestTurn: this.#requestTurn,
      underLease: (namespace) => this.#underLease.has(namespace),
      onFault: (record, id, error) => this.#set.fault(record, id, error),
    });
  }

  #createSet(): ReplicaSet {
    return new ReplicaSet({
      ...this.#options,
      worldOf: (record, id, replica) => this.#worlds.worldOf(record, id, replica),
      onOpened: (replica) => this.#onOpened(replica),
      onRemoved: (group) => {
        this.#members.forget(group);
        this.#gone.forget(group);
        this.#ticks.changed();
      },
      onFault: (...fault) => this.#onFault(...fault),
      after: this.#timers.after,
    });
  }

  #createHold(): ReturnHold {
    return new ReturnHold({
      nodeOf: (group, replica) => this.#members.nodeOf(group, replica),
      request: (to, body, timeoutMs) => this.#transport!.request(to, body, timeoutMs),
      after: this.#timers.after,
      onReleased: (group) => this.#standFirst(this.#set.get(group)),
      onGivenUp: (group) => this.#set.deny(group),
    });
  }

  #createSleepWatch(): SleepWatch {
    return new SleepWatch({
      era: () => this.#ticks.era,
      sleepers: () => sleepersOf(this.#set, this.#members),
      peers: () => this.#members.nodes().filter((node) => node !== this.#options.node),
      send: (to, message) => this.#transport?.send(to, NO_GROUP, message),
      request: (...asked) => this.#transport!.request(...asked),
    });
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
}
