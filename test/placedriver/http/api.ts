/** A cluster of records in memory, and the HTTP API over it without a socket. */
import type { FastifyInstance, InjectOptions } from 'fastify';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { LoopMeter } from '../../../src/common/loop-meter.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type Membership,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import type { ApiContext, LogLevel } from '../../../src/placedriver/http/context.ts';
import { createProbes } from '../../../src/placedriver/http/probes.ts';
import { createApi } from '../../../src/placedriver/http/server.ts';
import type { Operator } from '../../../src/placedriver/operator/operator.ts';
import { defaultPlacementSettings } from '../../../src/placedriver/term.ts';
import { ClusterView } from '../../../src/placedriver/view/cluster-view.ts';

export function nodeRecord(node: string, more: Partial<NodeRecord> = {}): NodeRecord {
  return {
    version: 1,
    node,
    incarnation: `${node}-1`,
    bootId: 'b',
    host: '10.0.0.1',
    transportPort: 1,
    gatewayPort: 6_379,
    clusterPort: 7_001,
    followerPort: 8_001,
    httpPort: 4,
    tags: { dc_info: 'dc1' },
    ...more,
  };
}

export function namespaceRecord(
  name: string,
  more: Partial<NamespaceRecord> = {},
): NamespaceRecord {
  return {
    version: 1,
    name,
    kind: 'redis',
    hash: 'slots',
    partitions: 2,
    replicas: 3,
    expiry: 'consistent',
    ready: true,
    ...more,
  };
}

/** Its replicas have the ids 10 × partition + 1 and on. */
export function partitionRecord(
  namespace: string,
  partition: number,
  nodes: readonly string[],
  more: Partial<PartitionRecord> = {},
): PartitionRecord {
  const replicas = nodes.map((node, at) => {
    return { replica: partition * 10 + at + 1, node, incarnation: `${node}-1` };
  });
  return {
    version: 1,
    namespace,
    partition,
    group: partition + 1,
    firstSlot: partition * 8_192,
    lastSlot: partition * 8_192 + 8_191,
    birth: replicas,
    replicas,
    epoch: 1,
    fence: 1,
    ...more,
  };
}

export function leaderRecord(
  { namespace, partition, replicas, epoch }: PartitionRecord,
  node = replicas[0]!.node,
  membership: Partial<Membership> = {},
): LeaderRecord {
  const voters = replicas.map(({ replica }) => replica);
  const leading = replicas.find((replica) => replica.node === node)!;
  return {
    version: 1,
    namespace,
    partition,
    node,
    replica: leading.replica,
    term: 2,
    membership: { epoch, voters, learners: [], joint: false, ...membership },
  };
}

export class ApiUnderTest {
  readonly meta = new MemoryMeta({ clock: systemClock });
  readonly store: MetaStore = this.meta.connect();
  readonly view = new ClusterView({ store: this.store, clock: systemClock, logger: silentLogger });
  readonly calls: unknown[][] = [];
  readonly levels: LogLevel[] = [];
  app!: FastifyInstance;
  /** Thrown by whatever is asked of the operator. */
  failure: unknown;
  isMaster = true;
  /** Asked in the place of the one that only notes what it is asked. */
  operator: Operator | undefined;
  awayMs: number | undefined;
  readonly #loop = new LoopMeter(systemClock);

  async start(token?: string): Promise<this> {
    const context: ApiContext = {
      name: 'pd1',
      version: '9',
      clock: systemClock,
      logger: silentLogger,
      view: this.view,
      placement: defaultPlacementSettings,
      token,
      operator: () => (this.isMaster ? (this.operator ?? this.#operator()) : undefined),
      awayForMs: () => this.awayMs,
      rival: () => undefined,
      deposed: () => undefined,
      setLogLevel: (level) => void this.levels.push(level),
    };
    const { view, store } = this;
    const sources = { name: 'pd1', version: '9', store, view, loop: this.#loop };
    const probes = createProbes({ ...sources, isMaster: () => this.isMaster });
    this.app = await createApi(context, probes);
    this.#loop.start();
    view.start();
    return this;
  }

  async stop(): Promise<void> {
    this.#loop.stop();
    await this.app.close();
    await this.view.close();
  }

  /** Three nodes, and a namespace of two partitions over them. */
  async fill(): Promise<void> {
    for (const node of ['n1', 'n2', 'n3']) await this.put(keys.node(node), nodeRecord(node));
    await this.put(keys.namespace('default'), namespaceRecord('default'));
    for (const partition of [0, 1]) {
      const record = partitionRecord('default', partition, ['n1', 'n2', 'n3']);
      await this.put(keys.partition('default', partition), record);
      await this.put(keys.leader('default', partition), leaderRecord(record));
    }
    await this.seen();
  }

  put<Kept extends { readonly version: number }>(key: string, record: Kept): Promise<number> {
    return this.store.put(key, encodeRecord(record));
  }

  /** Waits until the view has seen what was written until now. */
  async seen(): Promise<void> {
    const { revision } = await this.store.range(keys.cluster);
    while (this.view.revision < revision) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async get(url: string) {
    const { statusCode, headers, body } = await this.app.inject({ method: 'GET', url });
    return { code: statusCode, headers, body: read(body) };
  }

  async send(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    payload?: unknown,
    headers = {},
  ) {
    const options: InjectOptions = { method, url, headers };
    if (payload !== undefined) options.payload = payload as object;
    const answer = await this.app.inject(options);
    return { code: answer.statusCode, headers: answer.headers, body: read(answer.body) };
  }

  /** Notes what it is asked. */
  #operator(): Operator {
    const note =
      (name: string) =>
      async (...given: unknown[]) => {
        if (this.failure !== undefined) throw this.failure;
        this.calls.push([name, ...given]);
      };
    return new Proxy({} as Operator, { get: (_target, name) => note(String(name)) });
  }
}

function read(body: string) {
  return body.startsWith('{') ? JSON.parse(body) : body;
}
