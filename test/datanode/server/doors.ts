/** The doors of a node over scripted partitions, on real sockets. */
import { connect, type Socket } from 'node:net';
import { type Clock, systemClock } from '../../../src/common/clock.ts';
import { initialShare } from '../../../src/common/hash.ts';
import { LatencyHistogram } from '../../../src/common/latency-histogram.ts';
import { type Logger, silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { tcpNetwork } from '../../../src/common/tcp.ts';
import type { Door } from '../../../src/datanode/commands/rows/node-context.ts';
import { PartitionMeters } from '../../../src/datanode/partition/host/meters.ts';
import { PubSubHub } from '../../../src/datanode/pubsub/hub.ts';
import { KeyEventPublisher } from '../../../src/datanode/pubsub/key-events.ts';
import { MutableRouteTable } from '../../../src/datanode/routing/route-table.ts';
import { Router } from '../../../src/datanode/routing/router.ts';
import { RedisServer, type ServerOptions } from '../../../src/datanode/server/server.ts';
import {
  defaultServerSettings,
  type ServerSettings,
} from '../../../src/datanode/server/settings.ts';
import type { NamespaceRecord, NodeRecord, PartitionRecord } from '../../../src/meta/schema.ts';
import { noteSent } from '../../sent-commands.ts';
import { MemoryUsers } from '../acl/users.ts';
import { FakeBackups } from '../commands/fake-backups.ts';
import { company } from '../routing/company.ts';
import { ScriptedPartition } from './scripted-partition.ts';

export interface Doors {
  readonly gateway: number;
  readonly cluster: number;
  readonly follower: number;
  readonly partitions: readonly ScriptedPartition[];
  readonly routes: MutableRouteTable;
  readonly server: RedisServer;
  readonly users: MemoryUsers;
  readonly pubsub: PubSubHub;
  /** What the server warned of. */
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

const node = (name: string, clusterPort: number): NodeRecord => ({
  version: 1,
  node: name,
  incarnation: `${name}-1`,
  bootId: 'boot',
  host: '127.0.0.1',
  transportPort: 0,
  gatewayPort: 0,
  clusterPort,
  followerPort: clusterPort + 1_000,
  httpPort: 0,
  tags: {},
});

type Hash = NamespaceRecord['hash'];

const record = (partition: number, count: number, hash: Hash): PartitionRecord => {
  const replicas = [{ replica: partition + 1, node: 'a', incarnation: 'a-1' }];
  return {
    version: 1,
    namespace: 'default',
    partition,
    group: partition + 1,
    ...initialShare(hash, partition, count),
    birth: replicas,
    replicas,
    epoch: 1,
    fence: 1,
  };
};

/** The table once an operator has rebuilt a partition: it goes on under a group of its own. */
export function rebuild({ routes }: Doors, partition: number): void {
  const records = routes.partitions('default')!;
  const { group, rebuilt } = records[partition]!;
  const formerGroups = [...(rebuilt?.formerGroups ?? []), group];
  const after = { group: group + 100, rebuilt: { epoch: 2, formerGroups, lost: [] } };
  routes.setPartitions(
    records.map((of) => (of.partition === partition ? { ...of, ...after } : of)),
  );
}

export async function openDoors(
  count = 4,
  settings: Partial<ServerSettings> = {},
  hash: Hash = 'slots',
  clientsRoom = Number.POSITIVE_INFINITY,
  clock: Clock = systemClock,
  speaks: Pick<ServerOptions, 'network' | 'tls'> = { network: tcpNetwork },
): Promise<Doors> {
  const records = Array.from({ length: count }, (_, at) => record(at, count, hash));
  const partitions = await Promise.all(
    records.map(({ partition, firstSlot, lastSlot }) =>
      ScriptedPartition.open(partition, firstSlot, lastSlot),
    ),
  );
  const routes = new MutableRouteTable();
  routes.setPartitions(records);
  routes.setNodes(
    new Map([
      ['a', node('a', 7_001)],
      ['b', node('b', 7_002)],
    ]),
  );
  const router = new Router({
    node: 'a',
    bootId: 'b',
    clock: systemClock,
    ...company(),
    routes,
    local: (_namespace, partition) => partitions[partition],
    transport: () => ({
      request: () => Promise.reject(new Error('no peers in this test')),
      isReachable: () => false,
    }),
  });
  const users = new MemoryUsers();
  const pubsub = new PubSubHub({ clock: systemClock, logger: silentLogger }, () => undefined);
  const keyEvents = new KeyEventPublisher(pubsub);
  const warnings: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (message) => warnings.push(message),
    child: () => logger,
  };
  const server = new RedisServer({
    node: 'a',
    clock,
    random: seededRandom('doors'),
    ...speaks,
    logger,
    router,
    settings: { ...defaultServerSettings, ...settings },
    clientsRoom: () => clientsRoom,
    facts: {
      version: '0',
      runId: '0'.repeat(40),
      clusterRunId: '1'.repeat(40),
      processId: 1,
      startedMs: 0,
      configFile: '',
      os: 'test',
      systemMemoryBytes: 1,
      hz: 10,
      zone: '',
    },
    meters: new PartitionMeters(),
    userStore: users,
    pubsub,
    backups: new FakeBackups(),
    keyEvents,
    setForCluster: async (_name, value) => keyEvents.take(value),
    usage: () => ({ rssBytes: 1, heapBytes: 1, cpuUserSeconds: 0, cpuSystemSeconds: 0 }),
    log: () => ({
      segments: 1,
      bytes: 0,
      syncs: 0,
      batches: 0,
      queuedBytes: 0,
      writtenBytes: 0,
      syncTime: new LatencyHistogram(),
    }),
    partitions: () => [],
    loading: () => false,
    keyCounts: async () => new Map(),
    libraryCounts: async () => undefined,
  });
  users.follow(server);
  const listen = (door: Door) => server.listen(door, { host: '127.0.0.1', port: 0 });
  const gateway = await listen('gateway');
  const cluster = await listen('cluster');
  const follower = await listen('follower');
  const close = () => {
    const called = [...server.info().commandStats].filter(([, { calls }]) => calls > 0);
    noteSent(...called.map(([row]) => row));
    return server.close();
  };
  return { gateway, cluster, follower, partitions, routes, server, users, pubsub, warnings, close };
}

/** A raw client: bytes out, text in. */
export class RawClient {
  readonly socket: Socket;
  #text = '';
  #heardMs = 0;
  closed = false;
  #waiting: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.#text += chunk.toString('latin1');
      this.#heardMs = Date.now();
      for (const wake of this.#waiting.splice(0)) wake();
    });
    socket.on('close', () => {
      this.closed = true;
      for (const wake of this.#waiting.splice(0)) wake();
    });
    socket.on('error', () => {});
  }

  /** To a port, or to a socket file. */
  static open(to: number | string): Promise<RawClient> {
    const place = typeof to === 'string' ? { path: to } : { port: to, host: '127.0.0.1' };
    return new Promise((resolve, reject) => {
      const socket = connect(place, () => resolve(new RawClient(socket)));
      socket.once('error', reject);
    });
  }

  get text(): string {
    return this.#text;
  }

  send(...commands: string[]): void {
    this.socket.write(commands.map(wire).join(''));
  }

  /** Resolves with all text so far once it satisfies `enough`; rejects after forty silent seconds. */
  async until(enough: (text: string) => boolean): Promise<string> {
    const startedMs = Date.now();
    while (!enough(this.#text)) {
      if (Date.now() > Math.max(startedMs, this.#heardMs) + 40_000)
        throw new Error(`waited in vain; so far: ${this.#text.slice(-10_000)}`);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        setTimeout(resolve, 50);
      });
    }
    return this.#text;
  }

  /** Sends and resolves with the answer, which must be these many bytes at least. */
  async ask(command: string, answer: string): Promise<string> {
    const before = this.#text.length;
    this.send(command);
    const text = await this.until((all) => all.length >= before + answer.length);
    return text.slice(before);
  }

  end(): void {
    this.socket.destroy();
  }
}

/** A command of words as RESP. */
export function wire(command: string): string {
  const words = command.split(' ');
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
