/** The client: a typed method per command, retried and routed by partition. */
import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { sleep, systemClock } from '../common/clock.ts';
import { limits } from '../common/limits.ts';
import { systemRandom } from '../common/random.ts';
import { type CallWorld, closeCalls } from './call.ts';
import type { ClientEvents, ClientStatus, NodeInfo } from './client-events.ts';
import { addCommandMethods } from './command-methods.ts';
import type { Key } from './command-types.ts';
import { Deadlines } from './deadlines.ts';
import { ownError } from './errors.ts';
import { bytesOf } from './key-places.ts';
import { Lookup } from './lookup.ts';
import { type ClientOptions, parseOptions, type Settings } from './options.ts';
import { Pipeline, Transaction } from './pipeline.ts';
import { fetchGet } from './placedriver-source.ts';
import { ioredisConnector, Pool } from './pool.ts';
import type { Value } from './replies.ts';
import { Runner } from './runner.ts';
import { type ScanOptions, type ScanStep, scanPlaces, scanSteps, scanStream } from './scan.ts';
import { closeLine, openLine, Sessions } from './sessions.ts';
import { Subscriber } from './subscriber.ts';
import type { PartitionTable, TableNode } from './table.ts';
import { TableGate } from './table-gate.ts';
import { tellConnect, tellLookup } from './tracing.ts';
import type { Commands } from './typed-commands.ts';
import { Window } from './window.ts';
import {
  type ClientWorld,
  callSettings,
  connectionSettings,
  makeSource,
  optionsAgain,
  subscriberOptions,
} from './world.ts';

const RESOLUTION_MS = 20;
const AVOID_MS = 1_000;
const LOOKUP_REST_MS = 50;
const CLOSE_SESSIONS_MS = 1_000;

const Base = EventEmitter as unknown as abstract new () => EventEmitter<ClientEvents> & Commands;

/**
 * A client of one namespace. Every command of the server is a method that returns a promise; with
 * `Buffer` behind its name it resolves with bytes in place of texts.
 *
 * A call is sent to the leader of its key's partition and sent again until it succeeds, its time is
 * up or its outcome cannot be known. Calls that fail reject with a `ClientError`. Calls to one
 * partition are sent in the order in which they are made; what is sent again may come later than
 * what follows it: await a call that the next one depends on.
 */
export class Client extends Base {
  readonly #settings: Settings;
  readonly #world: ClientWorld;
  readonly #pool: Pool;
  readonly #lookup: Lookup;
  readonly #window: Window;
  readonly #deadlines: Deadlines;
  readonly #sessions: Sessions | undefined;
  readonly #runner: Runner;
  #status: ClientStatus = 'wait';
  #closing: Promise<void> | undefined;
  #connected = false;
  #nodes = new Map<string, TableNode>();
  readonly #gate: TableGate;

