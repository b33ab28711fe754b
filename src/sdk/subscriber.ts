/**
 * Subscriptions, on a connection of their own. When it is lost another is made, to another node if
 * need be, and everything is subscribed again; messages published meanwhile are lost, as in Redis.
 */
import { EventEmitter } from 'node:events';
import type { Clock, Timer } from '../common/clock.ts';
import type { Address } from '../common/network.ts';
import { checkNames } from './arguments.ts';
import type { Argument, Connection, ConnectionEvents, PushKind } from './connection.ts';
import { ownError, ReplyError } from './errors.ts';
import { refuseTooLarge } from './request-size.ts';
import { namesOfLines } from './subscribe-lines.ts';

/** Events and what their listeners are given; those that end in `Buffer` are given bytes. */
export interface SubscriberEvents {
  message: [channel: string, message: string];
  messageBuffer: [channel: Buffer, message: Buffer];
  pmessage: [pattern: string, channel: string, message: string];
  pmessageBuffer: [pattern: Buffer, channel: Buffer, message: Buffer];
  smessage: [channel: string, message: string];
  smessageBuffer: [channel: Buffer, message: Buffer];
  /** All is subscribed, for the first time or again: what is published from now on arrives. */
  ready: [];
  /** The connection was lost: messages published from now to `ready` are lost. */
  reconnecting: [];
  error: [error: Error];
  end: [];
}

export interface SubscriberOptions {
  readonly clock: Clock;
  /** Where the next connection goes; undefined while no node is known. */
  target(place: number): Address | undefined;
  open(address: Address, events: ConnectionEvents): Connection;
  /** False: no more among the nodes, though there are others. */
  isKnown(address: Address): boolean;
  /** Nobody looks for nodes any more: when none is known, none will be. */
  isLeftAlone(): boolean;
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** A connection that owes an answer and has told nothing for so long is given up. */
  readonly silentMs: number;
  /** How often a connection is asked whether it stands. */
  readonly pingMs: number;
}

type Kind = 'subscribe' | 'psubscribe' | 'ssubscribe';
const kinds: readonly Kind[] = ['subscribe', 'psubscribe', 'ssubscribe'];

interface Waiter {
  readonly names: readonly string[];
  /** What it has added is wanted no more. */
  forget(): void;
  resolve(): void;
  reject(error: Error): void;
}

