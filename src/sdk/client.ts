/** The client: a typed method per command, retried and routed by partition. */
import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { sleep } from '../common/clock.ts';
import { limits } from '../common/limits.ts';
import { parseWatch, refuseArguments, refuseCallback } from './arguments.ts';
import type { CallWorld } from './call-plan.ts';
import type { ClientChange } from './changes.ts';
import type { ClientEvents, ClientStatus, NodeInfo } from './client-events.ts';
import { ClientState } from './client-state.ts';
import { addCommandMethods } from './command-methods.ts';
import type { Key, WatchOptions } from './command-types.ts';
import { Deadlines } from './deadlines.ts';
import { ownError } from './errors.ts';
import { bytesOf } from './key-places.ts';
import { Lookup } from './lookup.ts';
import { MultiProofs } from './multi-proofs.ts';
import { type ClientOptions, parseOptions, type Settings } from './options.ts';
import { Pipeline, Transaction } from './pipeline.ts';
import { Pool } from './pool.ts';
import type { Value } from './replies.ts';
import { Runner } from './runner.ts';
import { elementStream, keySteps, keyStream, type ScanOptions, type ScanStep } from './scan.ts';
import { closeSessions, makeSessions } from './session-calls.ts';
import type { Sessions } from './sessions.ts';
import { Subscriber } from './subscriber.ts';
import type { PartitionTable } from './table.ts';
import { TableGate } from './table-gate.ts';
import type { Commands } from './typed-commands.ts';
import type { WatchBody, WatchResult } from './watch.ts';
import { Window } from './window.ts';
import {
  type ClientWorld,
  callSettings,
  connectionSettings,
  makeSource,
  optionsAgain,
  subscriberOptions,
  worldOf,
} from './world.ts';

const RESOLUTION_MS = 20;
const AVOID_MS = 1_000;
const LOOKUP_REST_MS = 50;

const Base = EventEmitter as unknown as abstract new () => EventEmitter<ClientEvents> & Commands;

