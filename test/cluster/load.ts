/**
 * Load with a judge: writers own keys and write growing numbers; readers note what they must at
 * least see. An acknowledged write that a later read misses is lost or stale, and is reported.
 */
import { Cluster, Redis } from 'ioredis';
import { initialSlotRange, slotOfKey } from '../../src/common/hash.ts';
import { eventually, pause } from './cluster.ts';

type Client = Redis | Cluster;

interface Register {
  readonly key: string;
  /** Highest value whose write was acknowledged. */
  acked: number;
  /** Highest value ever sent. */
  sent: number;
  readonly partition: number;
}

export interface LoadReport {
  writes: number;
  reads: number;
  unknown: number;
  refused: number;
  /**
   * Longest time between two acknowledged writes of any client, in milliseconds: without the time in
   * which this process stood still and could hear of none.
   */
  longestGapMs: number;
  readonly violations: string[];
}

/** A port of 127.0.0.1, or of another loopback address. */
export type Door = number | { readonly host: string; readonly port: number };

export interface LoadOptions {
  /** Gateway ports; every other client uses them in turn. */
  readonly ports: readonly Door[];
  /** Cluster ports; the clients between use them all. None: every client uses a gateway. */
  readonly clusterPorts: readonly Door[];
  readonly partitions: number;
  readonly writers: number;
  readonly readers: number;
  readonly keysPerWriter: number;
  /** Begins every key: a second load on a cluster needs its own. */
  readonly prefix?: string;
}

const TICK_MS = 20;
/** A tick that is so late tells that the machine did not let this process run. */
const STILL_MS = 200;

export class Load {
  readonly report: LoadReport = {
    writes: 0,
    reads: 0,
    unknown: 0,
    refused: 0,
    longestGapMs: 0,
    violations: [],
  };
  readonly #registers: Register[] = [];
  readonly #clients: Client[] = [];
  /** Acknowledged writes per partition. */
  readonly #acknowledged: number[];
  readonly #tasks: Promise<void>[] = [];
  #running = true;
  #lastAckMs = performance.now();
  #lookedMs = performance.now();
  /** Stood still for since the last acknowledgement. */
  #stillMs = 0;
  readonly #ticker = setInterval(() => this.#look(), TICK_MS);

  constructor(options: LoadOptions) {
    this.#acknowledged = new Array(options.partitions).fill(0);
    for (let writer = 0; writer < options.writers; writer++) {
      const own: Register[] = [];
      for (let at = 0; at < options.keysPerWriter; at++) {
        const key = `${options.prefix ?? 'load'}:${writer}:${at}`;
        own.push({ key, acked: 0, sent: 0, partition: partitionOf(key, options.partitions) });
      }
      this.#registers.push(...own);
      this.#tasks.push(this.#write(this.#client(options, writer), own));
    }
    for (let reader = 0; reader < options.readers; reader++) {
      this.#tasks.push(this.#read(this.#client(options, reader)));
    }
  }

  /** Acknowledged writes so far, of each partition: every one grows while the cluster serves. */
  get acknowledged(): readonly number[] {
    return [...this.#acknowledged];
  }

  /** Goes on until so many writes were acknowledged, however slow the machine is. */
  async untilWritten(writes: number): Promise<void> {
    await eventually(120_000, `${writes} writes are acknowledged`, () => {
      return this.report.writes > writes;
    });
  }

  async stop(): Promise<LoadReport> {
    this.#running = false;
    await Promise.all(this.#tasks);
    clearInterval(this.#ticker);
    for (const client of this.#clients) client.disconnect();
    return this.report;
  }

  /** Reads every register once more; adds a violation for each acknowledged write not found. */
  async verify(port: Door): Promise<LoadReport> {
    const client = connect(port);
    for (const register of this.#registers) {
      await this.#check(client, register);
    }
    client.disconnect();
    return this.report;
  }

  #client({ ports, clusterPorts }: LoadOptions, number: number): Client {
    const gatewayOnly = clusterPorts.length === 0;
    const client =
      gatewayOnly || number % 2 === 0
        ? connect(ports[Math.floor(number / 2) % ports.length]!)
        : connectCluster(clusterPorts);
    this.#clients.push(client);
    return client;
  }

  async #write(client: Client, own: readonly Register[]): Promise<void> {
    for (let turn = 0; this.#running; turn++) {
      const register = own[turn % own.length]!;
      const value = register.sent + 1;
      register.sent = value;
      try {
        await client.set(register.key, value);
        register.acked = Math.max(register.acked, value);
        this.report.writes++;
        this.#acknowledged[register.partition]!++;
        this.#noteGap();
      } catch (error) {
        if (String(error).includes('UNKNOWNOUTCOME')) this.report.unknown++;
        else this.report.refused++;
        await pause(20);
      }
    }
  }

  async #read(client: Client): Promise<void> {
    for (let turn = 0; this.#running; turn++) {
      const register = this.#registers[turn % this.#registers.length]!;
      try {
        await this.#check(client, register);
        this.report.reads++;
      } catch {
        this.report.refused++;
        await pause(20);
      }
    }
  }

  async #check(client: Client, register: Register): Promise<void> {
    const atLeast = register.acked;
    const value = Number((await client.get(register.key)) ?? 0);
    if (value >= atLeast && value <= register.sent) return;
    this.report.violations.push(
      `${register.key}: read ${value}, acknowledged ${atLeast}, sent ${register.sent}`,
    );
  }

  /** Whatever runs comes by here every few milliseconds, unless nothing of this process runs. */
  #look(): number {
    const now = performance.now();
    if (now - this.#lookedMs > STILL_MS) this.#stillMs += now - this.#lookedMs;
    this.#lookedMs = now;
    return now;
  }

  #noteGap(): void {
    const now = this.#look();
    const gapMs = now - this.#lastAckMs - this.#stillMs;
    this.report.longestGapMs = Math.max(this.report.longestGapMs, gapMs);
    this.#lastAckMs = now;
    this.#stillMs = 0;
  }
}

function addressOf(door: Door): { host: string; port: number } {
  return typeof door === 'number' ? { host: '127.0.0.1', port: door } : door;
}

/** A client that reconnects quickly and never sends a command twice by itself. */
export function connect(door: Door): Redis {
  const client = new Redis({
    ...addressOf(door),
    retryStrategy: () => 50,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: true,
    commandTimeout: 15_000,
  });
  client.on('error', () => {});
  return client;
}

/** A cluster client that asks again where the cluster sends it, and soon. */
function connectCluster(doors: readonly Door[]): Cluster {
  const client = new Cluster(doors.map(addressOf), {
    redisOptions: { commandTimeout: 15_000, autoResendUnfulfilledCommands: false },
    clusterRetryStrategy: () => 50,
    retryDelayOnFailover: 50,
    retryDelayOnClusterDown: 50,
    maxRedirections: 100,
    slotsRefreshTimeout: 2_000,
  });
  client.on('error', () => {});
  return client;
}

/** Which of a new namespace's partitions holds `key`. */
function partitionOf(key: string, partitions: number): number {
  const slot = slotOfKey(Buffer.from(key));
  for (let at = 0; at < partitions; at++) {
    if (slot <= initialSlotRange(at, partitions)[1]) return at;
  }
  throw new Error(`slot ${slot} belongs to no partition`);
}
