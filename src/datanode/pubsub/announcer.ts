/**
 * Tells each peer how many subscriptions this node's clients have, name by name: everything when
 * the link to it opens, afterwards what changed. Changes of a name that were not sent yet become
 * one, so what waits for a slow peer is bounded by the number of names. Peers answer what they have
 * seen, so that SUBSCRIBE can be confirmed when every publisher of the cluster knows of it.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { type SubscriptionKind, subscriptionKinds } from '../commands/pubsub-port.ts';
import { encodePeerBody, type NameCount } from './peer-codec.ts';

export interface AnnouncerWorld {
  readonly clock: Clock;
  /** False when the peer is away or its queue is full. */
  post(to: NodeId, body: Buffer): boolean;
  localCount(kind: SubscriptionKind, name: Buffer): number;
  /** Every name that clients of this node have subscribed to. */
  localNames(): Iterable<{ readonly kind: SubscriptionKind; readonly name: Buffer }>;
}

interface Feed {
  /** The peer forgets what it knows at the next frame. */
  anew: boolean;
  /** Names whose count it has not been told. */
  unsent: Set<string>;
  /** Versions below belong to an earlier link. */
  readonly base: number;
  seen: number;
  /** It let somebody wait in vain; nobody waits for it until it answers. */
  late: boolean;
}

interface Waiter {
  readonly version: number;
  readonly resolve: () => void;
}

/** What did not fit is tried again after this long. */
const RETRY_MS = 10;
/** Frames for one peer in one turn. */
const FRAMES_PER_TURN = 4;
/** Names waiting for one peer beyond which it is told everything anew. */
const UNSENT_MAX = 2 * limits.subscriptionsMax;

export class Announcer {
  readonly #world: AnnouncerWorld;
  readonly #feeds = new Map<NodeId, Feed>();
  readonly #waiters: Waiter[] = [];
  #version = 1;
  #flushAsked = false;
  #retry: Timer | undefined;
  #patience: Timer | undefined;

  constructor(world: AnnouncerWorld) {
    this.#world = world;
  }

  /** The number of subscriptions to a name changed here. */
  changed(kind: SubscriptionKind, name: Buffer): void {
    this.#version++;
    if (this.#feeds.size === 0) return;
    const key = keyOf(kind, name);
    for (const feed of this.#feeds.values()) {
      feed.unsent.add(key);
      if (feed.unsent.size > UNSENT_MAX) this.#beginAnew(feed);
    }
    this.#askFlush();
  }

  onOpen(to: NodeId): void {
    const base = ++this.#version;
    const feed: Feed = { anew: true, unsent: new Set(), base, seen: 0, late: false };
    this.#beginAnew(feed);
    this.#feeds.set(to, feed);
    this.#askFlush();
  }

  onClosed(to: NodeId): void {
    this.#feeds.delete(to);
    this.#settle();
  }

  onSeen(from: NodeId, version: number): void {
    const feed = this.#feeds.get(from);
    if (feed === undefined || version < feed.base) return;
    feed.seen = Math.max(feed.seen, version);
    feed.late = false;
    this.#settle();
  }

  /** Resolves once all open peers have seen the counts of now, or have been late for it. */
  told(): Promise<void> | undefined {
    const version = this.#version;
    if (this.#seenByAll() >= version) return undefined;
    return new Promise((resolve) => {
      this.#waiters.push({ version, resolve });
      this.#armPatience();
    });
  }

  close(): void {
    this.#retry?.cancel();
    this.#patience?.cancel();
    this.#feeds.clear();
    this.#settle();
  }

  #beginAnew(feed: Feed): void {
    feed.anew = true;
    feed.unsent = new Set();
    for (const { kind, name } of this.#world.localNames()) feed.unsent.add(keyOf(kind, name));
  }

  #askFlush(): void {
    if (this.#flushAsked) return;
    this.#flushAsked = true;
    this.#world.clock.endOfTurn(() => this.#flush());
  }

  #flush(): void {
    this.#flushAsked = false;
    let waits = false;
    for (const [to, feed] of this.#feeds) waits = this.#tell(to, feed) || waits;
    if (!waits || this.#retry !== undefined) return;
    this.#retry = this.#world.clock.setTimer(RETRY_MS, () => {
      this.#retry = undefined;
      this.#flush();
    });
  }

  /** True when something is left to tell. */
  #tell(to: NodeId, feed: Feed): boolean {
    for (let frames = 0; feed.anew || feed.unsent.size > 0; frames++) {
      if (frames === FRAMES_PER_TURN) return true;
      const { keys, counts } = this.#take(feed);
      const version = keys.length === feed.unsent.size ? this.#version : 0;
      const body = encodePeerBody({ type: 'counts', anew: feed.anew, version, counts });
      if (!this.#world.post(to, body)) return true;
      feed.anew = false;
      for (const key of keys) feed.unsent.delete(key);
    }
    return false;
  }

  /** As many names as fit a frame; they stay unsent until the frame is taken. */
  #take(feed: Feed): { keys: string[]; counts: NameCount[] } {
    const keys: string[] = [];
    const counts: NameCount[] = [];
    let bytes = 0;
    for (const key of feed.unsent) {
      if (bytes >= limits.subscriptionFrameBytes) break;
      const { kind, name } = nameOf(key);
      keys.push(key);
      counts.push({ kind, name, count: this.#world.localCount(kind, name) });
      bytes += name.length + 8;
    }
    return { keys, counts };
  }

  #seenByAll(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { seen, late } of this.#feeds.values()) if (!late) least = Math.min(least, seen);
    return least;
  }

  #settle(): void {
    const reached = this.#seenByAll();
    let done = 0;
    while (done < this.#waiters.length && this.#waiters[done]!.version <= reached) done++;
    if (done === 0) return;
    for (const { resolve } of this.#waiters.splice(0, done)) resolve();
    this.#patience?.cancel();
    this.#patience = undefined;
    this.#armPatience();
  }

  /** The first waiter's; those behind it get theirs when it is their turn. */
  #armPatience(): void {
    const first = this.#waiters[0];
    if (first === undefined || this.#patience !== undefined) return;
    this.#patience = this.#world.clock.setTimer(limits.subscribeTellMs, () => {
      this.#patience = undefined;
      for (const feed of this.#feeds.values()) if (feed.seen < first.version) feed.late = true;
      this.#settle();
    });
  }
}

function keyOf(kind: SubscriptionKind, name: Buffer): string {
  return `${subscriptionKinds.indexOf(kind)}${name.toString('latin1')}`;
}

function nameOf(key: string): { kind: SubscriptionKind; name: Buffer } {
  return { kind: subscriptionKinds[Number(key[0])]!, name: Buffer.from(key.slice(1), 'latin1') };
}
