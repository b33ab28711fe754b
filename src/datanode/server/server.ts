/**
 * The doors of a datanode: the gateway port takes every command and forwards, the cluster port
 * answers for what this node leads and redirects the rest (decision 10).
 */
import type { Clock } from '../../common/clock.ts';
import { messageOf } from '../../common/errors.ts';
import type { Namespace, NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { listenFailure } from '../../common/listen-failure.ts';
import type { Logger } from '../../common/log.ts';
import type { Address, ByteStream, Listener, Network } from '../../common/network.ts';
import type { Random } from '../../common/random.ts';
import type { DatanodeTls } from '../../common/tls/config.ts';
import { ToldFailures } from '../../common/tls/told-failures.ts';
import { Access, type StoredUser, type UserStore } from '../acl/access.ts';
import { formatNotifyFlags, NOTIFY_SETTING } from '../commands/pubsub/notify-flags.ts';
import type { BackupPort } from '../commands/rows/backup-port.ts';
import type {
  Door,
  LibraryCounts,
  LogInfo,
  PartitionInfo,
  ProcessFacts,
  ProcessUsage,
  ServerInfo,
  Session,
} from '../commands/rows/node-context.ts';
import type { PartitionMeters } from '../partition/host/meters.ts';
import type { PubSubHub } from '../pubsub/hub.ts';
import type { KeyEventPublisher } from '../pubsub/key-events.ts';
import type { Router } from '../routing/router.ts';
import { TrackingHub } from '../tracking/hub.ts';
import { ClientMemory } from './client-memory.ts';
import { CommandWatch } from './command-watch.ts';
import { Connection } from './connection.ts';
import type { ClientConnection, ConnectionWorld } from './connection-world.ts';
import { HoldBudget } from './hold-budget.ts';
import { LargestBuffers } from './largest-buffers.ts';
import { LeaderMoves } from './leader-moves.ts';
import { createNodeContext } from './node-info.ts';
import { RateMeter, SAMPLES_SHARE } from './rates.ts';
import { changeSetting, showSettings } from './setting-names.ts';
import type { ServerSettings } from './settings.ts';
import { ServerStats } from './stats.ts';
import { showTlsSettings } from './tls-settings.ts';
import { WaitingClients } from './waiting-clients.ts';

export interface ServerOptions {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly logger: Logger;
  readonly router: Router;
  readonly settings: ServerSettings;
  /** As the configuration has it; absent: nothing speaks TLS. */
  readonly tls?: DatanodeTls;
  /** How many clients the system has room for, whatever the settings are. */
  clientsRoom(): number;
  readonly facts: ProcessFacts;
  readonly meters: PartitionMeters;
  readonly userStore: UserStore;
  readonly pubsub: PubSubHub;
  readonly backups: BackupPort;
  readonly keyEvents: KeyEventPublisher;
  /** Sets what every node of the cluster takes over; rejects when the metadata store is away. */
  setForCluster(name: string, value: string): Promise<void>;
  usage(): ProcessUsage;
  log(): LogInfo;
  partitions(): readonly PartitionInfo[];
  loading(): boolean;
  keyCounts(): Promise<ReadonlyMap<Namespace, { keys: number; expires: number }>>;
  libraryCounts(namespace: Namespace): Promise<LibraryCounts | undefined>;
}

/** How long a stopping server lets clients take their last replies. */
const FINISH_MS = 1_000;

/** Makes a client of a stream. */
export type OpenClient = (
  id: number,
  stream: ByteStream,
  world: ConnectionWorld,
) => ClientConnection;

function openClient(door: Door): OpenClient {
  return (id, stream, world) => new Connection(id, door, stream, world);
}

const tooManyClients = Buffer.from('-ERR max number of clients reached\r\n');

export class RedisServer {
  readonly #options: ServerOptions;
  readonly #stats = new ServerStats();
  readonly #budget = new HoldBudget();
  readonly #gatherBudget = new HoldBudget(limits.clientsMax, limits.gatherNodeBytesMax);
  readonly #rates: RateMeter;
  readonly #connections = new Set<ClientConnection>();
  readonly #buffers = new LargestBuffers(this.#connections, SAMPLES_SHARE);
  readonly #listeners: Listener[] = [];
  readonly #world: ConnectionWorld;
  readonly #watch: CommandWatch;
  readonly #access: Access;
  readonly #waiting: WaitingClients;
  readonly #tracking: TrackingHub;
  #settings: ServerSettings;
  #gatewayPort = 0;
  #clusterPort = 0;
  #nextId = 1;
  /** Clients that are being told that there are too many. */
  #refused = 0;
  #closing = false;
  #allClosed: (() => void) | undefined;
  /** Until the users are known: clients whose requests are not read yet. */
  #early: Set<() => void> | undefined = new Set();

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#rates = new RateMeter(options.clock, this.#stats, {
      heapBytes: () => options.usage().heapBytes,
      clients: () => this.#connections.size,
      clientBuffers: () => this.#buffers.look(),
    });
    const { clock, random, logger, router } = options;
    const settings = () => this.#settings;
    this.#waiting = new WaitingClients(clock, router, options.facts.runId);
    const sessions = () => this.#sessions();
    const keysMax = () => settings().trackingTableMaxKeys;
    this.#tracking = new TrackingHub({ clock, router, keysMax });
    this.#access = new Access({
      ...{ clock, random, store: options.userStore, sessions },
      logEntriesMax: () => settings().aclLogEntriesMax,
    });
    new LeaderMoves({ node: options.node, clock, random, routes: router.routes, sessions });
    this.#watch = new CommandWatch({ clock, logger, stats: this.#stats, settings });
    this.#world = {
      node: options.node,
      clock,
      random,
      logger,
      router,
      budget: this.#budget,
      gatherBudget: this.#gatherBudget,
      requests: new ClientMemory(options.settings.requestsBytesMax),
      replies: new ClientMemory(options.settings.repliesBytesMax),
      waiting: this.#waiting,
      stats: this.#stats,
      watch: this.#watch,
      access: this.#access,
      tracking: this.#tracking,
      settings,
      strangers: new ToldFailures(clock, logger),
      certificateUsers: options.tls?.['client-certificate-user'] === 'common-name',
      contextOf: (session) => createNodeContext(this.#nodeInfo(), session),
      onClose: (connection) => this.#onClose(connection),
      onSlowSubscriber: () => options.pubsub.countSlowSubscriber(),
    };
  }

  /** Opens a door; returns the port bound. Rejects with BAD_CONFIG when it cannot be had. */
  async listen(door: Door, address: Address, open: OpenClient = openClient(door)): Promise<number> {
    const accept = (stream: ByteStream) => this.#accept(open, stream);
    const field = door === 'zan' ? 'zan.port' : `ports.${door}`;
    const listener = await this.#options.network.listen(address, accept).catch((failure) => {
      throw listenFailure(failure, address, field);
    });
    this.#listeners.push(listener);
    if (door === 'gateway') this.#gatewayPort = listener.port;
    if (door === 'cluster') this.#clusterPort = listener.port;
    this.#rates.start();
    return listener.port;
  }

  /** The cluster's users; until the first call nobody is served. */
  setUsers(users: readonly StoredUser[]): void {
    this.#access.setUsers(users);
    for (const read of this.#early ?? []) read();
    this.#early = undefined;
  }

  /** How many clients there may be beside those that are served. */
  get freeClients(): number {
    return Math.max(0, this.#clientsMax - this.#connections.size);
  }

  /** What INFO and /metrics tell. */
  info(): ServerInfo {
    const { node, facts, router, meters } = this.#options;
    const stats = this.#stats;
    const usage = { ...this.#options.usage() };
    return {
      node,
      facts,
      usage,
      peakHeapBytes: Math.max(this.#rates.peakHeapBytes, usage.heapBytes),
      clusterPort: this.#clusterPort,
      clientsMax: this.#clientsMax,
      connectedClients: this.#connections.size,
      clientBuffers: this.#rates.clientBuffers(),
      blockedClients: this.#waiting.size + this.#watch.clientPause.waiting,
      waits: this.#waiting.counts,
      watches: this.#watches(),
      refusals: this.#access.refusals,
      evictedClients: stats.evicted,
      totalConnections: stats.connections,
      totalCommands: stats.commands,
      rejectedConnections: stats.rejected,
      inputBytes: stats.inputBytes,
      outputBytes: stats.outputBytes,
      socketReads: stats.reads,
      socketWrites: stats.writes,
      errorReplies: stats.errorReplies,
      rates: this.#rates.rates(),
      commandStats: stats.byCommand,
      errorStats: stats.byErrorCode,
      slowLog: this.#watch.slowLog,
      heldNow: this.#budget.requests,
      heldTotal: this.#budget.requestsEver,
      forwardedCommands: router.forwardedCommands,
      servedCommands: router.servedCommands,
      repeatedBatches: router.repeatedBatches,
      lostEntries: router.lostEntries,
      loading: this.#options.loading(),
      partitions: this.#options.partitions(),
      replicas: meters,
      log: this.#options.log(),
      pubsub: this.#options.pubsub.info(),
      tracking: this.#tracking.info(),
    };
  }

  /** Takes no more clients, answers what is under way, and closes. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#rates.stop();
    this.#watch.unpause();
    this.#waiting.close();
    this.#tracking.close();
    if (this.#connections.size > 0) await this.#finishConnections();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
  }

  #finishConnections(): Promise<void> {
    return new Promise<void>((resolve) => {
      const timer = this.#options.clock.setTimer(FINISH_MS, () => {
        for (const connection of this.#connections) connection.destroy();
        resolve();
      });
      this.#allClosed = () => {
        timer.cancel();
        resolve();
      };
      for (const connection of this.#connections) connection.finish();
    });
  }

  #accept(open: OpenClient, stream: ByteStream): void {
    if (this.#closing || this.#connections.size >= this.#clientsMax) return this.#refuse(stream);
    this.#stats.connections++;
    this.#connections.add(open(this.#nextId++, stream, this.#world));
    this.#rates.noticeClient();
    if (this.#early !== undefined) this.#readLater(stream, this.#early);
  }

  /** Who is told has a file of the system until it has heard: no more than a few may. */
  #refuse(stream: ByteStream): void {
    this.#stats.rejected++;
    this.#refused++;
    stream.attach({ onData: () => {}, onClose: () => this.#refused-- });
    if (this.#refused > limits.clientsRefusedMax) return stream.destroy();
    if (!this.#closing) stream.write(tooManyClients);
    stream.end();
  }

  get #clientsMax(): number {
    return Math.min(this.#settings.clientsMax, this.#options.clientsRoom());
  }

  /** The node has only just started: a client waits a little rather than be told so. */
  #readLater(stream: ByteStream, early: Set<() => void>): void {
    const read = () => {
      timer.cancel();
      early.delete(read);
      stream.resume();
    };
    const timer = this.#options.clock.setTimer(this.#settings.holdMs, read);
    stream.pause();
    early.add(read);
  }

  #onClose(connection: ClientConnection): void {
    this.#connections.delete(connection);
    this.#tracking.disable(connection.session);
    this.#options.pubsub.end(connection.session.subscriber);
    if (this.#connections.size === 0) this.#allClosed?.();
  }

  #nodeInfo() {
    const { node, clock, router } = this.#options;
    return {
      node,
      clock,
      routes: router.routes,
      pubsub: this.#options.pubsub,
      backups: this.#options.backups,
      tracking: this.#tracking,
      info: () => this.info(),
      sessions: () => this.#sessions(),
      keyCounts: () => this.#options.keyCounts(),
      libraryCounts: (namespace: Namespace) => this.#options.libraryCounts(namespace),
      settings: () => this.#shownSettings(),
      settingProblem: (name: string, value: number) => this.#settingProblem(name, value),
      setSetting: (name: string, value: number) => this.#setSetting(name, value),
      setForCluster: (name: string, value: string) => this.#setForCluster(name, value),
      resetStatistics: () => this.#resetStatistics(),
      watch: this.#watch,
      acl: this.#access,
      setActiveExpire: (on: boolean) => {
        this.#options.meters.expiresUnread = on;
      },
    };
  }

  #sessions(): readonly Session[] {
    return [...this.#connections].map((connection) => connection.session);
  }

  #watches(): ServerInfo['watches'] {
    let [clients, keys] = [0, 0];
    for (const { watched } of this.#connections) {
      if (watched > 0) clients++;
      keys += watched;
    }
    return { clients, keys };
  }

  #resetStatistics(): void {
    this.#stats.reset();
    this.#access.resetStatistics();
    this.#rates.reset();
    this.#options.meters.reset();
    this.#options.pubsub.resetStatistics();
  }

  #shownSettings(): ReadonlyMap<string, string> {
    const settings = { ...this.#settings, clientsMax: this.#clientsMax };
    const shown = showSettings(settings, this.#gatewayPort);
    const tls = showTlsSettings(this.#options.tls, this.#gatewayPort);
    const notify = formatNotifyFlags(this.#options.keyEvents.flags);
    return new Map([...shown, ...tls, [NOTIFY_SETTING, notify]]);
  }

  #settingProblem(name: string, value: number): string | undefined {
    const room = this.#options.clientsRoom();
    if (name !== 'maxclients' || value <= room) return undefined;
    return `The operating system is not able to handle the specified number of clients, try with ${room}`;
  }

  /** Only for this process: the config file is what lasts. */
  #setSetting(name: string, value: number): void {
    this.#settings = changeSetting(this.#settings, name, value);
  }

  async #setForCluster(name: string, value: string): Promise<string | undefined> {
    try {
      await this.#options.setForCluster(name, value);
      return undefined;
    } catch (failure) {
      return `it is kept in the metadata store: ${messageOf(failure)}`;
    }
  }
}
