/** A node as node commands see it: three datanodes, settings and sessions in memory. */

import { assert } from '../../../src/common/assert.ts';
import { systemClock } from '../../../src/common/clock.ts';
import { LatencyHistogram } from '../../../src/common/latency-histogram.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { KVORUM_VERSION } from '../../../src/common/version.ts';
import { Access } from '../../../src/datanode/acl/access.ts';
import type { SlotsLed } from '../../../src/datanode/commands/cluster/cluster-figures.ts';
import type { Tracking } from '../../../src/datanode/commands/connection/tracking-port.ts';
import {
  createSubscriber,
  type Delivery,
} from '../../../src/datanode/commands/pubsub/pubsub-port.ts';
import type {
  ClusterNode,
  Door,
  Follower,
  LibraryCounts,
  NodeContext,
  Queued,
  ServerInfo,
  Session,
  Traffic,
} from '../../../src/datanode/commands/rows/node-context.ts';
import { resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import { PubSubHub } from '../../../src/datanode/pubsub/hub.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { CommandWatch } from '../../../src/datanode/server/command-watch.ts';
import { defaultServerSettings } from '../../../src/datanode/server/settings.ts';
import { ServerStats } from '../../../src/datanode/server/stats.ts';
import { TrackedClient } from '../../../src/datanode/tracking/tracked-client.ts';
import { noteSent } from '../../sent-commands.ts';
import { MemoryUsers } from '../acl/users.ts';
import { FakeBackups } from './fake-backups.ts';

export const NOW_MS = 1_700_000_000_123;

export class FakeSession implements Session {
  readonly id: number;
  readonly door: Door;
  readonly remote: string;
  readonly local: string;
  readonly connectedMs = NOW_MS - 5_000;
  readonly deliveries: Delivery[] = [];
  readonly subscriber = createSubscriber((delivery) => this.deliveries.push(delivery));
  protocol: 2 | 3 = 2;
  namespace = 'default';
  user = 'default';
  clientName = '';
  libraryName = '';
  libraryVersion = '';
  readOnly = false;
  notified = false;
  replyMode: 'on' | 'off' | 'skip' = 'on';
  blocked: Session['blocked'];
  heldBack = false;
  syncs: Session['syncs'] = 'unsaid';
  noEvict = false;
  noTouch = false;
  monitors = false;
  witnesses: Session['witnesses'];
  tracking: Session['tracking'];
  readonly invalidations: Delivery[] = [];
  readonly pushed: Reply[] = [];
  waiting: Queued = { requestBytes: 0, replies: 0, replyBytes: 0, transaction: -1, watched: 0 };
  lastCommand = '';
  lastCommandMs = NOW_MS - 2_000;
  commandsRun = 0;
  ended: 'no' | 'after-reply' | 'killed' = 'no';

  constructor(id: number, door: Door) {
    this.id = id;
    this.door = door;
    this.remote = `127.0.0.1:${50_000 + id}`;
    this.local = `127.0.0.1:${door === 'cluster' ? 7_001 : 6_379}`;
  }

  closeAfterReply(): void {
    this.ended = 'after-reply';
  }

  kill(): void {
    this.ended = 'killed';
  }

  queued(): Queued {
    return this.waiting;
  }

  traffic(): Traffic {
    return { inputBytes: 40 + this.id, outputBytes: 90 + this.id };
  }

  async taken(): Promise<void> {}

  push(reply: Reply): void {
    this.pushed.push(reply);
  }

  invalidate(delivery: Delivery): void {
    this.invalidations.push(delivery);
  }
}

function datanode(number: number, slots: ClusterNode['slots']): ClusterNode {
  return {
    node: `n${number}`,
    clusterNodeId: String(number).repeat(40),
    host: '127.0.0.1',
    clusterPort: 7_000 + number,
    gatewayPort: 6_378 + number,
    alive: number !== 3,
    myself: number === 1,
    slots,
  };
}

export class FakeNode {
  readonly session: FakeSession;
  readonly others: FakeSession[];
  readonly slept: number[] = [];
  readonly pubsub = new PubSubHub({ clock: systemClock, logger: silentLogger }, () => undefined);
  readonly backups = new FakeBackups();
  libraryCounts: LibraryCounts | undefined;
  readonly settings = new Map([
    ['value-bytes-max', '16777216'],
    ['maxclients', '10000'],
    ['slowlog-max-len', '128'],
    ['acllog-max-len', '128'],
    ['notify-keyspace-events', ''],
  ]);
  readonly watchSettings = { ...defaultServerSettings, latencyThresholdMs: 100 };
  readonly watch = new CommandWatch({
    clock: { ...systemClock, wallMs: () => NOW_MS },
    logger: silentLogger,
    stats: new ServerStats(),
    settings: () => this.watchSettings,
  });
  readonly users = new MemoryUsers();
  readonly acl = new Access({
    clock: { ...systemClock, wallMs: () => NOW_MS },
    random: seededRandom('users'),
    store: this.users,
    sessions: () => [this.session, ...this.others],
    logEntriesMax: () => 128,
  });
  /** Without partitions there is nothing that changes. */
  readonly tracking: Tracking = {
    enable: (session, options) => {
      const client = (session.tracking as TrackedClient) ?? new TrackedClient(session, options);
      client.change(options);
      session.tracking = client;
      return undefined;
    },
    disable: (session) => {
      session.tracking = undefined;
    },
    info: () => this.info.tracking,
  };
  statisticsResets = 0;
  activeExpire = true;
  info: ServerInfo = serverInfo;
  slotted = true;
  followers: readonly Follower[] = [];
  slotsLed: SlotsLed = { isEverLed: true, failed: 0, suspected: 0 };
  nodes: readonly ClusterNode[] = [
    datanode(1, [[0, 8_191]]),
    datanode(2, [
      [8_192, 16_382],
      [16_383, 16_383],
    ]),
    datanode(3, []),
  ];

  constructor(door: Door = 'gateway') {
    this.session = new FakeSession(1, door);
    this.others = [new FakeSession(2, door), new FakeSession(3, door)];
    this.users.follow(this.acl);
  }

  /** Runs a request given as words; the reply. */
  async call(...words: string[]): Promise<Reply> {
    const args = words.map((text) => Buffer.from(text));
    const command = resolveCommand(args);
    assert(command?.kind === 'node', `${words[0]} is a node command`);
    const reply = await command.run(args, this.context());
    noteSent(command.name);
    return reply;
  }

  /** What a command of the node is given. */
  context(): NodeContext {
    return {
      session: this.session,
      nowMs: NOW_MS,
      pubsub: this.pubsub,
      backups: this.backups,
      tracking: this.tracking,
      info: () => this.info,
      sessions: () => [this.session, ...this.others],
      clusterNodes: () => this.nodes,
      slotRanges: () =>
        this.nodes
          .flatMap((leader) => leader.slots.map(([from, to]) => ({ from, to, leader })))
          .map((range) => ({ ...range, followers: this.followers }))
          .sort((a, b) => a.from - b.from),
      hasSlots: () => this.slotted,
      slotsLed: () => this.slotsLed,
      hasNamespace: (namespace) => namespace === 'default' || namespace === 'db2',
      keyCounts: async () => new Map([['default', { keys: 7, expires: 2 }]]),
      libraryCounts: async () => this.libraryCounts,
      settings: () => this.settings,
      settingProblem: (name, value) =>
        name === 'maxclients' && value > 20_000 ? 'too many for this system' : undefined,
      setSetting: (name, value) => {
        this.settings.set(name, String(value));
      },
      setForCluster: async (name, value) => {
        if (value === 'gg') return 'it is kept in the metadata store: away';
        this.settings.set(name, value);
        return undefined;
      },
      watch: this.watch,
      acl: this.acl,
      followersInSync: () => 1,
      setActiveExpire: (on) => {
        this.activeExpire = on;
      },
      resetStatistics: () => {
        this.statisticsResets += 1;
      },
      sleep: async (delayMs) => {
        this.slept.push(delayMs);
      },
    };
  }
}

function stat(calls: number, microseconds: number, refused = { rejected: 0, failed: 0 }) {
  const latency = new LatencyHistogram();
  for (let call = 0; call < calls; call++) latency.record(microseconds);
  return { calls, microseconds: calls * microseconds, ...refused, latency };
}

function took(microseconds: number): LatencyHistogram {
  const latency = new LatencyHistogram();
  latency.record(microseconds);
  return latency;
}

const slowEntry = {
  ...{ id: 9, atSeconds: 1, microseconds: 12_000, args: [], client: '', clientName: '' },
};

export const serverInfo: ServerInfo = {
  node: 'n1',
  facts: {
    version: KVORUM_VERSION,
    runId: 'a'.repeat(40),
    clusterRunId: 'c'.repeat(40),
    processId: 42,
    startedMs: NOW_MS - 90_000,
    configFile: '/etc/kvorum.yaml',
    os: 'Linux 6.1 x86_64',
    systemMemoryBytes: 8 * 1_073_741_824,
    hz: 10,
    zone: 'dc1',
  },
  usage: {
    heapBytes: 3 * 1_048_576,
    rssBytes: 6 * 1_048_576,
    cpuUserSeconds: 1.5,
    cpuSystemSeconds: 0.25,
  },
  peakHeapBytes: 4 * 1_048_576,
  clusterPort: 7_001,
  clientsMax: 10_000,
  tracking: { clients: 2, keys: 11, items: 13, prefixes: 3 },
  connectedClients: 3,
  slowLog: { length: 2, newest: () => [slowEntry] },
  clientBuffers: { inputBytes: 300, outputBytes: 20_000 },
  blockedClients: 0,
  waits: { timed: 31, keys: 37, groupKeys: 41 },
  watches: { clients: 43, keys: 47 },
  refusals: { auth: 53, command: 59, key: 61, channel: 67 },
  evictedClients: 71,
  totalConnections: 9,
  totalCommands: 100,
  rejectedConnections: 1,
  inputBytes: 1_000,
  outputBytes: 2_000,
  socketReads: 73,
  socketWrites: 79,
  errorReplies: 5,
  rates: { commandsPerSecond: 12.4, inputBytesPerSecond: 1_536, outputBytesPerSecond: 2_048 },
  commandStats: new Map([
    ['get', stat(4, 10)],
    ['set', stat(2, 200, { rejected: 3, failed: 1 })],
    ['config|get', stat(1, 40)],
    ['incr', stat(0, 0, { rejected: 1, failed: 0 })],
  ]),
  errorStats: new Map([
    ['ERR', 4],
    ['MOVED', 1],
  ]),
  heldNow: 2,
  heldTotal: 7,
  forwardedCommands: 11,
  servedCommands: 13,
  repeatedBatches: 17,
  lostEntries: 19,
  loading: false,
  partitions: [
    {
      namespace: 'default',
      partition: 0,
      group: 1,
      role: 'leader',
      term: 4,
      commit: 12,
      applied: 11,
      leader: 'n1',
      lag: 1,
      asleep: true,
      reads: 'lease',
    },
  ],
  replicas: {
    lookups: { hits: 8, misses: 3 },
    expiredKeys: 6,
    expiredFields: 83,
    apply: took(300),
    ranges: { underWay: 3, waiting: 23, bytes: 29 },
    electionsWon: 2,
    leaderLosses: 1,
    snapshotsSent: 1,
    snapshotsReceived: 0,
    snapshotsFailed: 0,
  },
  log: {
    segments: 2,
    bytes: 4_096,
    syncs: 30,
    batches: 31,
    queuedBytes: 0,
    writtenBytes: 9_000,
    syncTime: took(1_500),
  },
  pubsub: {
    channels: 2,
    patterns: 1,
    shardChannels: 3,
    clients: 2,
    lostMessages: 0,
    slowSubscribers: 0,
  },
};
