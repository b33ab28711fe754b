/**
 * Connections to nodes that the table has lost: they take no new calls, and are closed when those
 * under way have ended, or when the node has been away for long and says nothing.
 */
import type { Clock, Timer } from '../common/clock.ts';
import { limits } from '../common/limits.ts';
import type { Connection } from './connection.ts';
import type { Held } from './pool.ts';

export class Leaving {
  readonly #clock: Clock;
  readonly #shared = new Map<Connection, Held>();
  /** Since when each leaves, on the clock's monotone time; those that were borrowed as well. */
  readonly #sinceMs = new Map<Connection, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those that were shared. */
  get shared(): ReadonlyMap<Connection, Held> {
    return this.#shared;
  }

  addShared(held: Held): void {
    this.#shared.set(held.connection, held);
    this.addBorrowed(held.connection);
  }

  /** Its borrower closes it, unless it says nothing. May be called again. */
  addBorrowed(connection: Connection): void {
    if (this.#sinceMs.has(connection)) return;
    this.#sinceMs.set(connection, this.#clock.monotonicMs());
  }

  /** It has ended, or its node is there again; false: it was not leaving. */
  delete(connection: Connection): boolean {
    this.#shared.delete(connection);
    return this.#sinceMs.delete(connection);
  }

  /** Closes whose time has come, and looks again while there are others. */
  look(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const connection of [...this.#sinceMs.keys()]) {
      if (this.#isOver(connection)) connection.close();
    }
    if (this.#sinceMs.size === 0) return;
    this.#timer = this.#clock.setTimer(limits.sdkLeavingLookMs, () => this.look());
  }

  /** Closes all. */
  close(): void {
    this.#timer?.cancel();
    for (const connection of [...this.#sinceMs.keys()]) connection.close();
  }

  #isOver(connection: Connection): boolean {
    const { owesSinceMs = 0, pending } = connection;
    if (pending === 0) return this.#shared.has(connection);
    const silentSinceMs = Math.max(owesSinceMs, this.#sinceMs.get(connection)!);
    return this.#clock.monotonicMs() - silentSinceMs >= limits.sdkSilentMs;
  }
}