/**
 * A client of one namespace. Every command of the server is a method that returns a promise; with
 * `Buffer` behind its name it resolves with bytes in place of texts.
 *
 * A call is sent to the leader of its key's partition and sent again until it succeeds, its time is
 * up or its outcome cannot be known. Calls that fail reject with a `ClientError`. Calls to one
 * partition are sent in the order in which they are made; what is sent again may come later than
 * what follows it, and what blocks goes its own way: await a call that the next one depends on.
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
  readonly #state: ClientState = new ClientState(this as unknown as EventEmitter<ClientEvents>);
  readonly #watches: Window;
  #closing: Promise<void> | undefined;
  /** All calls that were under way at the end have been rejected. */
  #ended: Promise<void> | undefined;
  readonly #gate: TableGate;

  /**
   * `options`: `kvorum://host:port[,host:port]/namespace` (placedrivers), `redis://…` (datanodes), or
   * an object. Throws a `ClientError` with code `BAD_OPTION` for wrong ones. It begins to connect at
   * once, unless `lazyConnect` is set.
   */
  constructor(options: string | ClientOptions, world: Partial<ClientWorld> = {}) {
    super();
    const settings = parseOptions(options);
    this.#settings = settings;
    this.#world = worldOf(world, settings);
    const { clock, random } = this.#world;
    this.#window = new Window(settings.maxInFlight, settings.maxQueued);
    this.#watches = new Window(limits.sdkWatchesMax, settings.maxQueued);
    this.#deadlines = new Deadlines(clock, RESOLUTION_MS);
    this.#pool = this.#makePool();
    this.#lookup = new Lookup({
      source: makeSource(settings, this.#world, this.#pool),
      clock,
      random,
      intervalMs: settings.lookupMs,
      restMs: LOOKUP_REST_MS,
      changed: (table) => this.#onTable(table),
      failed: (error) => this.#state.onLookupFailed(error),
    });
    this.#gate = new TableGate({
      clock,
      deadlines: this.#deadlines,
      lookup: this.#lookup,
      waitingMax: settings.maxQueued,
      isClosed: () => this.#state.status === 'end',
    });
    if (settings.sessions) {
      const failed = (error: Error) => this.#state.onError(error);
      this.#sessions = makeSessions(random, () => this.#runner, settings.timeoutMs, failed);
    }
    this.#runner = new Runner({
      world: this.#callWorld(),
      namespace: settings.namespace,
      timeoutMs: settings.timeoutMs,
      consistency: settings.consistency,
      watches: this.#watches,
      begin: (inside) => this.#begin(inside),
      gate: this.#gate,
    });
    if (!settings.lazyConnect) this.#begin();
  }

  /** Where the client is in its life. */
  get status(): ClientStatus {
    return this.#state.status;
  }

  /** Commands sent and not answered, and commands that wait to be sent. */
  get pending(): { readonly inFlight: number; readonly queued: number } {
    const queued = this.#gate.waiting + this.#window.waiting;
    return { inFlight: this.#window.inFlight, queued };
  }

  /**
   * Resolves when the partitions are known. Rejects with `UNAVAILABLE` when nobody tells them within
   * `timeoutMs` of the options, `CLOSED` when the client is closed.
   */
  async connect(...none: readonly never[]): Promise<void> {
    refuseCallback('connect', none);
    this.#begin();
    await this.#gate.wait(this.#settings.timeoutMs, undefined, true);
  }

  /** The datanodes known now. */
  nodes(): readonly NodeInfo[] {
    return this.#state.nodes;
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
  pipeline(...none: readonly never[]): Pipeline {
    refuseArguments('pipeline', none);
    return new Pipeline(this.#runner, this.#world.clock);
  }

  /** Gathers commands of one partition that take effect together or not at all. */
  multi(...none: readonly never[]): Transaction {
    refuseArguments('multi', none);
    return new Transaction(this.#runner);
  }

  /**
   * A transaction on condition that nobody changes `keys` (one or more, of one partition) between
   * what `body` reads and what it writes:
   *
   *     await client.watch('stock', async (tx) => {
   *       const left = Number(await tx.get('stock'));
   *       return left > 0 ? tx.multi().set('stock', left - 1) : undefined;
   *     });
   *
   * `body` is called again, with pauses, as often as somebody has changed a key, and when the leader
   * is lost: it must have no other effect. Only watched keys are guarded. Resolves with the results
   * of the transaction, or undefined when `body` returned none. Rejects with what `body` rejects with;
   * `CONFLICT` when a key was changed at each of `attemptsMax` attempts; `CROSSSLOT`; `TIMEOUT`,
   * `ABORTED`, `UNAVAILABLE`: nothing took effect; `OUTCOME_UNKNOWN`. At most 64 are under way at a
   * time, each with a connection; the others wait.
   */
  async watch(
    keys: Key | readonly Key[],
    body: WatchBody,
    options: WatchOptions = {},
  ): Promise<WatchResult> {
    return this.#runner.watch(parseWatch(keys, body, options), body, options);
  }

  /**
   * The present status and table, then every change of status, connections, table, leaders and nodes,
   * for `for await`; ends when the client is closed or `signal` aborts. A reader that lags by more
   * than 1,024 changes loses the oldest and is told how many. Never rejects.
   */
  changes(
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<ClientChange, void, undefined> {
    return this.#state.changes(options.signal);
  }

  /**
   * Walks over all keys of all partitions: `for await (const { keys, cursor, progress } of …)`. A key
   * that is there all the time is found, once or more often. `cursor` of any step begins a later
   * walk behind it. Rejects as `scan` does: with `BAD_ARGUMENT` at cluster ports, which know the keys of
   * one node.
   */
  scanKeys(options: ScanOptions = {}): AsyncGenerator<ScanStep, void, undefined> {
    return keySteps(this.#send, options, () => this.#lookup.table?.content);
  }

  /** `scanKeys` as an object stream of arrays of keys. */
  scanStream(options: ScanOptions = {}): Readable {
    return keyStream(this.scanKeys(options));
  }

  /** Fields and values of a hash, one after the other, in arrays. */
  hscanStream(key: Key, options: ScanOptions = {}): Readable {
    return elementStream(this.#send, 'hscan', key, options);
  }

  /** Members of a set, in arrays. */
  sscanStream(key: Key, options: ScanOptions = {}): Readable {
    return elementStream(this.#send, 'sscan', key, options);
  }

  /** Members and scores of a sorted set, one after the other, in arrays. */
  zscanStream(key: Key, options: ScanOptions = {}): Readable {
    return elementStream(this.#send, 'zscan', key, options);
  }

  /**
   * A connection of its own that listens to channels; it lives on when the client is closed, unless
   * no datanode is known by then: it ends, and who subscribes is rejected with `CLOSED`.
   */
  subscriber(): Subscriber {
    this.#begin();
    const nodes = () => this.#lookup.table?.content.nodes ?? [];
    const isEnded = () => this.#state.status === 'end';
    return new Subscriber(subscriberOptions(this.#settings, this.#world, nodes, isEnded));
  }

  /** A client of the same options (overridden by `options`) with connections and a session of its own. */
  duplicate(options: ClientOptions = {}): Client {
    return new Client(optionsAgain(this.#settings, options), this.#world);
  }

  /** Resolves when no call is under way or waits, for whatever. */
  drain(): Promise<void> {
    return this.#runner.idle();
  }

  /**
   * Resolves when at most half of `maxQueued` calls wait (of 0: when the next need not): a producer
   * awaits it between calls.
   */
  async whenWritable(): Promise<void> {
    // none may wait for the partitions
    if (this.#settings.maxQueued === 0) await this.connect().catch(() => {});
    await this.#runner.room();
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
  async quit(...none: readonly never[]): Promise<'OK'> {
    refuseCallback('quit', none);
    await this.close();
    return 'OK';
  }

  /**
   * Closes at once: calls under way are rejected with `CLOSED`, or `OUTCOME_UNKNOWN` for sent writes,
   * tens of thousands of them over several turns of the event loop.
   */
  disconnect(): void {
    this.#closing ??= Promise.resolve();
    this.#end();
  }

  /** `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #send = (name: string, ...args: readonly unknown[]) => this.call(name, ...args);

  /** `inside`: for something that was under way when it began to close. */
  #begin(inside = false): void {
    const { status } = this.#state;
    if (inside ? status === 'end' : this.#closing !== undefined) {
      throw ownError('CLOSED', 'the client is closed');
    }
    if (status !== 'wait') return;
    this.#state.begun();
    this.#lookup.refresh();
  }

  async #close(): Promise<void> {
    if (this.#state.status !== 'wait') {
      const { clock } = this.#world;
      const given = new AbortController();
      const late = sleep(clock, this.#settings.timeoutMs, given.signal).catch(() => {});
      await Promise.race([this.drain(), late]);
      given.abort();
      // not after a disconnect() meanwhile: nothing would be sent any more
      const open = this.status === 'end' ? undefined : this.#sessions;
      if (open !== undefined) await closeSessions(open, this.#runner);
    }
    this.#end();
    await Promise.all([this.#ended, this.#lookup.stop()]);
  }

  #end(): void {
    if (!this.#state.end()) return;
    void this.#lookup.stop();
    // What waits for its turn must not be sent now because others are ended before it.
    this.#window.close();
    this.#watches.close();
    this.#ended = this.#deadlines.close();
    this.#pool.close();
    this.emit('end');
  }

  async #onTable(table: PartitionTable): Promise<void> {
    const { source } = this.#settings;
    const seeds = source.kind === 'datanodes' ? source.addresses : [];
    this.#pool.retain([...table.addresses(), ...seeds]);
    this.#gate.letIn();
    // Whoever hears of it may send at once: what has waited comes first.
    await undefined;
    if (this.#state.status !== 'end') this.#state.onTable(table);
  }

  #makePool(): Pool {
    return new Pool({
      connector: this.#world.connector,
      clock: this.#world.clock,
      settings: connectionSettings(this.#settings),
      avoidMs: AVOID_MS,
      idleMax: limits.sdkBlockingIdleMax,
      events: {
        connected: (address) => this.#state.onConnected(address),
        lost: (address, error) => {
          this.#state.onLost(address, error);
          this.#lookup.refresh();
        },
        empty: () => this.#state.onAllLost(),
      },
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
      proofs: new MultiProofs(),
      ...callSettings(this.#settings),
      any: { place: this.#world.random.u32() },
    };
  }

  static {
    addCommandMethods(Client.prototype, (client, ...of) => client.#runner.run(...of));
  }
}