/** Made by `client.subscriber()`; end it with `close()` or `await using`. */
export class Subscriber extends EventEmitter<SubscriberEvents> {
  readonly #options: SubscriberOptions;
  readonly #wanted: Readonly<Record<Kind, Set<string>>> = {
    subscribe: new Set(),
    psubscribe: new Set(),
    ssubscribe: new Set(),
  };
  #connection: Connection | undefined;
  #timer: Timer | undefined;
  #attempts = 0;
  /** Which node is next: another whenever a connection has ended. */
  #place = 0;
  /** When a connection, the present one if it did, has told something last. */
  #heardMs = 0;
  #beat: Timer | undefined;
  #closed = false;
  /** Why the newest connection was not accepted. */
  #refusal: { readonly connection: Connection; readonly cause: Error } | undefined;
  /** Subscribing calls that wait for a connection on which all is subscribed. */
  #waiting: Waiter[] = [];

  /** Made by `client.subscriber()`. */
  constructor(options: SubscriberOptions) {
    super();
    this.#options = options;
  }

  /**
   * Resolves when what is published to `channels` from then on arrives. Rejects for refused ones, and
   * with `REFUSED` when the node lets this client not in.
   */
  subscribe(...channels: readonly string[]): Promise<void> {
    return this.#subscribe('subscribe', channels);
  }

  /** The same for all channels that match one of `patterns`. */
  psubscribe(...patterns: readonly string[]): Promise<void> {
    return this.#subscribe('psubscribe', patterns);
  }

  /** The same for shard channels (SPUBLISH). */
  ssubscribe(...channels: readonly string[]): Promise<void> {
    return this.#subscribe('ssubscribe', channels);
  }

  /** Without names: from all. */
  unsubscribe(...channels: readonly string[]): Promise<void> {
    return this.#unsubscribe('subscribe', channels);
  }

  /** Without names: from all. */
  punsubscribe(...patterns: readonly string[]): Promise<void> {
    return this.#unsubscribe('psubscribe', patterns);
  }

  /** Without names: from all. */
  sunsubscribe(...channels: readonly string[]): Promise<void> {
    return this.#unsubscribe('ssubscribe', channels);
  }

  /** Ends it for good; may be called again. */
  async close(): Promise<void> {
    this.#end('the subscriber was closed');
  }

  #end(why: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.#beat?.cancel();
    this.#connection?.close();
    this.#connection = undefined;
    this.#rejectWaiting(why);
    this.emit('end');
  }

  #rejectWaiting(why: string): void {
    const closed = ownError('CLOSED', why);
    for (const { reject } of this.#waiting.splice(0)) reject(closed);
  }

  /** `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #subscribe(kind: Kind, names: readonly string[]): Promise<void> {
    checkNames(kind, names);
    if (this.#closed) throw ownError('CLOSED', 'the subscriber is closed');
    if (names.length === 0) throw ownError('BAD_ARGUMENT', `${kind} needs a name`);
    const line = [kind.toUpperCase(), ...names];
    refuseTooLarge(line);
    const added = names.filter((name) => !this.#wanted[kind].has(name));
    for (const name of added) this.#wanted[kind].add(name);
    const forget = () => {
      for (const name of added) this.#wanted[kind].delete(name);
    };
    let before: Connection | undefined;
    while (this.#connection !== undefined && this.#connection !== before) {
      before = this.#connection;
      const error = await this.#send(before, line);
      if (error === undefined) return;
      if (error instanceof ReplyError) {
        forget();
        throw error;
      }
      if (this.#closed) throw ownError('CLOSED', 'the subscriber was closed');
    }
    // The next connection subscribes to all that is wanted.
    const ready = this.#whenSubscribed(names, forget);
    if (before === undefined && this.#timer === undefined) this.#connect();
    await ready;
  }

  #whenSubscribed(names: readonly string[], forget: () => void): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ names, forget, resolve, reject }));
  }

  async #unsubscribe(kind: Kind, names: readonly string[]): Promise<void> {
    checkNames(kind.replace('subscribe', 'unsubscribe'), names);
    const gone = names.length === 0 ? [...this.#wanted[kind]] : names;
    for (const name of gone) this.#wanted[kind].delete(name);
    const connection = this.#connection;
    if (connection === undefined || gone.length === 0) return;
    const word = kind.replace('subscribe', 'unsubscribe').toUpperCase();
    const error = await this.#send(connection, [word, ...gone]);
    if (error instanceof ReplyError) throw error;
  }

  #send(connection: Connection, line: readonly Argument[]): Promise<Error | undefined> {
    return new Promise((resolve) => {
      const watch = this.#whileOwed(connection);
      connection.send(line, (outcome) => {
        watch.cancel();
        if (this.#connection === connection) this.#heardMs = this.#options.clock.monotonicMs();
        if (outcome.kind === 'reply') resolve(undefined);
        else if (outcome.kind === 'error') resolve(new ReplyError(outcome.text));
        else resolve(outcome.cause);
      });
    });
  }

  /** Gives the connection up once it has told nothing for long; until it is cancelled. */
  #whileOwed(connection: Connection): Timer {
    const { clock, silentMs } = this.#options;
    let ended = false;
    const look = () => {
      if (ended || this.#connection !== connection) return;
      // the first look is as long behind the line: what was heard before it gives no time
      const leftMs = this.#heardMs + silentMs - clock.monotonicMs();
      if (leftMs <= 0) this.#giveUp(connection, 'says nothing');
      else timer = wait(leftMs);
    };
    // A process that was busy first reads what has come meanwhile.
    const wait = (delayMs: number) => clock.setTimer(delayMs, () => clock.endOfTurn(look));
    let timer = wait(silentMs);
    return {
      cancel: () => {
        ended = true;
        timer.cancel();
      },
    };
  }

  #giveUp(connection: Connection, why: string): void {
    const { host, port } = connection.address;
    this.#tell(new Error(`${host}:${port} ${why}`));
    connection.close();
  }

  /** Finds out who stands still, or is no more among the nodes and so hears of nothing. */
  #planBeat(connection: Connection): void {
    const { clock, pingMs, isKnown } = this.#options;
    if (this.#connection !== connection) return;
    this.#beat?.cancel();
    this.#beat = clock.setTimer(pingMs, () => {
      if (this.#connection !== connection) return;
      if (!isKnown(connection.address)) this.#giveUp(connection, 'is no more among the nodes');
      else void this.#send(connection, ['PING']).then(() => this.#planBeat(connection));
    });
  }

  #connect(): void {
    this.#timer = undefined;
    this.#attempts++;
    const address = this.#options.target(this.#place);
    if (address === undefined) {
      if (this.#options.isLeftAlone()) this.#end('the client was closed before it knew a datanode');
      else this.#plan();
      return;
    }
    const connection = this.#options.open(address, {
      ready: () => {},
      closed: (cause, refused) => {
        if (refused && cause !== undefined) this.#refusal = { connection, cause };
        this.#lost(connection, cause);
      },
      push: (kind, channel, message, pattern) => this.#hear(kind, channel, message, pattern),
    });
    this.#connection = connection;
    this.#planBeat(connection);
    void this.#subscribeAll(connection);
  }

  async #subscribeAll(connection: Connection): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const refused = new Map<string, Error>();
    const outcomes = await Promise.all(
      kinds.map((kind) => this.#subscribeKind(connection, kind, [...this.#wanted[kind]], refused)),
    );
    if (outcomes.includes('lost')) {
      if (this.#refusal?.connection === connection) this.#refuse(waiting, this.#refusal.cause);
      else this.#waiting = [...waiting, ...this.#waiting];
      const next = this.#connection;
      if (this.#closed) this.#rejectWaiting('the subscriber was closed');
      // it was made before this was heard, and knows nothing of those who wait
      else if (next !== undefined && next !== connection) void this.#subscribeAll(next);
      return;
    }
    this.#attempts = 0;
    for (const { names, resolve, reject } of waiting) {
      const why = names.map((name) => refused.get(name)).find((error) => error !== undefined);
      if (why === undefined) resolve();
      else reject(why);
    }
    for (const error of new Set(refused.values())) this.#tell(error);
    this.emit('ready');
  }

  /** Who waits for what nobody serves is told; what was heard before is asked for again. */
  #refuse(waiting: readonly Waiter[], cause: Error): void {
    const error = ownError('REFUSED', `the subscriber is refused: ${cause.message}`, { cause });
    for (const { forget, reject } of waiting) {
      forget();
      reject(error);
    }
    if (kinds.some((kind) => this.#wanted[kind].size > 0)) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** In several lines: all names together may be more than one request may be. */
  async #subscribeKind(
    connection: Connection,
    kind: Kind,
    all: readonly string[],
    refused: Map<string, Error>,
  ): Promise<'lost' | 'settled'> {
    for (const names of namesOfLines(all)) {
      const outcome = await this.#subscribeNames(connection, kind, names, refused);
      if (outcome === 'lost') return 'lost';
    }
    return 'settled';
  }

  /** One that is refused is wanted no more, and keeps no other from being heard. */
  async #subscribeNames(
    connection: Connection,
    kind: Kind,
    found: readonly string[],
    refused: Map<string, Error>,
  ): Promise<'lost' | 'settled'> {
    // some may have been given up while what comes before them was sent
    const names = found.filter((name) => this.#wanted[kind].has(name));
    if (names.length === 0) return 'settled';
    const error = await this.#send(connection, [kind.toUpperCase(), ...names]);
    if (error === undefined) return 'settled';
    if (!(error instanceof ReplyError)) return 'lost';
    const [name, ...others] = names;
    if (others.length === 0) {
      this.#wanted[kind].delete(name!);
      refused.set(name!, error);
      return 'settled';
    }
    const each = await Promise.all(
      names.map((one) => this.#subscribeNames(connection, kind, [one], refused)),
    );
    return each.includes('lost') ? 'lost' : 'settled';
  }

  #lost(connection: Connection, cause: Error | undefined): void {
    if (this.#connection !== connection || this.#closed) return;
    this.#connection = undefined;
    this.#beat?.cancel();
    this.#place++;
    if (cause !== undefined) this.#tell(cause);
    this.emit('reconnecting');
    this.#plan();
  }

  #plan(): void {
    const { clock, backoffMinMs, backoffMaxMs } = this.#options;
    const delayMs = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(this.#attempts, 20));
    this.#timer = clock.setTimer(delayMs, () => this.#connect());
  }

  #tell(error: Error): void {
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  #hear(kind: PushKind, channel: Buffer, message: Buffer, pattern?: Buffer): void {
    this.#heardMs = this.#options.clock.monotonicMs();
    if (kind === 'pmessage') {
      const by = pattern ?? Buffer.alloc(0);
      this.emit('pmessageBuffer', by, channel, message);
      if (this.listenerCount('pmessage') === 0) return;
      this.emit('pmessage', by.toString(), channel.toString(), message.toString());
      return;
    }
    this.emit(kind === 'message' ? 'messageBuffer' : 'smessageBuffer', channel, message);
    if (this.listenerCount(kind) > 0) this.emit(kind, channel.toString(), message.toString());
  }
}
