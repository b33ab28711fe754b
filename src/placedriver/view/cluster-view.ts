/**
 * What one placedriver knows of the cluster, master or not: all of `/kvorum/` by a watch of its own.
 * Every read of the HTTP API is answered from here, also while the metadata store is away.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';
import type { Namespace, Revision } from '../../common/ids.ts';
import type { Logger } from '../../common/log.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import { keys } from '../../meta/schema.ts';
import type { MetaEvent, MetaItem, MetaStore, Watch } from '../../meta/store.ts';
import { Picture, type Stored } from '../picture.ts';
import { Epochs } from './epochs.ts';
import { EventRing, type ToldEvent } from './event-ring.ts';
import { diffFacts, type Facts, factsOf } from './facts.ts';

/** Changes come in crowds: they are compared with what was before this long after the first. */
const COMPARE_AFTER_MS = 100;
/** Of a reading during which nothing may change. */
const FRESH_TRIES = 5;

export interface ClusterViewOptions {
  readonly store: MetaStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Who is master, and the revision of its election. */
export interface Mastership {
  readonly name: string;
  readonly revision: Revision;
}

/** A namespace and the nodes are in the picture, as they were at `revision`. */
export interface KnownNamespace {
  readonly picture: Picture;
  /** As `ClusterView.epochOf`. */
  readonly epoch: Revision;
  readonly revision: Revision;
}

export class ClusterView {
  readonly #events = new EventRing();
  readonly #options: ClusterViewOptions;
  readonly #picture: Picture;
  readonly #epochs = new Epochs();
  readonly #candidates = new Map<string, MetaItem>();
  readonly #stop = new AbortController();
  #watch: Watch | undefined;
  #revision: Revision = 0;
  #clusterId: string | undefined;
  #facts: Facts | undefined;
  /** `#facts` are of it. */
  #comparedRevision: Revision = 0;
  #comparing: Promise<void> | undefined;

  constructor(options: ClusterViewOptions) {
    this.#options = options;
    this.#picture = new Picture((problem) => this.#onProblem(problem));
  }

