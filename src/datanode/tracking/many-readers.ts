/** Who may have cached a key that many have: found by who they are, where a list would be walked by each. */
import type { Reader } from './key-table.ts';
import type { TrackedClient } from './tracked-client.ts';

export class ManyReaders {
  readonly #byClient = new Map<TrackedClient, Reader>();
  /** Of so many, those that have gone are looked for. */
  #sweptAt = 0;

  constructor(readers: Iterable<Reader>) {
    for (const reader of readers) this.#byClient.set(reader.client, reader);
    this.#noteSwept();
  }

  get size(): number {
    return this.#byClient.size;
  }

  find(client: TrackedClient): Reader | undefined {
    return this.#byClient.get(client);
  }

  /** Of a key that never changes nobody else drops those that have gone. */
  add(reader: Reader): void {
    if (this.size >= this.#sweptAt) {
      this.keep(({ client }) => client.isOn);
      this.#noteSwept();
    }
    this.#byClient.set(reader.client, reader);
  }

  remove(client: TrackedClient): void {
    this.#byClient.delete(client);
  }

  keep(isKept: (reader: Reader) => boolean): void {
    for (const [client, reader] of this.#byClient) {
      if (!isKept(reader)) this.#byClient.delete(client);
    }
  }

  #noteSwept(): void {
    this.#sweptAt = 2 * Math.max(1, this.size);
  }
}
