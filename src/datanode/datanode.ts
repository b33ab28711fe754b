/**
 * A whole datanode from parts that are handed in: raft log, partitions, transport, doors and the
 * control path. `main.ts` hands in the real world, the simulator a simulated one.
 */
import { type Clock, sleep } from '../common/clock.ts';
import type { Disk } from '../common/disk.ts';
import { codeOf, type KvorumError, messageOf } from '../common/errors.ts';
import type { Namespace } from '../common/ids.ts';
import type { Logger } from '../common/log.ts';
import type { Network } from '../common/network.ts';
import type { Random } from '../common/random.ts';
import { KVORUM_VERSION } from '../common/version.ts';
import { type NodeRecord, SCHEMA_VERSION } from '../meta/schema.ts';
import type { MetaStore } from '../meta/store.ts';
import type { DatanodeConfig } from './config.ts';
import type { ClusterView, ViewChange } from './coordinator/cluster-view.ts';
import { DatanodeCoordinator } from './coordinator/coordinator.ts';
import { createIdentity, type Identity, loadIdentity } from './coordinator/identity.ts';
import type { EngineHost } from './engine/engine.ts';
import type { NodeStatus } from './http/server.ts';
import { type LeaderNews, PartitionHost } from './partition/host.ts';
import { defaultHostSettings } from './partition/host-settings.ts';
import { isProgressQuery } from './partition/snapshot-resume.ts';
import type { RaftLog } from './raftlog/raft-log.ts';
import { openSharedLog } from './raftlog/shared-log.ts';
import { MutableRouteTable } from './routing/route-table.ts';
import { Router } from './routing/router.ts';
import { type ProcessFacts, RedisServer } from './server/server.ts';
import { partitionInfos, replicaStatuses } from './status.ts';
import type { TransportSettings } from './transport/settings.ts';
import { createTransport } from './transport/tcp-transport.ts';
import type { Transport } from './transport/transport.ts';

export interface DatanodeOptions {
  readonly config: DatanodeConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly disk: Disk;
  readonly logger: Logger;
  readonly engines: EngineHost;
  readonly store: MetaStore;
  readonly processId: number;
  readonly configFile: string;
  readonly usage: ProcessFacts['usage'];
  readonly transport?: Partial<TransportSettings>;
  /** The node cannot go on: its disk failed, or its name belongs to another. */
  fatal(error: Error): void;
}

export interface DatanodePorts {
  readonly gateway: number;
  readonly cluster: number;
  readonly transport: number;
}

const RETRY_MS = 50;
const READY_POLL_MS = 10;
/** A group without a leader for this long does not keep the node from being ready. */
const LEADERS_WAIT_MS = 5_000;

/** Rejects when a port is taken, or the data directory is damaged or of another cluster. */
export async function createDatanode(options: DatanodeOptions): Promise<Datanode> {
  const identity = await findIdentity(options);
  options.store.bind(identity.clusterId);
  const log = await openSharedLog({
    disk: options.disk,
    dir: `${options.config['data-dir']}/log`,
    clock: options.clock,
    logger: options.logger,
    onFailure: options.fatal,
  });
  const datanode = new Datanode(options, identity, log);
  try {
    await datanode.open();
  } catch (failure) {
    await datanode.stop();
    throw failure;
  }
  return datanode;
}

/** The saved identity, or a new one as soon as the metadata store has a cluster to join. */
async function findIdentity(options: DatanodeOptions): Promise<Identity> {
  const { disk, config, store, random, clock, logger } = options;
  const dataDir = config['data-dir'];
  const saved = await loadIdentity(disk, dataDir, config.name);
  if (saved !== undefined) return saved;
  const giveUpMs = clock.monotonicMs() + 2 * config.timing['lease-ttl-ms'];
  for (let tries = 1; ; tries++) {
    try {
      return await createIdentity(store, disk, dataDir, config.name, random);
    } catch (failure) {
      const mayPass = codeOf(failure) === 'CONFLICT' && clock.monotonicMs() < giveUpMs;
      if (codeOf(failure) !== 'STORE_UNAVAILABLE' && !mayPass) throw failure;
      if (tries % 100 === 1) logger.info('waiting to join', { reason: messageOf(failure) });
      await sleep(clock, RETRY_MS);
    }
  }
}

