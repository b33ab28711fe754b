/**
 * Tells each peer how many subscriptions this node's clients have, name by name: everything when
 * the link to it opens, afterwards what changed. Changes of a name that were not sent yet become
 * one, so what waits for a slow peer is bounded by the number of names. Peers answer what they have
 * seen, so that SUBSCRIBE can be confirmed when every publisher of the cluster knows of it.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { type SubscriptionKind, subscriptionKinds } from '../commands/pubsub/pubsub-port.ts';
import { encodePeerBody, type NameCount } from './peer-codec.ts';

export interface AnnouncerWorld {
  readonly clock: Clock;
  /** False when the peer is away or its queue is full. */
  post(to: NodeId, body: Buffer): boolean;
  localCount(kind: SubscriptionKind, name: Buffer): number;
  /** Every name that clients of this node have subscribed to. */
  localNames(): Iterable<Name>;
}

interface Feed {
  /** The peer forgets what it knows at the next frame. */
  anew: boolean;
  /** Names that were there when it began anew; undefined: all of them are among the unsent, or told. */
  walk: Iterator<Name> | undefined;
  /** Names whose count it has not been told. */
  unsent: Set<string>;
  /** Versions below belong to an earlier link; this one comes with frames that others follow. */
  readonly base: number;
  seen: number;
  /** When it was sent something last, or answered. */
  stirredMs: number;
  /** It let somebody wait in vain; nobody waits for it until it answers. */
  late: boolean;
}

interface Name {
  readonly kind: SubscriptionKind;
  readonly name: Buffer;
}

interface Waiter {
  readonly version: number;
  readonly resolve: () => void;
}

/** What did not fit is tried again after this long. */
const RETRY_MS = 10;
/** Names in one frame: a step of the peer's, and of this node's, which looks at the clock behind each. */
const FRAME_NAMES = 512;
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
    // what it is told in the end has a version of its own
    this.#version++;
    const stirredMs = this.#world.clock.monotonicMs();
    const fresh = { unsent: new Set<string>(), base, seen: 0, stirredMs, late: false };
    const feed: Feed = { anew: true, walk: undefined, ...fresh };
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
    if (version > feed.base) feed.seen = Math.max(feed.seen, version);
    feed.late = false;
    feed.stirredMs = this.#world.clock.monotonicMs();
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
    this.#feeds.clear();
    this.#settle();
  }

  #beginAnew(feed: Feed): void {
    feed.anew = true;
    feed.unsent = new Set();
    feed.walk = this.#world.localNames()[Symbol.iterator]();
  }

  #askFlush(): void {
    if (this.#flushAsked) return;
    this.#flushAsked = true;
    this.#world.clock.endOfTurn(() => this.#flush());
  }

  /** A share of this turn for all peers, one frame each by turns. */
  #flush(): void {
    this.#flushAsked = false;
    const { clock } = this.#world;
    const sinceMs = clock.monotonicMs();
    let open = [...this.#feeds];
    let isFull = false;
    do {
      open = open.filter(([to, feed]) => {
        const told = this.#tell(to, feed);
        if (told === 'full') isFull = true;
        return told === 'more';
      });
    } while (open.length > 0 && clock.monotonicMs() - sinceMs < limits.turnMs);
    if (open.length > 0) this.#askFlush();
    if (isFull) this.#retryLater();
  }

  #retryLater(): void {
    this.#retry ??= this.#world.clock.setTimer(RETRY_MS, () => {
      this.#retry = undefined;
      this.#flush();
    });
  }

  /** One frame; whether more is to be told, or the peer takes none. */
  #tell(to: NodeId, feed: Feed): 'all' | 'more' | 'full' {
    const { keys, counts } = this.#take(feed);
    if (keys.length === 0 && !feed.anew) return 'all';
    const isLast = feed.walk === undefined && keys.length === feed.unsent.size;
    // an answer to those before says that it is at it, and satisfies nobody
    const version = isLast ? this.#version : feed.base;
    const body = encodePeerBody({ type: 'counts', anew: feed.anew, version, counts });
    if (!this.#world.post(to, body)) return 'full';
    feed.anew = false;
    feed.stirredMs = this.#world.clock.monotonicMs();
    for (const key of keys) feed.unsent.delete(key);
    return isLast ? 'all' : 'more';
  }

  /** As many names as fit a frame; they stay unsent until the frame is taken. */
  #take(feed: Feed): { keys: string[]; counts: NameCount[] } {
    this.#walkOn(feed);
    const keys: string[] = [];
    const counts: NameCount[] = [];
    let bytes = 0;
    for (const key of feed.unsent) {
      if (keys.length === FRAME_NAMES || bytes >= limits.subscriptionFrameBytes) break;
      const { kind, name } = nameOf(key);
      keys.push(key);
      counts.push({ kind, name, count: this.#world.localCount(kind, name) });
      bytes += name.length + 8;
    }
    return { keys, counts };
  }

  /** Takes names from the walk, as far as a frame may have room for them. */
  #walkOn(feed: Feed): void {
    while (feed.walk !== undefined && feed.unsent.size < FRAME_NAMES) {
      const { value, done } = feed.walk.next();
      if (done) feed.walk = undefined;
      else feed.unsent.add(keyOf(value.kind, value.name));
    }
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
  #armPatience(delayMs: number = limits.subscribeTellMs): void {
    const first = this.#waiters[0];
    if (first === undefined || this.#patience !== undefined) return;
    this.#patience = this.#world.clock.setTimer(delayMs, () => {
      this.#patience = undefined;
      this.#onPatienceOver(first.version);
    });
  }

  /** A peer that is being told, or answers, is late for nobody. */
  #onPatienceOver(version: number): void {
    const { subscribeTellMs } = limits;
    const now = this.#world.clock.monotonicMs();
    let longestMs = Number.NEGATIVE_INFINITY;
    for (const feed of this.#feeds.values()) {
      if (feed.seen >= version || feed.late) continue;
      if (now - feed.stirredMs >= subscribeTellMs) feed.late = true;
      else longestMs = Math.max(longestMs, feed.stirredMs);
    }
    this.#settle();
    if (longestMs > Number.NEGATIVE_INFINITY) this.#armPatience(longestMs + subscribeTellMs - now);
  }
}

function keyOf(kind: SubscriptionKind, name: Buffer): string {
  return `${subscriptionKinds.indexOf(kind)}${name.toString('latin1')}`;
}

function nameOf(key: string): { kind: SubscriptionKind; name: Buffer } {
  return { kind: subscriptionKinds[Number(key[0])]!, name: Buffer.from(key.slice(1), 'latin1') };
}
