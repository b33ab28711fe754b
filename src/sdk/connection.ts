/**
 * What the SDK asks of a connection. The product's adapter over ioredis is in
 * `ioredis-connection.ts`; another speaks RESP over whatever carries bytes. A connection lives once:
 * it never connects again and never sends a command twice.
 */
import type { Clock } from '../common/clock.ts';
import type { Address } from '../common/network.ts';
import type { TlsOptions } from './tls-options.ts';

/** What a command may be given: texts are sent as UTF-8, numbers as their decimal text. */
export type Argument = (string & {}) | Buffer | number;

/** A decoded reply: strings are bytes, nested errors (in EXEC's array) are errors. */
export type Reply = Buffer | number | null | Error | readonly Reply[];

export type Outcome =
  | { readonly kind: 'reply'; readonly reply: Reply }
  /** An error reply. */
  | { readonly kind: 'error'; readonly text: string }
  /** Lost before it was handed to the connection: it has no effect. */
  | { readonly kind: 'unsent'; readonly cause: Error }
  /** Lost after that: it may take effect. */
  | { readonly kind: 'lost'; readonly cause: Error };

export interface Connection {
  readonly address: Address;
  /** Commands without an outcome. */
  readonly pending: number;
  /**
   * Since when replies are owed and none has come, on the clock's monotone time; undefined: none is
   * owed.
   */
  readonly owesSinceMs: number | undefined;
  /** Sends in order; what comes before the connection stands waits for it. `done` is called once. */
  send(line: readonly Argument[], done: (outcome: Outcome) => void): void;
  /** Closes at once: what is pending is `lost`, or `unsent` when it still waited. */
  close(): void;
}

export type PushKind = 'message' | 'pmessage' | 'smessage';

/** Keeps `owesSinceMs`. */
export class Debt {
  readonly #clock: Clock;
  sinceMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A command was sent. */
  add(): void {
    this.sinceMs ??= this.#clock.monotonicMs();
  }

  /** A reply came; `left`: those that are still owed. */
  pay(left: number): void {
    this.sinceMs = left > 0 ? this.#clock.monotonicMs() : undefined;
  }
}

export interface ConnectionEvents {
  /** The connection stands and is in its namespace. */
  ready(): void;
  /** Called once; nothing follows. `refused`: the server does not let this client in. */
  closed(cause: Error | undefined, refused: boolean): void;
  /** A published message; `pattern` of a `pmessage`. */
  push?(kind: PushKind, channel: Buffer, message: Buffer, pattern?: Buffer): void;
}

export interface ConnectionSettings {
  readonly address: Address;
  /** Selected before anything is sent; undefined: where the user begins. */
  readonly namespace: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly connectTimeoutMs: number;
  /** Undefined: plain. */
  readonly tls?: TlsOptions | undefined;
  /** A follower-read port: READONLY is sent first. */
  readonly readOnly: boolean;
}

export interface Connector {
  /** Begins to connect; failures are told by `closed`. */
  open(settings: ConnectionSettings, events: ConnectionEvents): Connection;
}
