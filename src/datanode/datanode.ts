/**
 * A whole datanode from parts that are handed in: raft log, partitions, transport, doors and the
 * control path. `main.ts` hands in the real world, the simulator a simulated one.
 */
import { sleep } from '../common/clock.ts';
import { KvorumError } from '../common/errors.ts';
import type { Readiness } from '../common/http/probe-routes.ts';
import type { Incarnation, ReplicaId } from '../common/ids.ts';
import { KVORUM_VERSION } from '../common/version.ts';
import { type PartitionRecord, SCHEMA_VERSION } from '../meta/schema.ts';
import { type ClientNetwork, type ClientTlsFigures, clientNetwork } from './client-network.ts';
import { ClientsRoom } from './clients-room.ts';
import type { ClusterFigures } from './commands/cluster/cluster-figures.ts';
import { NOTIFY_SETTING } from './commands/pubsub/notify-flags.ts';
import type { ServerInfo } from './commands/rows/node-context.ts';
import type { ClusterView, ViewChange } from './coordinator/cluster-view.ts';
import { DatanodeCoordinator } from './coordinator/coordinator.ts';
import type { Identity } from './coordinator/identity.ts';
import { MetaUserStore } from './coordinator/user-store.ts';
import { type DataDir, openDataDir } from './data-dir.ts';
import type { DatanodeOptions } from './datanode-options.ts';
import { depart } from './departure.ts';
import { doorSettings } from './door-settings.ts';
import type { NodeStatus } from './http/server.ts';
import { LeaderReports } from './leader-reports.ts';
import { LoadMeter } from './load-meter.ts';
import { PartitionHost } from './partition/host/host.ts';
import type { ReplicaNotes } from './partition/host/replica-notes.ts';
import type { Replica } from './partition/replica/replica.ts';
import { peerAddresses } from './peers.ts';
import { processFacts } from './process-facts.ts';
import { PubSubHub } from './pubsub/hub.ts';
import { KeyEventPublisher } from './pubsub/key-events.ts';
import type { RaftLog } from './raftlog/raft-log.ts';
import { replicaSettings } from './replica-settings.ts';
import { type DatanodePorts, nodeRecord } from './reports.ts';
import { BackupRouter, type LocalBackups } from './routing/backup-router.ts';
import { MutableRouteTable } from './routing/route-table.ts';
import { Router } from './routing/router.ts';
import { clusterFiguresOf } from './server/node-info.ts';
import { RedisServer } from './server/server.ts';
import { countStreams, receiveStream } from './snapshot-meter.ts';
import {
  type KeyCounts,
  keyCounts,
  libraryCounts,
  partitionInfos,
  readiness,
  replicaStatuses,
} from './status.ts';
import { StoppedReplicas } from './stopped-replica.ts';
import { createTransport } from './transport/tcp-transport.ts';
import type { Transport } from './transport/transport.ts';
import { listenForZan } from './zan/door.ts';

export interface StopOptions {
  readonly handOver?: boolean;
}

const READY_POLL_MS = 10;
/** Time for the last messages to leave. */
const HAND_OVER_MS = 50;
/** A group without a leader for this long does not keep the node from being ready. */
const LEADERS_WAIT_MS = 5_000;

/** Rejects when a port is taken, or the data directory is damaged or of another cluster. */
export async function createDatanode(options: DatanodeOptions): Promise<Datanode> {
  let running: Datanode | undefined;
  const onLogFailure = (error: KvorumError) => {
    if (running === undefined) options.fatal(error);
    else running.onLogFailure(error);
  };
  const dataDir = await openDataDir({ ...options, onLogFailure });
  options.store.bind(dataDir.identity.clusterId);
  const datanode = new Datanode(options, dataDir);
  running = datanode;
  try {
    await datanode.open();
  } catch (failure) {
    await datanode.stop();
    throw failure;
  }
  return datanode;
}

