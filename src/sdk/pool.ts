/** Connections by node and role. */
import type { Clock } from '../common/clock.ts';
import { limits } from '../common/limits.ts';
import type { Address } from '../common/network.ts';
import type { Connection, ConnectionSettings, Connector } from './connection.ts';
import { Leaving } from './leaving.ts';

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

export interface Held {
  readonly role: Role;
  readonly connection: Connection;
  readonly address: Address;
}

export class Pool {
  readonly #options: PoolOptions;
  readonly #shared = new Map<string, Held>();
  readonly #idle = new Map<string, Connection[]>();
  readonly #borrowed = new Map<Connection, Address>();
  readonly #leaving: Leaving;
  readonly #avoidedUntilMs = new Map<string, number>();
  /** Why the newest connection to an address was not accepted. */
  readonly #refusals = new Map<string, Error>();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#leaving = new Leaving(options.clock);
  }

  /** Connections that stand or are being made. */
  get size(): number {
    let idle = 0;
    for (const some of this.#idle.values()) idle += some.length;
    return this.#shared.size + this.#borrowed.size + this.#leaving.shared.size + idle;
  }

  /** The one connection of a node and role; a new one when there is none. */
  shared(role: Role, address: Address): Connection {
    const name = nameOf({ role, address });
    const found = this.#shared.get(name);
    if (found !== undefined) return found.connection;
    if (this.#closed) return closedConnection(address);
    const connection = this.#open(address, role === 'follower', () => {
      this.#leaving.delete(connection);
      if (this.#shared.get(name)?.connection === connection) this.#shared.delete(name);
    });
    this.#shared.set(name, { role, connection, address });
    return connection;
  }

  /** A connection for one command that blocks; given back or closed by the borrower. */
  borrow(address: Address): Connection {
    const idle = this.#idle.get(keyOf(address))?.pop();
    if (idle === undefined && this.#closed) return closedConnection(address);
    const connection =
      idle ??
      this.#open(address, false, () => {
        this.#borrowed.delete(connection);
        this.#leaving.delete(connection);
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
    const isLeaving = this.#leaving.delete(connection);
    if (isLeaving || kept.length >= this.#options.idleMax) {
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
   * side may be gone without a word, and it would swallow whatever comes: the next is made anew. For
   * longer where one command may rightly hold back what comes after it.
   */
  doubt(connection: Connection): void {
    const { owesSinceMs } = connection;
    const held = [...this.#shared.values()].find((one) => one.connection === connection);
    if (owesSinceMs === undefined || held === undefined) return;
    const boundMs = held.role === 'any' ? limits.sdkSilentAnyMs : limits.sdkSilentMs;
    if (this.#options.clock.monotonicMs() - owesSinceMs >= boundMs) connection.close();
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

  /**
   * Nodes that are there. Connections to others take no new calls, and end with those under way: a
   * node may have lost its lease for a moment, and still answer.
   */
  retain(addresses: readonly Address[]): void {
    const kept = new Set(addresses.map(keyOf));
    const gone = (address: Address) => !kept.has(keyOf(address));
    for (const [connection, held] of [...this.#leaving.shared]) {
      const name = nameOf(held);
      if (gone(held.address) || this.#shared.has(name)) continue;
      this.#leaving.delete(connection);
      this.#shared.set(name, held);
    }
    for (const [name, held] of [...this.#shared]) {
      if (!gone(held.address)) continue;
      this.#shared.delete(name);
      this.#leaving.addShared(held);
    }
    for (const [connection, address] of [...this.#borrowed]) {
      if (gone(address)) this.#leaving.addBorrowed(connection);
      else this.#leaving.delete(connection);
    }
    for (const [name, idle] of [...this.#idle]) {
      if (kept.has(name)) continue;
      this.#idle.delete(name);
      for (const connection of idle) connection.close();
    }
    for (const told of [this.#avoidedUntilMs, this.#refusals]) {
      for (const name of [...told.keys()]) if (!kept.has(name)) told.delete(name);
    }
    this.#leaving.look();
  }

  /** Closes all: what is pending is lost. */
  close(): void {
    this.#closed = true;
    // all of them leave, borrowed ones as well
    this.retain([]);
    this.#leaving.close();
  }

  #open(address: Address, readOnly: boolean, forget: () => void): Connection {
    const { connector, settings, events } = this.#options;
    const name = keyOf(address);
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

function nameOf({ role, address }: Pick<Held, 'role' | 'address'>): string {
  return `${role} ${keyOf(address)}`;
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
