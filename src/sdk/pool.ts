/**
 * Connections by node and role; and their adapter, the only place that imports ioredis. Everything
 * ioredis would do by itself about a lost connection is off: it neither connects again, nor keeps,
 * nor resends a command. What becomes of a command is told once, and `retry.ts` decides.
 */
import { Command, Redis } from 'ioredis';
import type { Clock } from '../common/clock.ts';
import { limits } from '../common/limits.ts';
import type { Address } from '../common/network.ts';
import {
  type Argument,
  type Connection,
  type ConnectionEvents,
  type ConnectionSettings,
  type Connector,
  Debt,
  type Outcome,
  type PushKind,
  type Reply,
} from './connection.ts';
import { ownError } from './errors.ts';

/** `clock.endOfTurn` says when what a turn has sent leaves, in one write. */
export function ioredisConnector(clock: Clock): Connector {
  return { open: (settings, events) => new IoredisConnection(settings, events, clock) };
}

interface Waiting {
  readonly line: readonly Argument[];
  readonly done: (outcome: Outcome) => void;
}

class IoredisConnection implements Connection {
  readonly address: Address;
  readonly #redis: Redis;
  readonly #events: ConnectionEvents;
  readonly #clock: Clock;
  readonly #settings: ConnectionSettings;
  #state: 'connecting' | 'ready' | 'closed' = 'connecting';
  #waiting: Waiting[] = [];
  #pending = 0;
  readonly #debt: Debt;
  #corked = false;
  #failure: Error | undefined;
  #refused = false;

  constructor(settings: ConnectionSettings, events: ConnectionEvents, clock: Clock) {
    const { address, username, password, connectTimeoutMs } = settings;
    this.address = address;
    this.#settings = settings;
    this.#events = events;
    this.#clock = clock;
    this.#debt = new Debt(clock);
    this.#redis = new Redis({
      host: address.host,
      port: address.port,
      protocol: 2,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      connectTimeout: connectTimeoutMs,
      keepAlive: KEEP_ALIVE_MS,
      disableClientInfo: true,
      enableReadyCheck: false,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      autoResubscribe: false,
      maxRetriesPerRequest: null,
      retryStrategy: null,
      reconnectOnError: null,
    });
    this.#redis.on('error', (error: Error) => this.#fail(error));
    this.#redis.on('ready', () => this.#enter());
    this.#redis.on('close', () => this.#end());
    this.#redis.on('end', () => this.#end());
    if (events.push !== undefined) this.#listen(events.push.bind(events));
  }

  get pending(): number {
    return this.#pending + this.#waiting.length;
  }

  get owesSinceMs(): number | undefined {
    return this.#debt.sinceMs;
  }

  send(line: readonly Argument[], done: (outcome: Outcome) => void): void {
    if (this.#state === 'ready') this.#write(line, done);
    else if (this.#state === 'connecting') this.#waiting.push({ line, done });
    else done({ kind: 'unsent', cause: this.#cause() });
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#redis.disconnect();
    this.#end();
  }

  /** Selects the namespace, and lets what has waited follow it. */
  #enter(): void {
    const { namespace, readOnly } = this.#settings;
    const ignore = () => {};
    this.#write(['CLIENT', 'SETINFO', 'LIB-NAME', 'kvorum-sdk'], ignore);
    if (readOnly) this.#write(['READONLY'], ignore);
    if (namespace === undefined) {
      this.#open();
      return;
    }
    this.#write(['SELECT', namespace], (outcome) => {
      if (outcome.kind === 'reply') this.#open();
      else if (outcome.kind === 'error') this.#refuse(new Error(outcome.text));
    });
  }

  #open(): void {
    if (this.#state !== 'connecting') return;
    this.#state = 'ready';
    const waiting = this.#waiting;
    this.#waiting = [];
    // Whoever hears of it may send at once: what has waited comes first.
    for (const { line, done } of waiting) this.send(line, done);
    this.#events.ready();
  }

  #write(line: readonly Argument[], done: (outcome: Outcome) => void): void {
    const [name, ...args] = line;
    this.#gatherTurn();
    this.#pending++;
    this.#debt.add();
    const command = new Command(this.#spelled(String(name)), args, { replyEncoding: null });
    const writable = this.#redis.status === 'ready' && this.#redis.stream?.writable === true;
    const settle = (outcome: Outcome) => {
      this.#pending--;
      this.#debt.pay(this.#pending);
      done(outcome);
    };
    command.promise.then(
      (reply: unknown) => settle({ kind: 'reply', reply: reply as Reply }),
      (error: Error) => {
        if (error.name === 'ReplyError') settle({ kind: 'error', text: error.message });
        else settle({ kind: writable ? 'lost' : 'unsent', cause: this.#failure ?? error });
      },
    );
    this.#redis.sendCommand(command);
  }

  /**
   * ioredis changes arguments and replies of names in lower case, so names are sent in upper case; but
   * of subscriptions, and of what may be sent beside them, it knows only those in lower case.
   */
  #spelled(name: string): string {
    const listens = this.#events.push !== undefined && /^ping$/i.test(name);
    return listens || /subscribe$/i.test(name) ? name.toLowerCase() : name.toUpperCase();
  }

  /** What is sent within one turn of the event loop leaves in one write. */
  #gatherTurn(): void {
    const { stream } = this.#redis;
    if (this.#corked || !stream) return;
    this.#corked = true;
    stream.cork();
    this.#clock.endOfTurn(() => {
      this.#corked = false;
      stream.uncork();
    });
  }

  #listen(push: (kind: PushKind, channel: Buffer, message: Buffer, pattern?: Buffer) => void) {
    this.#redis.on('messageBuffer', (channel: Buffer, text: Buffer) =>
      push('message', channel, text),
    );
    this.#redis.on('smessageBuffer', (channel: Buffer, text: Buffer) =>
      push('smessage', channel, text),
    );
    this.#redis.on('pmessageBuffer', (pattern: Buffer | string, channel: Buffer, text: Buffer) =>
      push('pmessage', channel, text, Buffer.from(pattern)),
    );
  }

  #fail(error: Error): void {
    this.#failure = error;
    // The handshake's own reply: a wrong password, a user without rights.
    if (error.name === 'ReplyError') this.#refuse(error);
  }

  #refuse(error: Error): void {
    this.#failure = error;
    this.#refused = !NOT_YET.test(error.message);
    this.close();
  }

  #end(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const waiting = this.#waiting;
    this.#waiting = [];
    // First those that hear of the end through ioredis: they were sent earlier.
    this.#clock.endOfTurn(() => {
      for (const { done } of waiting) done({ kind: 'unsent', cause: this.#cause() });
    });
    this.#events.closed(this.#failure, this.#refused);
  }

  #cause(): Error {
    return this.#failure ?? new Error('the connection is closed');
  }
}

