/**
 * Per namespace the newest revision of what clients are told of it. Whoever knows epoch E knows all
 * changes up to revision E, whichever placedriver told it. Never goes back. Pure.
 */
import type { Namespace, Revision } from '../../common/ids.ts';
import { keys } from '../../meta/schema.ts';
import type { MetaEvent, MetaItem } from '../../meta/store.ts';

export class Epochs {
  readonly #namespaces = new Map<Namespace, Revision>();
  /** Registrations: answers name the addresses of nodes. */
  readonly #nodes = new Set<string>();
  #ofNodes: Revision = 0;

  /** 0 for a namespace that never was. */
  of(namespace: Namespace): Revision {
    const own = this.#namespaces.get(namespace);
    return own === undefined ? 0 : Math.max(own, this.#ofNodes);
  }

  /** A namespace or node that is gone went at `revision` at the latest. */
  list(items: readonly MetaItem[], revision: Revision): void {
    const present = new Set(items.map(({ key }) => key));
    for (const key of this.#nodes) if (!present.has(key)) this.#delete(key, revision);
    for (const namespace of this.#namespaces.keys()) {
      if (!present.has(keys.namespace(namespace))) this.#namespaces.delete(namespace);
    }
    for (const item of items) this.#put(item.key, item.modRevision);
  }

  apply(events: readonly MetaEvent[]): void {
    for (const event of events) {
      if (event.type === 'put') this.#put(event.item.key, event.item.modRevision);
      else this.#delete(event.key, event.modRevision);
    }
  }

  #put(key: string, revision: Revision): void {
    if (key.startsWith(keys.nodes)) this.#nodes.add(key);
    this.#touch(key, revision);
  }

  #delete(key: string, revision: Revision): void {
    this.#nodes.delete(key);
    if (key.startsWith(keys.namespaces)) {
      this.#namespaces.delete(key.slice(keys.namespaces.length));
      return;
    }
    this.#touch(key, revision);
  }

  #touch(key: string, revision: Revision): void {
    if (key.startsWith(keys.nodes)) {
      this.#ofNodes = Math.max(this.#ofNodes, revision);
      return;
    }
    for (const prefix of [keys.namespaces, keys.partitions, keys.leaders]) {
      if (!key.startsWith(prefix)) continue;
      const [namespace = ''] = key.slice(prefix.length).split('/');
      const known = this.#namespaces.get(namespace) ?? 0;
      this.#namespaces.set(namespace, Math.max(known, revision));
    }
  }
}
