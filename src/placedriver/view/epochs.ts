/**
 * Per namespace the newest revision at which what clients are told of it changed: its options, its
 * table, its leaders, the addresses of nodes. How far a learner is, or a lease that was taken anew
 * under the same record, is not told to clients and changes nothing. Whoever knows epoch E knows all
 * such changes up to revision E, whichever placedriver told it. Never goes back. Pure.
 */
import type { Namespace, Revision } from '../../common/ids.ts';
import { keys, type LeaderRecord, type PartitionRecord } from '../../meta/schema.ts';
import type { MetaItem } from '../../meta/store.ts';

/** A record as a picture keeps it. */
export interface Kept {
  readonly record: unknown;
  readonly readable: boolean;
}

/** Of one key, by one event; undefined: there is none. */
export interface KeptChange {
  readonly key: string;
  readonly revision: Revision;
  readonly before: Kept | undefined;
  readonly after: Kept | undefined;
}

export class Epochs {
  /** Those whose record is there, and no others. */
  readonly #namespaces = new Map<Namespace, Revision>();
  /** Of what concerns all of them: registrations, and lists. */
  #ofAll: Revision = 0;

  /** 0 for a namespace that is not there. */
  of(namespace: Namespace): Revision {
    const own = this.#namespaces.get(namespace);
    return own === undefined ? 0 : Math.max(own, this.#ofAll);
  }

  /** What is gone by `revision` left no trace in a list: it counts as a change of everything. */
  list(items: readonly MetaItem[], revision: Revision): void {
    this.#ofAll = Math.max(this.#ofAll, revision);
    this.#namespaces.clear();
    for (const { key, modRevision } of items) {
      if (key.startsWith(keys.namespaces)) this.#namespaces.set(namespaceOf(key), modRevision);
    }
  }

  note({ key, revision, before, after }: KeptChange): void {
    const namespace = namespaceOf(key);
    if (key.startsWith(keys.namespaces)) {
      if (after === undefined) this.#namespaces.delete(namespace);
      else this.#namespaces.set(namespace, revision);
      return;
    }
    const tell = telling.find(([prefix]) => key.startsWith(prefix))?.[1];
    if (tell === undefined || shown(before, tell) === shown(after, tell)) return;
    if (key.startsWith(keys.nodes)) this.#ofAll = revision;
    else if (this.#namespaces.has(namespace)) this.#namespaces.set(namespace, revision);
  }
}

type Tell = (record: never) => unknown;

/** Of each kind of record what an answer is made from, or more. */
const telling: readonly (readonly [prefix: string, Tell])[] = [
  [keys.nodes, (record) => record],
  [
    keys.partitions,
    ({ group, replicas }: PartitionRecord) => [group, ...replicas.map(({ node }) => node)],
  ],
  // a leader that won again is told as well: connections to it may have broken meanwhile
  [
    keys.leaders,
    ({ group, node, replica, term, resigned }: LeaderRecord) => [
      ...[group, node, replica, term, resigned],
    ],
  ],
];

function shown(kept: Kept | undefined, tell: Tell): string {
  if (kept === undefined) return '';
  return JSON.stringify([kept.readable, tell(kept.record as never)]);
}

/** The first part of what follows the kind: of `/kvorum/KIND/NAMESPACE/PARTITION`. */
function namespaceOf(key: string): Namespace {
  return key.slice(keys.root.length).split('/')[1] ?? '';
}
