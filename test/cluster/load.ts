/**
 * Load with a judge: writers own keys and write growing numbers; readers note what they must at
 * least see. An acknowledged write that a later read misses is lost or stale, and is reported.
 */
import { Redis } from 'ioredis';
import { pause } from './cluster.ts';

interface Register {
  readonly key: string;
  /** Highest value whose write was acknowledged. */
  acked: number;
  /** Highest value ever sent. */
  sent: number;
}

export interface LoadReport {
  writes: number;
  reads: number;
  unknown: number;
  refused: number;
  /** Longest time between two acknowledged writes of any client, in milliseconds. */
  longestGapMs: number;
  readonly violations: string[];
}

export interface LoadOptions {
  readonly ports: readonly number[];
  readonly writers: number;
  readonly readers: number;
  readonly keysPerWriter: number;
}

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
  readonly #clients: Redis[] = [];
  readonly #tasks: Promise<void>[] = [];
  #running = true;
  #lastAckMs = performance.now();

  constructor(options: LoadOptions) {
    for (let writer = 0; writer < options.writers; writer++) {
      const own: Register[] = [];
      for (let at = 0; at < options.keysPerWriter; at++) {
        own.push({ key: `load:${writer}:${at}`, acked: 0, sent: 0 });
      }
      this.#registers.push(...own);
      this.#tasks.push(this.#write(this.#client(options.ports, writer), own));
    }
    for (let reader = 0; reader < options.readers; reader++) {
      this.#tasks.push(this.#read(this.#client(options.ports, reader)));
    }
  }

  /** Acknowledged writes so far: grows while the cluster serves. */
  get acknowledged(): number {
    return this.report.writes;
  }

  async stop(): Promise<LoadReport> {
    this.#running = false;
    await Promise.all(this.#tasks);
    for (const client of this.#clients) client.disconnect();
    return this.report;
  }

  /** Reads every register once more; adds a violation for each acknowledged write not found. */
  async verify(port: number): Promise<LoadReport> {
    const client = connect(port);
    for (const register of this.#registers) {
      await this.#check(client, register);
    }
    client.disconnect();
    return this.report;
  }

  #client(ports: readonly number[], number: number): Redis {
    const client = connect(ports[number % ports.length]!);
    this.#clients.push(client);
    return client;
  }

  async #write(client: Redis, own: readonly Register[]): Promise<void> {
    for (let turn = 0; this.#running; turn++) {
      const register = own[turn % own.length]!;
      const value = register.sent + 1;
      register.sent = value;
      try {
        await client.set(register.key, value);
        register.acked = Math.max(register.acked, value);
        this.report.writes++;
        this.#noteGap();
      } catch (error) {
        if (String(error).includes('UNKNOWNOUTCOME')) this.report.unknown++;
        else this.report.refused++;
        await pause(20);
      }
    }
  }

  async #read(client: Redis): Promise<void> {
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

  async #check(client: Redis, register: Register): Promise<void> {
    const atLeast = register.acked;
    const value = Number((await client.get(register.key)) ?? 0);
    if (value >= atLeast && value <= register.sent) return;
    this.report.violations.push(
      `${register.key}: read ${value}, acknowledged ${atLeast}, sent ${register.sent}`,
    );
  }

  #noteGap(): void {
    const now = performance.now();
    this.report.longestGapMs = Math.max(this.report.longestGapMs, now - this.#lastAckMs);
    this.#lastAckMs = now;
  }
}

/** A client that reconnects quickly and never sends a command twice by itself. */
export function connect(port: number): Redis {
  const client = new Redis({
    port,
    host: '127.0.0.1',
    retryStrategy: () => 50,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: true,
    commandTimeout: 15_000,
  });
  client.on('error', () => {});
  return client;
}
