/**
 * Client side caching of one node: which of its clients track, what changes at the partitions that they
 * read, and who is told. A client hears of a change of what it was answered, or that it has to forget
 * all: see "The path of an invalidation" in ARCHITECTURE.md.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import type { GroupId, Namespace } from '../../common/ids.ts';
import type {
  Tracking,
  TrackingInfo,
  TrackingOptions,
} from '../commands/connection/tracking-port.ts';
import type { Session } from '../commands/rows/node-context.ts';
import {
  type CommandBatch,
  type CommandLine,
  changedBatch,
  type LineResult,
} from '../partition/entries/batch.ts';
import type { ChangedKeys } from '../partition/entries/changes.ts';
import type { ChangesPlace } from '../routing/changes-codec.ts';
import type { Router } from '../routing/router.ts';
import { tellByPrefix } from './broadcast.ts';
import { ChangeFeed, type FeedWorld } from './change-feed.ts';
import type { KeyCounts } from './key-table.ts';
import { type NamedKeys, nameKeys } from './line-keys.ts';
import { PrefixTable } from './prefix-table.ts';
import { TrackedClient } from './tracked-client.ts';
import type { UnderWay } from './under-way.ts';

export interface TrackingWorld {
  readonly clock: Clock;
  readonly router: Pick<Router, 'execute' | 'changes' | 'routes' | 'isLocalFollower'>;
  /** CONFIG tracking-table-max-keys; 0: as many as there are. */
  keysMax(): number;
}

/** A line of a lane's batch; `tracks` undefined: it is of the command that runs alone. */
export interface TrackedItem {
  readonly line: CommandLine;
  readonly tracks?: boolean;
}

const LOOK_MS = 250;
/** A feed that nobody used for so long is given up. */
const IDLE_MS = 30_000;
/**
 * A write that is not answered holds back so long what its client is owed. Behind an answer that came late
 * (4.9 s), with a look and a late push (250 ms each), that is within what is promised (docs/caching.md).
 */
const OWED_MS = 500;

export class TrackingHub implements Tracking {
  readonly #world: TrackingWorld;
  readonly #feedWorld: FeedWorld;
  readonly #clients = new Map<Session, TrackedClient>();
  readonly #feeds = new Map<number, ChangeFeed>();
  readonly #unlisten = new Map<ChangeFeed, () => void>();
  readonly #counts: KeyCounts = { keys: 0, items: 0 };
  readonly #byPrefix = new PrefixTable();
  /** Namespaces whose every change such a client is to hear of. */
  readonly #namespaces = new Map<TrackedClient, Set<Namespace>>();
  /** By the items of their batch. */
  readonly #underWay = new WeakMap<readonly TrackedItem[], UnderWay>();
  readonly #alone = new Map<TrackedClient, Set<UnderWay>>();
  #timer: Timer | undefined;