export class Datanode {
  readonly #options: DatanodeOptions;
  readonly #identity: Identity;
  readonly #log: RaftLog;
  readonly #routes = new MutableRouteTable();
  readonly #host: PartitionHost;
  readonly #router: Router;
  readonly #server: RedisServer;
  readonly #coordinator: DatanodeCoordinator;
  #transport: Transport | undefined;
  #ports: DatanodePorts | undefined;
  #opened = false;

  constructor(options: DatanodeOptions, identity: Identity, log: RaftLog) {
    this.#options = options;
    this.#identity = identity;
    this.#log = log;
    this.#host = this.#createHost();
    this.#router = new Router({
      node: identity.node,
      clock: options.clock,
      routes: this.#routes,
      local: (namespace, partition) => this.#host.local(namespace, partition),
      transport: () => this.#transport!,
    });
    this.#server = this.#createServer();
    this.#coordinator = this.#createCoordinator();
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

  /** Opens transport, doors and the control path; see `ready` for when it serves. */
  async open(): Promise<void> {
    const { config } = this.#options;
    const host = config.listen ?? config.host;
    this.#transport = await this.#createTransport(host);
    await this.#host.start(this.#transport);
    const gateway = await this.#server.listen('gateway', { host, port: config.ports.gateway });
    const cluster = await this.#server.listen('cluster', { host, port: config.ports.cluster });
    this.#ports = { gateway, cluster, transport: this.#transport.port };
    await this.#coordinator.start(this.#record());
  }

  /** Resolves once the node has its table and its replicas, and the groups' leaders are known. */
  async ready(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#opened) await sleep(clock, READY_POLL_MS);
    const untilMs = clock.monotonicMs() + LEADERS_WAIT_MS;
    while (!this.#isReady() && clock.monotonicMs() < untilMs) await sleep(clock, READY_POLL_MS);
  }

  /** Lets clients have their last replies, then closes everything; what is acknowledged is kept. */
  async stop(): Promise<void> {
    await this.#server.close();
    await this.#coordinator.stop();
    await this.#host.stop();
    await this.#transport?.close();
    await this.#log.close();
  }

  #createHost(): PartitionHost {
    const { config, clock, random, logger, engines } = this.#options;
    const { timing } = config;
    return new PartitionHost({
      node: this.#identity.node,
      incarnation: this.#identity.incarnation,
      clock,
      random,
      logger,
      log: this.#log,
      engines,
      settings: {
        ...defaultHostSettings,
        tickMs: timing['tick-ms'],
        electionTicks: timing['election-ticks'],
        heartbeatTicks: timing['heartbeat-ticks'],
        clockSkewMaxMs: timing['max-clock-skew-ms'],
        engineSyncIntervalMs: timing['engine-sync-interval-ms'],
      },
      onLeader: (news) => this.#onLeader(news),
      onReplicaFault: ({ namespace, partition }, error) =>
        logger.error('a replica stopped', { namespace, partition, error: error.message }),
    });
  }

  #createServer(): RedisServer {
    const { config, clock, random, network, logger, processId, configFile, usage } = this.#options;
    return new RedisServer({
      node: this.#identity.node,
      clock,
      random,
      network,
      logger,
      router: this.#router,
      settings: {
        clientsMax: config.limits.maxclients,
        valueBytesMax: config.limits['value-bytes-max'],
        holdMs: config.timing['hold-ms'],
      },
      facts: {
        version: KVORUM_VERSION,
        runId: random.hex(20),
        processId,
        startedMs: clock.wallMs(),
        configFile,
        usage,
      },
      partitions: () => partitionInfos(this.#identity.node, this.#host),
      loading: () => !this.#opened,
      keyCounts: async () => this.#keyCounts(),
    });
  }

  #createCoordinator(): DatanodeCoordinator {
    const { store, disk, clock, logger, config, fatal } = this.#options;
    return new DatanodeCoordinator({
      store,
      disk,
      clock,
      logger,
      dataDir: config['data-dir'],
      leaseTtlMs: config.timing['lease-ttl-ms'],
      onChange: (view, change) => this.#onView(view, change),
      onRefused: (error: KvorumError) => fatal(error),
    });
  }

  #createTransport(host: string): Promise<Transport> {
    const { network, clock, logger, random, config, transport } = this.#options;
    return createTransport({
      network,
      clock,
      logger,
      random,
      clusterId: this.#identity.clusterId,
      node: this.#identity.node,
      incarnation: this.#identity.incarnation,
      bootId: random.hex(8),
      listen: { host, port: config.ports.transport },
      ...(transport && { settings: transport }),
      handlers: {
        onMessages: (from, messages) => this.#host.onMessages(from, messages),
        onRequest: async (_from, body) =>
          isProgressQuery(body) ? this.#host.snapshotProgress(body) : this.#router.serve(body),
        onStream: (_from, header, chunks) => this.#host.onStream(header, chunks),
        onPeer: (node, reachable) => this.#host.onPeer(node, reachable),
      },
    });
  }

  #record(): NodeRecord {
    const { config, random } = this.#options;
    return {
      version: SCHEMA_VERSION,
      node: this.#identity.node,
      incarnation: this.#identity.incarnation,
      bootId: random.hex(8),
      host: config.host,
      transportPort: this.ports.transport,
      gatewayPort: this.ports.gateway,
      clusterPort: this.ports.cluster,
      httpPort: config.ports.http,
      tags: config.tags,
    };
  }

  #onView(view: ClusterView, change: ViewChange): void {
    if (change.nodes) this.#takeNodes(view);
    if (change.table) this.#takeTable(view);
    if (!change.leaders && !change.table) return;
    for (const { namespace, partition, node, term } of view.leaders()) {
      const record = this.#routes.partitions(namespace)?.[partition];
      if (record !== undefined) this.#routes.setLeader(record.group, node, term);
    }
  }

  #takeNodes(view: ClusterView): void {
    const addresses = view.addresses();
    const alive = new Map([...addresses].filter(([node]) => view.isAlive(node)));
    this.#routes.setNodes(alive, addresses);
    const peers = [...addresses].filter(([node]) => node !== this.#identity.node);
    this.#transport?.setPeers(
      new Map(
        peers.map(([node, { host, transportPort, incarnation }]) => [
          node,
          { host, port: transportPort, incarnation },
        ]),
      ),
    );
  }

  #takeTable(view: ClusterView): void {
    const records = view.partitions();
    this.#routes.setPartitions(records);
    if (records.length === 0) return;
    void this.#host.applyTable(records).then(() => {
      this.#opened = true;
    });
  }

  #onLeader({ record, node, replica, term, own }: LeaderNews): void {
    const { namespace, partition, group } = record;
    if (node === undefined) {
      const hint = this.#routes.leader(namespace, partition);
      if (hint !== undefined) this.#routes.withdrawLeader(group, hint);
      return;
    }
    this.#routes.setLeader(group, node, term);
    if (!own) return;
    this.#coordinator.reportLeader({
      version: SCHEMA_VERSION,
      namespace,
      partition,
      node,
      replica,
      term,
    });
  }

  #isReady(): boolean {
    if (!this.#opened) return false;
    return this.#routes
      .namespaces()
      .every((namespace) =>
        this.#routes
          .partitions(namespace)!
          .every(({ partition }) => this.#router.leader(namespace, partition) !== undefined),
      );
  }

  #keyCounts(): ReadonlyMap<Namespace, { keys: number; expires: number }> {
    const counts = new Map<Namespace, { keys: number; expires: number }>();
    for (const replica of this.#host.replicas()) {
      if (!replica.isLeader) continue;
      const sum = counts.get(replica.namespace) ?? { keys: 0, expires: 0 };
      const { keys, expires } = replica.counts();
      counts.set(replica.namespace, { keys: sum.keys + keys, expires: sum.expires + expires });
    }
    return counts;
  }
}