const KEEP_ALIVE_MS = 10_000;
/** A node that is starting or has no table yet lets nobody in for the moment. */
const NOT_YET = /^(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)\b/;

/**
 * `data`: commands with keys. `any`: those without, which hold back what comes after them. `lookup`:
 * where the partitions are asked for, which must not wait for either.
 */
export type Role = 'data' | 'any' | 'follower' | 'lookup';

export interface PoolEvents {
  connected(address: Address): void;
  lost(address: Address, cause: Error | undefined): void;
  /** No connection of the pool is left. */
  empty(): void;
}

export interface PoolOptions {
  readonly connector: Connector;
  readonly clock: Clock;
  readonly events: PoolEvents;
  readonly settings: Omit<ConnectionSettings, 'address' | 'readOnly'>;
  /** For how long a node that could not be reached is avoided, in milliseconds. */
  readonly avoidMs: number;
  /** Blocking connections kept idle per node. */
  readonly idleMax: number;
}

interface Held {
  readonly role: Role;
  readonly connection: Connection;
  readonly address: Address;
}

export class Pool {
  readonly #options: PoolOptions;
  readonly #shared = new Map<string, Held>();
  readonly #idle = new Map<string, Connection[]>();
  readonly #borrowed = new Map<Connection, Address>();
  readonly #avoidedUntilMs = new Map<string, number>();
  /** Why the newest connection to an address was not accepted. */
  readonly #refusals = new Map<string, Error>();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Connections that stand or are being made. */
  get size(): number {
    let idle = 0;
    for (const some of this.#idle.values()) idle += some.length;
    return this.#shared.size + this.#borrowed.size + idle;
  }

  /** The one connection of a node and role; a new one when there is none. Throws CLOSED. */
  shared(role: Role, address: Address): Connection {
    const name = `${role} ${keyOf(address)}`;
    const found = this.#shared.get(name);
    if (found !== undefined) return found.connection;
    if (this.#closed) return closedConnection(address);
    const connection = this.#open(address, role === 'follower', () => {
      if (this.#shared.get(name)?.connection === connection) this.#shared.delete(name);
    });
    this.#shared.set(name, { role, connection, address });
    return connection;
  }

  /** A connection for one command that blocks; given back or closed by the borrower. Throws CLOSED. */
  borrow(address: Address): Connection {
    const idle = this.#idle.get(keyOf(address))?.pop();
    if (idle === undefined && this.#closed) return closedConnection(address);
    const connection =
      idle ??
      this.#open(address, false, () => {
        this.#borrowed.delete(connection);
        const kept = this.#idle.get(keyOf(address)) ?? [];
        const at = kept.indexOf(connection);
        if (at !== -1) kept.splice(at, 1);
      });
    this.#borrowed.set(connection, address);
    return connection;
  }