  start(): void {
    this.#watch = this.#options.store.watch(keys.root, {
      onList: (items, revision) => this.#onList(items, revision),
      onEvents: (events, revision) => this.#onEvents(events, revision),
    });
  }

  async close(): Promise<void> {
    this.#watch?.close();
    this.#stop.abort(new KvorumError('STOPPING', 'the placedriver stops'));
    await this.#comparing;
  }

  /** True once the store has told everything. */
  get ready(): boolean {
    return this.#revision > 0;
  }

  /** Of the store, as far as this placedriver has heard; 0 until it is ready. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Throws STORE_UNAVAILABLE until the store has told everything for the first time. */
  get picture(): Picture {
    if (!this.ready) throw unheard();
    return this.#picture;
  }

  /** What has been read of the store so far: another picture of it need not read it again. */
  kept(key: string): Stored<unknown> | undefined {
    return this.#picture.kept(key);
  }

  /** Undefined until some placedriver was master for the first time. */
  get clusterId(): string | undefined {
    return this.#clusterId;
  }

  /** Undefined while there is none. */
  get master(): Mastership | undefined {
    const [first] = [...this.#candidates.values()].sort(
      (a, b) => a.createRevision - b.createRevision,
    );
    return first && { name: first.value, revision: first.createRevision };
  }

  /** As `fresh`, of what this placedriver knows. Throws STORE_UNAVAILABLE as `picture` does. */
  of(namespace: Namespace): KnownNamespace {
    const { picture, revision } = this;
    return { picture, epoch: this.epochOf(namespace), revision };
  }

  /**
   * Grows with every change of what clients are told of the namespace: its options, its table, its
   * leaders, and the addresses of nodes. A revision of the store, at most `revision`: whoever has an
   * epoch of any placedriver between the two has missed nothing.
   */
  epochOf(namespace: Namespace): Revision {
    return this.#epochs.of(namespace);
  }

  /** As the metadata store has them now; rejects while it is away. */
  async fresh(namespace: Namespace): Promise<KnownNamespace> {
    for (let tries = 1; ; tries++) {
      const { picture, asOf } = await this.#read(namespace);
      // what is gone left no trace in what was read: the view knows, once it has come as far
      const epoch = this.#revision >= asOf ? this.epochOf(namespace) : asOf;
      // what changed while it was read may be missing: an epoch must not stand for it
      if (epoch > asOf && tries < FRESH_TRIES) continue;
      return { picture, epoch: Math.min(epoch, asOf), revision: asOf };
    }
  }

  /** `asOf`: all changes up to this revision are in the picture. */
  async #read(namespace: Namespace) {
    const prefixes = [
      keys.nodes,
      keys.namespaces,
      keys.partitionsOf(namespace),
      keys.leadersOf(namespace),
    ];
    const ranges = await Promise.all(prefixes.map((prefix) => this.#options.store.range(prefix)));
    const picture = new Picture(undefined, (key) => this.kept(key));
    picture.list(ranges.flatMap((range) => range.items));
    return { picture, asOf: Math.min(...ranges.map(({ revision }) => revision)) };
  }

  /** As `picture`; what happened after `since`, and the `since` from which nothing will be missing then. */
  toldEvents(since: Revision): {
    readonly revision: Revision;
    readonly completeSince: Revision;
    readonly events: readonly ToldEvent[];
  } {
    if (!this.ready) throw unheard();
    return { revision: this.#comparedRevision, ...this.#events.since(since) };
  }

  #onList(items: readonly MetaItem[], revision: Revision): void {
    this.#picture.list(items);
    this.#epochs.list(items, revision);
    this.#candidates.clear();
    for (const item of items) this.#put(item);
    this.#revision = revision;
    this.#considerEvents();
  }

  #onEvents(events: readonly MetaEvent[], revision: Revision): void {
    for (const event of events) {
      this.#note(event);
      if (event.type === 'put') this.#put(event.item);
      else this.#candidates.delete(event.key);
    }
    this.#revision = revision;
    this.#considerEvents();
  }

  /** One after the other: a record that changed twice changed, even if it is again what it was. */
  #note(event: MetaEvent): void {
    const { key, modRevision } = event.type === 'put' ? event.item : event;
    const before = this.#picture.kept(key);
    this.#picture.apply([event]);
    const after = this.#picture.kept(key);
    this.#epochs.note({ key, revision: modRevision, before, after });
  }

  #put(item: MetaItem): void {
    if (item.key.startsWith(keys.election)) this.#candidates.set(item.key, item);
    if (item.key === keys.cluster) this.#learnCluster(item);
  }

  #learnCluster({ key, value }: MetaItem): void {
    try {
      this.#clusterId = decodeRecord(recordKinds.cluster, key, value).clusterId;
    } catch (failure) {
      this.#onProblem(messageOf(failure));
    }
  }

  #onProblem(problem: string): void {
    const text = 'metadata that cannot be read: what was last read is shown';
    this.#options.logger.error(text, { problem });
  }

  /** The first picture is where the story begins: it is no event itself. */
  #considerEvents(): void {
    if (this.#facts === undefined) {
      this.#facts = factsOf(this.#picture, this.master?.name);
      this.#comparedRevision = this.#revision;
      this.#events.begin(this.#revision);
      return;
    }
    this.#comparing ??= sleep(this.#options.clock, COMPARE_AFTER_MS, this.#stop.signal)
      .then(() => this.#compare())
      .catch(() => {})
      .finally(() => {
        this.#comparing = undefined;
      });
  }

  #compare(): void {
    const before = this.#facts!;
    const after = factsOf(this.#picture, this.master?.name);
    this.#facts = after;
    this.#comparedRevision = this.#revision;
    this.#events.add(diffFacts(before, after), this.#revision, this.#options.clock.wallMs());
  }
}

function unheard(): KvorumError {
  const text = 'this placedriver has not heard from the metadata store yet; try again';
  return new KvorumError('STORE_UNAVAILABLE', text);
}
