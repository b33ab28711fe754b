/**
 * A cluster of one datanode in this process: the product's own object graph on real files, real
 * LevelDB and real sockets. Its segments and write buffers are small, so that little data makes
 * many files. Everything it logs is kept, for what it says of damage.
 */
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { systemClock } from '../../src/common/clock.ts';
import type { Disk } from '../../src/common/disk.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import type { LogFields, Logger } from '../../src/common/log.ts';
import { systemRandom } from '../../src/common/random.ts';
import { tcpNetwork } from '../../src/common/tcp.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { createDatanode, type Datanode } from '../../src/datanode/datanode.ts';
import type { EngineHost } from '../../src/datanode/engine/engine.ts';
import { createLevelHost } from '../../src/datanode/engine/leveldb.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { keys } from '../../src/meta/schema.ts';
import type { MetaItem } from '../../src/meta/store.ts';
import { PlacedriverCoordinator } from '../../src/placedriver/coordinator.ts';
import type { Operator } from '../../src/placedriver/operator/operator.ts';
import { eventually } from '../cluster/cluster.ts';

const KIB = 1_024;
export const PARTITIONS = 2;
export const SEGMENT_BYTES = 256 * KIB;

type Items = Iterable<readonly [string, MetaItem]>;

/** What a metadata store says of a cluster; not who is alive and who leads. */
export function lastingItems(items: Items): (readonly [string, MetaItem])[] {
  const lasting = [keys.cluster, keys.incarnations, keys.namespaces, keys.partitions];
  return [...items].filter(([key]) => lasting.some((prefix) => key.startsWith(prefix)));
}

export interface FileSizes {
  readonly segmentBytes: number;
  readonly writeBufferBytes: number;
}

export class LoneNode {
  readonly dir: string;
  readonly meta = new MemoryMeta({ clock: systemClock });
  /** Warnings and errors, as text. */
  readonly lines: string[] = [];
  readonly engines: EngineHost;
  /** Why the process would have ended. */
  fatal: Error | undefined;
  readonly #disk: Disk;
  /** How long a request waits for a partition that has no leader: not at all, in a copy. */
  readonly #holdMs: number;
  readonly #logger: Logger;
  #driver: PlacedriverCoordinator | undefined;
  #datanode: Datanode | undefined;

  readonly #sizes: FileSizes;

  /** `known`: what the metadata store holds already; of the cluster, not of who is alive. */
  constructor(
    dir: string,
    known?: Items,
    disk: Disk = fsDisk,
    sizes: FileSizes = { segmentBytes: SEGMENT_BYTES, writeBufferBytes: 64 * KIB },
  ) {
    this.dir = dir;
    this.#sizes = sizes;
    this.#disk = disk;
    this.#holdMs = known === undefined ? 5_000 : 200;
    this.#logger = this.#listener({});
    this.engines = createLevelHost({
      dir: join(dir, 'engines'),
      disk,
      logger: this.#logger,
      cacheBytes: 16 * KIB * KIB,
      writeBufferBytes: sizes.writeBufferBytes,
    });
    for (const [key, item] of lastingItems(known ?? [])) this.meta.items.set(key, item);
  }

  get datanode(): Datanode {
    if (this.#datanode === undefined) throw new Error('the datanode does not run');
    return this.#datanode;
  }

  /** To ask the placedriver, which `startDriver` has started. */
  get operator(): Operator {
    const operator = this.#driver?.operator;
    if (operator === undefined) throw new Error('no placedriver is master here');
    return operator;
  }

  /** Makes the cluster and its table. */
  startDriver(): void {
    this.#driver = new PlacedriverCoordinator({
      store: this.meta.connect(),
      clock: systemClock,
      random: systemRandom(),
      logger: this.#logger,
      name: 'placedriver1',
      leaseTtlMs: 10_000,
      default: { nodes: 1, partitions: PARTITIONS, replicas: 1 },
    });
    this.#driver.start();
  }

  /**
   * Resolves when each partition of the table is led here and has applied what its log holds, has
   * failed, or is nobody's any more.
   */
  async start(): Promise<void> {
    this.#datanode = await createDatanode({
      config: datanodeConfigSchema.parse({
        name: 'n1',
        'data-dir': this.dir,
        ports: { gateway: 0, cluster: 0, follower: 0, transport: 0, http: 0 },
        meta: { endpoints: ['memory:1'] },
        timing: { 'tick-ms': 20, 'hold-ms': this.#holdMs },
      }),
      clock: systemClock,
      random: systemRandom(),
      network: tcpNetwork,
      disk: this.#disk,
      logger: this.#logger,
      engines: this.engines,
      store: this.meta.connect(),
      processId: 1,
      os: 'test',
      systemMemoryBytes: 0,
      configFile: '',
      usage: () => ({ rssBytes: 0, heapBytes: 0, cpuUserSeconds: 0, cpuSystemSeconds: 0 }),
      tuning: {
        log: { segmentBytes: this.#sizes.segmentBytes, cacheBytes: 64 * KIB },
        host: { logKeepEntries: 300, logKeepBytes: 4 * 1_024 * KIB },
      },
      fatal: (error) => {
        this.fatal ??= error;
      },
    });
    await eventually(60_000, 'the partitions serve', () => this.#isSettled());
  }

  connect(): Redis {
    const { gateway } = this.datanode.ports;
    const client = new Redis({ port: gateway, host: '127.0.0.1', retryStrategy: () => null });
    client.on('error', () => {});
    return client;
  }

  async stop(): Promise<void> {
    const running = this.#datanode;
    this.#datanode = undefined;
    await this.#driver?.stop();
    await running?.stop();
  }

  #isSettled(): boolean {
    if (this.fatal !== undefined) return true;
    const { faults, partitions, incarnation } = this.datanode.status();
    for (const replica of this.datanode.replicas()) if (!replica.isLeader) replica.campaign();
    const records = [...this.meta.items].filter(([key]) => key.startsWith(keys.partitions));
    return (
      records.length === PARTITIONS &&
      records.every(([, { value }]) => {
        const { group, replicas } = JSON.parse(value);
        const own = partitions.find((one) => one.group === group);
        const serves = own?.role === 'leader' && own.applied === own.lastIndex;
        return serves || faults[group] !== undefined || replicas[0].incarnation !== incarnation;
      })
    );
  }

  #listener(context: LogFields): Logger {
    const note = (message: string, fields: LogFields = {}) => {
      this.lines.push(`${message} ${JSON.stringify({ ...context, ...fields })}`);
    };
    return {
      debug: () => {},
      info: () => {},
      warn: note,
      error: note,
      child: (fields) => this.#listener({ ...context, ...fields }),
    };
  }
}