  giveBack(connection: Connection): void {
    const address = this.#borrowed.get(connection);
    if (address === undefined) return;
    this.#borrowed.delete(connection);
    const kept = this.#idle.get(keyOf(address)) ?? [];
    if (this.#closed || kept.length >= this.#options.idleMax) {
      connection.close();
      return;
    }
    kept.push(connection);
    this.#idle.set(keyOf(address), kept);
  }

  /** It is asked last for a moment: it said nothing. */
  avoid(address: Address): void {
    const { clock, avoidMs } = this.#options;
    this.#avoidedUntilMs.set(keyOf(address), clock.monotonicMs() + avoidMs);
  }

  /**
   * An attempt over it got no answer. When it has owed one for long and none came at all, the other
   * side may be gone without a word, and it would swallow whatever comes: the next is made anew. Not
   * so where one command may rightly hold back what comes after it for longer.
   */
  doubt(connection: Connection): void {
    const { owesSinceMs } = connection;
    if (owesSinceMs === undefined) return;
    if (this.#options.clock.monotonicMs() - owesSinceMs < limits.sdkSilentMs) return;
    const held = [...this.#shared.values()].find((one) => one.connection === connection);
    if (held !== undefined && held.role !== 'any') connection.close();
  }

  /** It could not be reached a moment ago. */
  isAvoided(address: Address): boolean {
    const until = this.#avoidedUntilMs.get(keyOf(address));
    return until !== undefined && until > this.#options.clock.monotonicMs();
  }

  /** Why the server does not let this client in, of the newest connection there. */
  refusal(address: Address): Error | undefined {
    return this.#refusals.get(keyOf(address));
  }

  /** Closes connections to nodes that are no longer there. */
  retain(addresses: readonly Address[]): void {
    const kept = new Set(addresses.map(keyOf));
    const gone = (address: Address) => !kept.has(keyOf(address));
    for (const { connection, address } of [...this.#shared.values()]) {
      if (gone(address)) connection.close();
    }
    for (const [connection, address] of [...this.#borrowed]) if (gone(address)) connection.close();
    for (const [name, idle] of [...this.#idle]) {
      if (kept.has(name)) continue;
      this.#idle.delete(name);
      for (const connection of idle) connection.close();
    }
    for (const told of [this.#avoidedUntilMs, this.#refusals]) {
      for (const name of [...told.keys()]) if (!kept.has(name)) told.delete(name);
    }
  }

  /** Closes all: what is pending is lost. */
  close(): void {
    this.#closed = true;
    this.retain([]);
  }

  #open(address: Address, readOnly: boolean, forget: () => void): Connection {
    const { connector, settings, events } = this.#options;
    const name = keyOf(address);
    if (this.#closed) throw ownError('CLOSED', 'the client was closed');
    return connector.open(
      { ...settings, address, readOnly },
      {
        ready: () => {
          this.#avoidedUntilMs.delete(name);
          this.#refusals.delete(name);
          events.connected(address);
        },
        closed: (cause, refused) => {
          forget();
          if (cause !== undefined) this.avoid(address);
          if (refused && cause !== undefined) this.#refusals.set(name, cause);
          else this.#refusals.delete(name);
          events.lost(address, cause);
          if (this.size === 0) events.empty();
        },
      },
    );
  }
}

function keyOf({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** What a closed pool gives: nobody would close another. */
function closedConnection(address: Address): Connection {
  const cause = new Error('the client is closed');
  const send: Connection['send'] = (_, done) => done({ kind: 'unsent', cause });
  return { address, pending: 0, owesSinceMs: undefined, send, close() {} };
}