  /**
   * `options`: `kvorum://host:port[,host:port]/namespace` (placedrivers), `redis://…` (datanodes), or
   * an object. Throws a `ClientError` with code `BAD_OPTION` for wrong ones. It begins to connect at
   * once, unless `lazyConnect` is set.
   */
  constructor(options: string | ClientOptions, world: Partial<ClientWorld> = {}) {
    super();
    const settings = parseOptions(options);
    const clock = world.clock ?? systemClock;
    const random = world.random ?? systemRandom();
    this.#settings = settings;
    this.#world = {
      clock,
      random,
      connector: world.connector ?? ioredisConnector(clock),
      get: world.get ?? fetchGet(settings.connectTimeoutMs),
    };
    this.#window = new Window(settings.maxInFlight, settings.maxQueued);
    this.#deadlines = new Deadlines(clock, RESOLUTION_MS);
    this.#pool = this.#makePool();
    this.#lookup = new Lookup({
      source: makeSource(settings, this.#world, this.#pool),
      clock,
      random,
      intervalMs: settings.lookupMs,
      restMs: LOOKUP_REST_MS,
      changed: (table) => this.#onTable(table),
      failed: (error) => this.#onLookupFailed(error),
    });
    this.#gate = new TableGate({
      clock,
      deadlines: this.#deadlines,
      lookup: this.#lookup,
      waitingMax: settings.maxQueued,
      isClosed: () => this.#status === 'end',
    });
    this.#sessions = settings.sessions ? this.#makeSessions() : undefined;
    this.#runner = new Runner({
      world: this.#callWorld(),
      namespace: settings.namespace,
      timeoutMs: settings.timeoutMs,
      consistency: settings.consistency,
      begin: () => this.#begin(),
      whenTable: (timeoutMs, signal) => this.#gate.wait(timeoutMs, signal),
    });
    if (!settings.lazyConnect) this.#begin();
  }

  /** Where the client is in its life. */
  get status(): ClientStatus {
    return this.#status;
  }

  /** Commands sent and not answered, and commands that wait to be sent. */
  get pending(): { readonly inFlight: number; readonly queued: number } {
    return { inFlight: this.#window.inFlight, queued: this.#window.waiting };
  }

  /**
   * Resolves when the partitions are known. Rejects with `UNAVAILABLE` when nobody tells them within
   * `timeoutMs` of the options, `CLOSED` when the client is closed.
   */
  async connect(): Promise<void> {
    this.#begin();
    await this.#gate.wait(this.#settings.timeoutMs, undefined);
  }

  /** The datanodes known now. */
  nodes(): readonly NodeInfo[] {
    return [...this.#nodes.values()].map(infoOf);
  }

  /** Number of the partition that `key` belongs to, from 0; undefined while that is not known. */
  partitionOf(key: string | Buffer): number | undefined {
    return this.#lookup.table?.partitionOf(bytesOf(key));
  }

  /**
   * Sends any command by its name, options of the call last: `call('SET', 'k', 1, { timeoutMs: 50 })`.
   * A command this version does not know goes to any node, and is not sent again once it was sent.
   */
  call(name: string, ...args: readonly unknown[]): Promise<Value> {
    return this.#runner.run(name, args, false);
  }

  /** As `call`, with bytes in place of texts. */
  callBuffer(name: string, ...args: readonly unknown[]): Promise<Value> {
    return this.#runner.run(name, args, true);
  }

  /** Gathers commands that are sent in one turn, each for itself. */
  pipeline(): Pipeline {
    return new Pipeline(this.#runner);
  }

  /** Gathers commands of one partition that take effect together or not at all. */
  multi(): Transaction {
    return new Transaction(this.#runner);
  }

  /**
   * Walks over all keys of all partitions: `for await (const { keys, cursor, progress } of …)`. A key
   * that is there all the time is found, once or more often. `cursor` of any step begins a later
   * walk behind it. Rejects as `scan` does.
   */
  scanKeys(options: ScanOptions = {}): AsyncGenerator<ScanStep, void, undefined> {
    return scanSteps(
      (args) => this.call('scan', ...args) as Promise<readonly [string, readonly string[]]>,
      options,
      () => {
        const content = this.#lookup.table?.content;
        return content && scanPlaces(content.hash, content.partitions.length);
      },
    );
  }

  /** `scanKeys` as an object stream of arrays of keys. */
  scanStream(options: ScanOptions = {}): Readable {
    return scanStream(this.scanKeys(options));
  }

  /** Fields and values of a hash, one after the other, in arrays. */
  hscanStream(key: Key, options: ScanOptions = {}): Readable {
    return this.#elementStream('hscan', key, options);
  }

  /** Members of a set, in arrays. */
  sscanStream(key: Key, options: ScanOptions = {}): Readable {
    return this.#elementStream('sscan', key, options);
  }

  /** Members and scores of a sorted set, one after the other, in arrays. */
  zscanStream(key: Key, options: ScanOptions = {}): Readable {
    return this.#elementStream('zscan', key, options);
  }

  /** A connection of its own that listens to channels; it lives on when the client is closed. */
  subscriber(): Subscriber {
    this.#begin();
    const nodes = () => this.#lookup.table?.content.nodes ?? [];
    return new Subscriber(subscriberOptions(this.#settings, this.#world, nodes));
  }

  /** A client of the same options (overridden by `options`) with connections and a session of its own. */
  duplicate(options: ClientOptions = {}): Client {
    return new Client(optionsAgain(this.#settings, options), this.#world);
  }

  /** Resolves when no call is under way or waits. */
  drain(): Promise<void> {
    return this.#window.idle();
  }

  /** Resolves when at most half of `maxQueued` calls wait: a producer awaits it between calls. */
  whenWritable(): Promise<void> {
    return this.#window.room();
  }

  /**
   * Takes no more calls, waits for those under way (`timeoutMs` of the options at most; then they are
   * rejected), closes sessions and connections. Never rejects; may be called again.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** As `close`, resolves with OK as ioredis does. */
  quit(): Promise<'OK'> {
    return this.close().then(() => 'OK' as const);
  }

  /** Closes at once: calls under way are rejected with `CLOSED`, or `OUTCOME_UNKNOWN` for sent writes. */
  disconnect(): void {
    this.#closing ??= Promise.resolve();
    this.#end();
  }

  /** `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #elementStream(name: string, key: Key, options: ScanOptions): Readable {
    const step = (args: readonly unknown[]) =>
      this.call(name, key, ...args) as Promise<readonly [string, readonly string[]]>;
    return scanStream(scanSteps(step, options, () => undefined));
  }

  #begin(): void {
    if (this.#closing !== undefined) throw ownError('CLOSED', 'the client is closed');
    if (this.#status !== 'wait') return;
    this.#status = 'connecting';
    this.#lookup.refresh();
  }

  async #close(): Promise<void> {
    if (this.#status !== 'wait') {
      const { clock } = this.#world;
      const given = new AbortController();
      const late = sleep(clock, this.#settings.timeoutMs, given.signal).catch(() => {});
      await Promise.race([this.drain(), late]);
      given.abort();
      await this.#closeSessions();
    }
    this.#end();
    await this.#lookup.stop();
  }

  #end(): void {
    if (this.#status === 'end') return;
    this.#status = 'end';
    void this.#lookup.stop();
    closeCalls(this.#deadlines.all());
    this.#gate.settle();
    this.#pool.close();
    this.emit('end');
  }

  /** So that groups need not keep them until they are collected. */
  async #closeSessions(): Promise<void> {
    const open = (this.#sessions?.open ?? []).slice(0, limits.sdkSessionClosesMax);
    await Promise.all(
      open.map((session) => {
        return new Promise<void>((resolve) => {
          const line = closeLine(session, session.openedWith ?? '');
          const { partition } = session;
          this.#runner.urgent('kv.session', line, partition, CLOSE_SESSIONS_MS, () => resolve());
        });
      }),
    );
  }

  #onTable(table: PartitionTable): void {
    const { epoch, partitions } = table.content;
    tellLookup({ epoch, partitions: partitions.length });
    const before = this.#nodes;
    this.#nodes = new Map(table.content.nodes.map((node) => [keyOf(node), node]));
    const { source } = this.#settings;
    const seeds = source.kind === 'datanodes' ? source.addresses : [];
    this.#pool.retain([...table.addresses(), ...seeds]);
    for (const [key, node] of before) if (!this.#nodes.has(key)) this.emit('-node', infoOf(node));
    for (const [key, node] of this.#nodes) if (!before.has(key)) this.emit('+node', infoOf(node));
    this.#gate.settle();
    if (this.#status !== 'connecting') return;
    this.#status = 'ready';
    this.emit('ready');
  }

  #onLookupFailed(error: Error): void {
    tellLookup({ error });
    this.#tell(error);
  }

  #tell(error: Error): void {
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  #makePool(): Pool {
    return new Pool({
      connector: this.#world.connector,
      clock: this.#world.clock,
      settings: connectionSettings(this.#settings),
      avoidMs: AVOID_MS,
      idleMax: limits.sdkBlockingIdleMax,
      events: {
        connected: (address) => {
          tellConnect({ ...address, state: 'connected' });
          if (this.#connected) return;
          this.#connected = true;
          if (this.#status === 'reconnecting') this.#status = 'ready';
          this.emit('connect');
        },
        lost: (address, error) => {
          tellConnect({ ...address, state: 'lost', error });
          if (this.#status === 'end') return;
          if (error !== undefined) this.#tell(error);
          this.#lookup.refresh();
        },
        empty: () => this.#onAllLost(),
      },
    });
  }

  #onAllLost(): void {
    if (!this.#connected || this.#status === 'end') return;
    this.#connected = false;
    if (this.#status === 'ready') this.#status = 'reconnecting';
    this.emit('close');
    this.emit('reconnecting');
  }

  #makeSessions(): Sessions {
    const { timeoutMs } = this.#settings;
    return new Sessions(this.#world.random, (session, key, done) => {
      const { partition } = session;
      const line = openLine(session, key);
      this.#runner.urgent('kv.session', line, partition, timeoutMs, (result) => {
        if (result.ok) done('opened');
        else if (!/unknown command/i.test(result.error.message)) done('failed');
        else {
          this.#tell(ownError('REFUSED', 'the datanodes know no sessions: writes go without'));
          done('unsupported');
        }
      });
    });
  }

  #callWorld(): CallWorld {
    return {
      clock: this.#world.clock,
      random: this.#world.random,
      pool: this.#pool,
      lookup: this.#lookup,
      window: this.#window,
      deadlines: this.#deadlines,
      sessions: this.#sessions,
      ...callSettings(this.#settings),
      anySeed: this.#world.random.u32(),
    };
  }
}

function keyOf({ name, host, port }: TableNode): string {
  return `${name} ${host}:${port}`;
}

function infoOf({ name, host, port }: TableNode): NodeInfo {
  return { name, host, port };
}

addCommandMethods(Client.prototype);