  constructor(world: TrackingWorld) {
    this.#world = world;
    this.#feedWorld = {
      clock: world.clock,
      ask: (...asked) => world.router.changes.ask(...asked),
      onChanges: (feed, changes) => this.#onChanges(feed, changes),
      onMissed: (feed, wasOpen) => this.#onMissed(feed, wasOpen),
    };
  }

  info(): TrackingInfo {
    const { keys, items } = this.#counts;
    return { clients: this.#clients.size, keys, items, prefixes: this.#byPrefix.size };
  }

  enable(session: Session, options: TrackingOptions): Promise<void> | undefined {
    const client = this.#clients.get(session) ?? new TrackedClient(session, options);
    this.#clients.set(session, client);
    session.tracking = client;
    client.change(options);
    this.#timer ??= this.#world.clock.setTimer(LOOK_MS, () => this.#look());
    if (!client.broadcast) return undefined;
    for (const name of client.prefixNames) this.#byPrefix.add(name, client);
    const waits = this.#listenAll(client, session.namespace);
    if (waits === undefined) client.listens = true;
    return waits?.then(() => {
      client.listens = true;
    });
  }

  disable(session: Session): void {
    const client = this.#clients.get(session);
    if (client === undefined) return;
    session.tracking = undefined;
    this.#clients.delete(session);
    this.#namespaces.delete(client);
    this.#alone.delete(client);
    for (const name of client.prefixNames) this.#byPrefix.remove(name, client);
    client.end();
  }

  close(): void {
    this.#timer?.cancel();
    for (const feed of this.#feeds.values()) this.#closeFeed(feed);
    this.#feeds.clear();
  }

  /** Called for each command of a client that tracks, in order: whether what it reads is tracked. */
  next(session: Session, isAlone: boolean, isLast: boolean): boolean {
    const client = this.#clients.get(session);
    if (client === undefined) return false;
    const { tracksNow } = client;
    if (isAlone) client.tracksAlone = tracksNow;
    if (isLast) client.caching = false;
    return tracksNow;
  }

  /** As `Router.execute`, for a client that tracks; then `handedOver`. */
  execute(
    session: Session,
    batch: CommandBatch,
    items: readonly TrackedItem[],
    isAlone: boolean,
  ): Promise<readonly LineResult[]> {
    const { router } = this.#world;
    const client = this.#clients.get(session);
    const named = client && namedBy(client, items);
    if (client === undefined || named === undefined || !batch.group) return router.execute(batch);
    const reads = [...named.values()].some(({ isRead }) => isRead);
    const feed = reads ? this.#feedOf(batch) : this.#openFeed(batch);
    if (feed === undefined) return router.execute(batch);
    const run = () => {
      // it may have gone while it waited, and then nobody would end what begins here
      if (!client.isOn) return router.execute(batch);
      const { clock } = this.#world;
      const under = client.begin(feed, named, batch.kind, clock.monotonicMs());
      if (!feed.isLive) under.isForgotten = true;
      this.#underWay.set(items, under);
      if (isAlone) this.#keepAlone(client, under);
      return this.#answered(under, router.execute(changedBatch(batch, { witness: true })));
    };
    if (!client.isOn) return router.execute(batch);
    if (reads) this.#makeRoom(feed);
    if (client.broadcast) void this.#listenAll(client, batch.namespace);
    const waits = reads ? feed.ready() : undefined;
    return waits === undefined ? run() : waits.then(run);
  }

  /** A client that waits for elements: what it will have read nobody tells before it is answered. */
  waits(session: Session, { place, line }: { place: ChangesPlace; line: CommandLine }): void {
    const client = this.#clients.get(session);
    const named = client && namedBy(client, [{ line }]);
    if (client === undefined || named === undefined) return;
    const feed = this.#feedOf(place);
    const under = client.begin(feed, named, 'read', this.#world.clock.monotonicMs());
    under.sawNothing();
    if (!feed.isLive) under.isForgotten = true;
    this.#keepAlone(client, under);
  }

  /** The replies of a batch have their places. */
  handedOver(session: Session, items: readonly TrackedItem[]): void {
    const under = this.#underWay.get(items);
    const client = this.#clients.get(session);
    if (under === undefined || client === undefined) return;
    if (this.#alone.get(client)?.has(under)) return;
    client.finish(under);
  }

  /** The command that ran alone has its reply. */
  ended(session: Session): void {
    const client = this.#clients.get(session);
    const alone = client && this.#alone.get(client);
    if (client === undefined || alone === undefined) return;
    this.#alone.delete(client);
    for (const under of alone) client.finish(under);
  }

  #keepAlone(client: TrackedClient, under: UnderWay): void {
    const kept = this.#alone.get(client);
    if (kept === undefined) this.#alone.set(client, new Set([under]));
    else kept.add(under);
  }

  async #answered(
    under: UnderWay,
    answering: Promise<readonly LineResult[]>,
  ): Promise<readonly LineResult[]> {
    try {
      const results = await answering;
      under.answered(results);
      return results;
    } catch (failure) {
      under.sawNothing();
      throw failure;
    }
  }

  #feedOf(batch: ChangesPlace | CommandBatch): ChangeFeed {
    const { namespace, partition } = batch;
    const group = batch.group!;
    const name = nameOf(group, this.#isOfReplica(batch));
    let feed = this.#feeds.get(name);
    if (feed === undefined) {
      const place = { namespace, partition, group };
      feed = new ChangeFeed(this.#feedWorld, place, name % 2 === 1, this.#counts);
      const opened = feed;
      this.#feeds.set(name, feed);
      this.#unlisten.set(
        feed,
        this.#world.router.routes.onLeader(group, () => opened.askAgain()),
      );
    }
    feed.usedMs = this.#world.clock.monotonicMs();
    return feed;
  }

  #openFeed(batch: CommandBatch): ChangeFeed | undefined {
    return this.#feeds.get(nameOf(batch.group!, this.#isOfReplica(batch)));
  }

  /** Reads that a follower may answer are told of what that applies. */
  #isOfReplica(batch: ChangesPlace | CommandBatch): boolean {
    return 'maxStalenessMs' in batch && batch.maxStalenessMs !== undefined;
  }

  /** Every partition of the namespace; resolves once they are listened to, as far as they can be. */
  #listenAll(client: TrackedClient, namespace: Namespace): Promise<void> | undefined {
    const known = this.#namespaces.get(client);
    if (known?.has(namespace)) return undefined;
    if (known === undefined) this.#namespaces.set(client, new Set([namespace]));
    else known.add(namespace);
    const waits = this.#feedsOf(client, namespace).map((feed) => feed.ready());
    if (waits.every((wait) => wait === undefined)) return undefined;
    return Promise.all(waits).then(() => {});
  }

  /** At the follower-read port those of this node's replicas, where there are any. */
  #feedsOf({ session }: TrackedClient, namespace: Namespace): ChangeFeed[] {
    const { router } = this.#world;
    return (router.routes.partitions(namespace) ?? []).map(({ partition, group }) => {
      const follows = session?.door === 'follower' && router.isLocalFollower(namespace, partition);
      const place = { namespace, partition, group };
      return this.#feedOf(follows ? { ...place, maxStalenessMs: 0 } : place);
    });
  }

  #covers(client: TrackedClient, { place }: ChangeFeed): boolean {
    return this.#namespaces.get(client)?.has(place.namespace) === true;
  }

  #onChanges(feed: ChangeFeed, changes: readonly ChangedKeys[]): void {
    for (const change of changes) {
      if (change.all) {
        this.#forget(feed);
        continue;
      }
      for (const key of change.keys) {
        feed.keys.changed(key.toString('latin1'), change, (reader, name, what) =>
          reader.client.onChanged(feed, reader, name, what),
        );
      }
    }
    if (this.#byPrefix.size === 0) return;
    tellByPrefix(feed, changes, this.#byPrefix, (client) => this.#covers(client, feed));
  }

  #onMissed(feed: ChangeFeed, wasOpen: boolean): void {
    // who tracks what it reads has kept nothing of what was read while nobody listened
    if (wasOpen) return this.#forget(feed);
    for (const client of this.#clients.values()) {
      if (client.listens && this.#covers(client, feed)) client.forgetAll();
    }
  }

  /** Anything at its partition may have changed. */
  #forget(feed: ChangeFeed): void {
    feed.keys.clear();
    for (const client of this.#clients.values()) {
      const under = client.underWay.get(feed);
      if (under !== undefined) under.isForgotten = true;
      if (client.feeds.has(feed) || this.#covers(client, feed)) client.forgetAll();
    }
  }

  #makeRoom(feed: ChangeFeed): void {
    const keysMax = this.#world.keysMax();
    if (keysMax === 0) return;
    while (this.#counts.keys >= keysMax) {
      const fullest = feed.keys.size > 0 ? feed : this.#anyWithKeys();
      const name = fullest?.keys.oldest();
      if (fullest === undefined || name === undefined) return;
      evict(fullest, name);
    }
  }

  #anyWithKeys(): ChangeFeed | undefined {
    for (const feed of this.#feeds.values()) if (feed.keys.size > 0) return feed;
    return undefined;
  }

  /** What is lost, what nobody uses, what is new in a namespace, and who waits too long. */
  #look(): void {
    this.#timer = undefined;
    const nowMs = this.#world.clock.monotonicMs();
    for (const client of this.#clients.values()) {
      client.hurry(nowMs - OWED_MS);
      for (const namespace of this.#namespaces.get(client) ?? []) this.#feedsOf(client, namespace);
    }
    const { routes } = this.#world.router;
    for (const [name, feed] of this.#feeds) {
      feed.look();
      const { namespace, partition, group } = feed.place;
      const isGone = routes.groupOf(namespace, partition) !== group;
      if (isGone) this.#forget(feed);
      else if (this.#clients.size > 0 && this.#isUsed(feed, nowMs)) continue;
      this.#closeFeed(feed);
      this.#feeds.delete(name);
    }
    if (this.#clients.size + this.#feeds.size === 0) return;
    this.#timer = this.#world.clock.setTimer(LOOK_MS, () => this.#look());
  }

  /** Clients that have gone are in its table yet: whether others are is looked at now and then. */
  #isUsed(feed: ChangeFeed, nowMs: number): boolean {
    if (nowMs - feed.usedMs < IDLE_MS) return true;
    if (feed.keys.size === 0) return false;
    for (const client of this.#clients.values()) {
      if (!client.feeds.has(feed) && !client.underWay.has(feed)) continue;
      feed.usedMs = nowMs;
      return true;
    }
    return false;
  }

  #closeFeed(feed: ChangeFeed): void {
    for (const client of this.#clients.values()) client.leave(feed);
    this.#unlisten.get(feed)?.();
    this.#unlisten.delete(feed);
    feed.close();
    feed.keys.clear();
  }
}

/** The oldest are told as if they had changed, so that there is room for others. */
function evict(feed: ChangeFeed, name: string): void {
  const change = { index: Number.MAX_SAFE_INTEGER, alone: false, all: false, keys: [] };
  feed.keys.changed(name, change, (reader, key, what) => {
    reader.client.onChanged(feed, reader, key, what);
    return false;
  });
}

function nameOf(group: GroupId, ofReplica: boolean): number {
  return group * 2 + (ofReplica ? 1 : 0);
}

/** Undefined when they name no key that matters. */
function namedBy(client: TrackedClient, items: readonly TrackedItem[]): NamedKeys | undefined {
  const named: NamedKeys = new Map();
  for (const { line, tracks = client.tracksAlone } of items) nameKeys(line, tracks, named);
  return named.size === 0 ? undefined : named;
}