export class Datanode {
  readonly #options: DatanodeOptions;
  readonly #identity: Identity;
  readonly #log: RaftLog;
  readonly #dataDir: DataDir;
  readonly #routes = new MutableRouteTable();
  readonly #host: PartitionHost;
  readonly #router: Router;
  readonly #backups: BackupRouter;
  readonly #pubsub: PubSubHub;
  readonly #keyEvents: KeyEventPublisher;
  readonly #clientsRoom: ClientsRoom;
  readonly #stopped: StoppedReplicas;
  readonly #clientNetwork: ClientNetwork;
  readonly #server: RedisServer;
  readonly #coordinator: DatanodeCoordinator;
  readonly #leaderReports: LeaderReports;
  #transport: Transport | undefined;
  #ports: DatanodePorts | undefined;
  #opened = false;

  constructor(options: DatanodeOptions, dataDir: DataDir) {
    const { identity, log, notes } = dataDir;
    this.#options = options;
    this.#dataDir = dataDir;
    this.#stopped = new StoppedReplicas(options.clock, options.logger);
    this.#identity = identity;
    this.#log = log;
    this.#pubsub = new PubSubHub(options, () => this.#transport);
    this.#keyEvents = new KeyEventPublisher(this.#pubsub);
    this.#host = this.#createHost(notes);
    this.#router = new Router({
      node: identity.node,
      bootId: options.random.hex(8),
      clock: options.clock,
      routes: this.#routes,
      local: (namespace, partition) =>
        this.#host.local(namespace, partition, this.#routes.groupOf(namespace, partition)),
      holds: (group) => this.#host.hold.holds(group),
      faultOf: (group) => this.#host.faults().get(group),
      transport: () => this.#transport!,
      turns: this.#host.turns,
      cohorts: this.#host.cohorts,
    });
    this.#backups = this.#createBackups();
    this.#clientsRoom = new ClientsRoom(options, () => this.#host.replicas().length);
    this.#clientNetwork = clientNetwork(
      options.config.tls,
      options,
      options.credentials,
      () => this.#server.freeClients,
    );
    this.#server = this.#createServer();
    this.#coordinator = this.#createCoordinator(notes);
    this.#leaderReports = new LeaderReports(this.#routes, this.#host.meters, this.#coordinator);
  }

  get incarnation(): Incarnation {
    return this.#identity.incarnation;
  }

  get ports(): DatanodePorts {
    return this.#ports!;
  }

  status(): NodeStatus {
    const { node, incarnation } = this.#identity;
    return {
      node,
      incarnation,
      version: KVORUM_VERSION,
      ready: this.#isReady(),
      faults: Object.fromEntries(this.#host.faults()),
      partitions: replicaStatuses(node, this.#host),
    };
  }

  /** Nothing can be promised any more: leaders are handed over, then the process ends. */
  onLogFailure(error: KvorumError): void {
    this.#options.clock.setTimer(HAND_OVER_MS, () => this.#options.fatal(error));
    this.#host.handOver();
  }

  /** The replicas that run here, for observers. */
  replicas(): readonly Replica[] {
    return this.#host.replicas();
  }

  readiness(): Readiness {
    return readiness(this.#opened, this.#router.leaderless(), this.#host.faults());
  }

  /** What INFO and /metrics tell. */
  info(): ServerInfo {
    return this.#server.info();
  }

  /** What /metrics tells of its clients' TLS. */
  clientTls(): ClientTlsFigures | undefined {
    return this.#clientNetwork.figures();
  }

  /** What CLUSTER INFO tells of the default namespace. */
  cluster(): ClusterFigures | undefined {
    return clusterFiguresOf(this.#routes, this.#identity.node, 'default');
  }

  /** Keys, and those with a deadline, of the partitions this node leads. */
  keyCounts(): KeyCounts {
    return keyCounts(this.#host);
  }

  /** Opens transport, doors and the control path; see `ready` for when it serves. */
  async open(): Promise<void> {
    const { config } = this.#options;
    const host = config.listen ?? config.host;
    this.#transport = await this.#createTransport(host);
    await this.#host.start(countStreams(this.#transport, this.#host.meters));
    const gateway = await this.#server.listen('gateway', { host, port: config.ports.gateway });
    const cluster = await this.#server.listen('cluster', { host, port: config.ports.cluster });
    const follower = await this.#server.listen('follower', { host, port: config.ports.follower });
    const zan = await listenForZan(this.#server, config);
    const ports = { gateway, cluster, follower, transport: this.#transport.port, ...zan };
    this.#ports = ports;
    const record = nodeRecord(config, this.#identity, ports, this.#options.random.hex(8));
    await this.#coordinator.start(record);
  }

  /** Resolves once the node has its table and its replicas, and the groups' leaders are known. */
  async ready(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#opened) await sleep(clock, READY_POLL_MS);
    const untilMs = clock.monotonicMs() + LEADERS_WAIT_MS;
    while (!this.#isReady() && clock.monotonicMs() < untilMs) await sleep(clock, READY_POLL_MS);
  }

  /**
   * Hands over the leaders and withdraws the registration, then lets clients have their last replies
   * and closes everything; what is acknowledged is kept. `handOver` false: the others stop as well.
   */
  async stop({ handOver = true }: StopOptions = {}): Promise<void> {
    const boundMs = this.#options.config.timing['hand-over-ms'];
    if (handOver && boundMs > 0 && this.#opened) {
      const { node } = this.#identity;
      const parts = { node, host: this.#host, coordinator: this.#coordinator };
      await depart({ ...this.#options, ...parts }, boundMs);
    }
    await this.#server.close();
    this.#router.close();
    await this.#coordinator.stop();
    await this.#host.stop();
    await this.#transport?.close();
    this.#pubsub.close();
    await this.#dataDir.close();
  }

  #createHost(notes: ReplicaNotes): PartitionHost {
    const { config, clock, random, logger, engines } = this.#options;
    return new PartitionHost({
      node: this.#identity.node,
      incarnation: this.#identity.incarnation,
      clock,
      random,
      logger,
      log: this.#log,
      engines,
      notes,
      settings: { ...replicaSettings(config), ...this.#options.tuning?.host },
      keyEvents: this.#keyEvents,
      onLeader: (news) => this.#leaderReports.hear(news),
      onReplicaFault: (record, replica, error) => this.#onReplicaFault(record, replica, error),
    });
  }

  #createBackups(): BackupRouter {
    const { backups } = this.#host;
    const open: LocalBackups['open'] = async (namespace, partition, group, withLibraries) => {
      const replica = this.#host.local(namespace, partition, group);
      if (replica !== undefined) return backups.open(replica, withLibraries);
      throw new KvorumError('NO_PARTITION', 'this node has no replica of the partition');
    };
    return new BackupRouter({
      ...{ node: this.#identity.node, clock: this.#options.clock, router: this.#router },
      local: { open, page: (...asked) => backups.page(...asked), close: (id) => backups.close(id) },
      random: this.#options.random.fork('marks of files'),
      transport: () => this.#transport!,
    });
  }

  #createServer(): RedisServer {
    const { config, clock, random, logger, systemMemoryBytes } = this.#options;
    const { network } = this.#clientNetwork;
    return new RedisServer({
      node: this.#identity.node,
      clock,
      random,
      network,
      logger,
      router: this.#router,
      settings: doorSettings(config, systemMemoryBytes),
      tls: config.tls,
      clientsRoom: () => this.#clientsRoom.clients,
      facts: processFacts(this.#options, this.#identity.clusterId),
      meters: this.#host.meters,
      userStore: new MetaUserStore(this.#options.store),
      pubsub: this.#pubsub,
      backups: this.#backups,
      setForCluster: (name, value) => this.#coordinator.setSetting(name, value),
      keyEvents: this.#keyEvents,
      usage: () => this.#options.usage(),
      log: () => this.#log.stats(),
      partitions: () => partitionInfos(this.#identity.node, this.#host),
      loading: () => !this.#opened,
      keyCounts: async () => this.keyCounts(),
      libraryCounts: async (namespace) => libraryCounts(this.#host, namespace),
    });
  }

  #createCoordinator(notes: ReplicaNotes): DatanodeCoordinator {
    const { store, disk, clock, logger, config, fatal } = this.#options;
    const meter = new LoadMeter({
      ...{ node: this.#identity.node, clock, disk, host: this.#host },
      dataDir: config['data-dir'],
      memoryBytes: () => this.#options.usage().rssBytes,
    });
    return new DatanodeCoordinator({
      ...{ store, disk, clock, logger, notes },
      dataDir: config['data-dir'],
      leaseTtlMs: config.timing['lease-ttl-ms'],
      loadReportMs: config.timing['load-report-ms'],
      load: () => meter.read(),
      onChange: (view, change) => this.#onView(view, change),
      onCurrent: () => this.#host.current(),
      onRefused: (error: KvorumError) => fatal(error),
    });
  }

  #createTransport(host: string): Promise<Transport> {
    const { network, peerNetwork, clock, logger, random, config, tuning } = this.#options;
    return createTransport({
      ...{ network: peerNetwork ?? network, clock, logger, random },
      clusterId: this.#identity.clusterId,
      node: this.#identity.node,
      incarnation: this.#identity.incarnation,
      bootId: random.hex(8),
      listen: { host, port: config.ports.transport },
      settings: {
        snapshotBytesPerSecond: config.limits['snapshot-bytes-per-second'],
        ...tuning?.transport,
      },
      handlers: {
        onMessages: (from, messages) => this.#host.onMessages(from, messages),
        onRequest: async (from, body, asker, room) =>
          this.#host.onRequest(from, body) ??
          this.#backups.answer(body) ??
          this.#router.serve(body, asker, room),
        onStream: (_from, header, chunks) =>
          receiveStream(this.#host.meters, this.#host.onStream(header, chunks)),
        onPeer: (node, reachable) => {
          this.#host.onPeer(node, reachable);
          if (!reachable) this.#router.seekLeadersOf(node);
        },
        pubsub: this.#pubsub,
      },
    });
  }

  #onView(view: ClusterView, change: ViewChange): void {
    const users = change.users ? view.users() : undefined;
    if (users !== undefined) this.#server.setUsers(users);
    if (change.nodes) this.#takeNodes(view);
    if (change.settings) this.#keyEvents.take(view.setting(NOTIFY_SETTING));
    if (change.table || change.leaders) this.#takeTable(view);
    else return;
    for (const [group, { node, term }] of view.wantedLeaders()) {
      this.#routes.setLeader(group, node, term);
    }
    for (const [group, led] of view.resignedLeaders()) this.#routes.resignLeader(group, led);
  }

  #takeNodes(view: ClusterView): void {
    const addresses = view.addresses();
    const alive = new Map([...addresses].filter(([node]) => view.isAlive(node)));
    this.#routes.setNodes(alive, addresses);
    this.#host.setBuilds(
      new Map([...addresses].map(([node, { applyVersion }]) => [node, applyVersion])),
    );
    this.#transport?.setPeers(peerAddresses(addresses, this.#identity.node));
  }

  #takeTable(view: ClusterView): void {
    const [records, deletions] = [view.partitions(), view.deletions()];
    this.#routes.setPartitions(records);
    if (records.length + deletions.length === 0) return;
    const more = { memberships: view.memberships(), underLease: view.underLease() };
    void this.#host.applyTable({ records, deletions, ...more }).then(() => {
      this.#opened = true;
      this.#clientsRoom.look();
    });
  }

  #onReplicaFault(record: PartitionRecord, replica: ReplicaId, error: KvorumError): void {
    this.#stopped.tell(record, replica, error);
    if (error.code !== 'CORRUPT') return;
    const [{ namespace, partition }, { node, incarnation }] = [record, this.#identity];
    const damage = { namespace, partition, replica, node, incarnation, reason: error.message };
    this.#coordinator.reportDamage({ version: SCHEMA_VERSION, ...damage });
  }

  #isReady(): boolean {
    return this.#opened && this.#router.leaderless().length === 0;
  }
}
