/**
 * Connections over ioredis; the only place that imports it. Everything ioredis would do by itself
 * about a lost connection is off: it neither connects again, nor keeps, nor resends a command. What
 * becomes of a command is told once, and `retry.ts` decides.
 */
import { Command, Redis } from 'ioredis';
import type { Clock, Timer } from '../common/clock.ts';
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
import { explainedTls, refusalOfDoor } from './tls-failures.ts';
import { nodeTls } from './tls-options.ts';

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
  #entry: Timer | undefined;

  constructor(settings: ConnectionSettings, events: ConnectionEvents, clock: Clock) {
    const { address, username, password, connectTimeoutMs, tls } = settings;
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
      ...(tls !== undefined && { tls: nodeTls(tls) }),
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
    this.#redis.on('connect', () => {
      // what could not be sent would keep it half open, for as long as nobody reads it
      this.#redis.stream.once('end', () => this.close());
      this.#limitEntry();
    });
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

  /** Whoever accepts and says nothing would keep what waits for ever: ioredis bounds no handshake. */
  #limitEntry(): void {
    if (this.#state !== 'connecting') return;
    const { host, port } = this.address;
    const late = () => {
      if (this.#state !== 'connecting') return;
      this.#failure = new Error(`${host}:${port} accepts connections and says nothing`);
      this.close();
    };
    this.#entry = this.#clock.setTimer(limits.sdkSilentMs, () => this.#clock.endOfTurn(late));
  }

  /** Selects the namespace, and lets what has waited follow it. */
  #enter(): void {
    const { namespace, readOnly } = this.#settings;
    const ignore = () => {};
    this.#write(['CLIENT', 'SETINFO', 'LIB-NAME', 'kvorum-sdk'], (outcome) => {
      if (outcome.kind !== 'error') return;
      if (FULL.test(outcome.text)) this.#fail(new Error(outcome.text));
      const refusal = refusalOfDoor(outcome.text, this.address);
      if (refusal !== undefined) this.#refuse(refusal);
    });
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
    this.#entry?.cancel();
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
    const { address, tls } = this.#settings;
    this.#failure = tls === undefined ? error : explainedTls(error, address);
    // The handshake's own reply: a wrong password, a user without rights.
    if (error.name !== 'ReplyError') return;
    this.#refuse(refusalOfDoor(error.message, address) ?? error);
  }

  #refuse(error: Error): void {
    this.#failure = error;
    this.#refused = !NOT_YET.test(error.message);
    this.close();
  }

  #end(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#entry?.cancel();
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
/** Said to the first command of a connection too many, which is closed then. */
const FULL = /^ERR max number of clients/;
/** A node that is starting, has no table yet, or is full lets nobody in for the moment. */
const NOT_YET = /^(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|ERR max number of clients)\b/;
