/**
 * Those who track by prefix, by their prefixes. A name is looked up once for each length that a prefix
 * has: there may be thousands of prefixes (one of each user), and they are mostly of a few lengths.
 */
import type { TrackedClient } from './tracked-client.ts';

export class PrefixTable {
  readonly #clients = new Map<string, Set<TrackedClient>>();
  /** Prefixes of each length. */
  readonly #lengths = new Map<number, number>();

  /** Prefixes that somebody tracks. */
  get size(): number {
    return this.#clients.size;
  }

  add(prefix: string, client: TrackedClient): void {
    const sharing = this.#clients.get(prefix);
    if (sharing !== undefined) {
      sharing.add(client);
      return;
    }
    this.#clients.set(prefix, new Set([client]));
    this.#lengths.set(prefix.length, (this.#lengths.get(prefix.length) ?? 0) + 1);
  }

  remove(prefix: string, client: TrackedClient): void {
    const sharing = this.#clients.get(prefix);
    if (sharing === undefined || !sharing.delete(client) || sharing.size > 0) return;
    this.#clients.delete(prefix);
    const left = this.#lengths.get(prefix.length)! - 1;
    if (left === 0) this.#lengths.delete(prefix.length);
    else this.#lengths.set(prefix.length, left);
  }

  /** None where they have gone since, as who does not read what it is told. */
  clientsOf(prefix: string): Iterable<TrackedClient> {
    return this.#clients.get(prefix) ?? [];
  }

  /** Of the prefixes that somebody tracks those that `name` begins with. */
  *of(name: string): Generator<string, void> {
    for (const length of this.#lengths.keys()) {
      if (length > name.length) continue;
      const prefix = name.slice(0, length);
      if (this.#clients.has(prefix)) yield prefix;
    }
  }
}
