/** A client that tracks: what it may have cached, what it asked for, and how it is told. */
import type { ClientTracking, TrackingOptions } from '../commands/connection/tracking-port.ts';
import { type Delivery, isSubscribed } from '../commands/pubsub/pubsub-port.ts';
import type { Session } from '../commands/rows/node-context.ts';
import type { ChangedKeys } from '../partition/entries/changes.ts';
import type { ChangeFeed } from './change-feed.ts';
import { brokenRedirect, invalidation, invalidationOfAll } from './invalidation.ts';
import type { Reader } from './key-table.ts';
import type { NamedKeys } from './line-keys.ts';
import { hasSeen, type KeyUnderWay, UnderWay } from './under-way.ts';

/** Entries of its own that a client is known to have written, at one partition. */
const OWN_MAX = 1_024;

export class TrackedClient implements ClientTracking {
  #session: Session | undefined;
  #options: TrackingOptions;
  #prefixes = new Map<string, Buffer>();
  isBroken = false;
  caching = false;
  /** Of the command that runs alone: what it reads is tracked. */
  tracksAlone = false;
  isOn = true;
  /** It has been told that it hears of all that has its prefixes: of what it does not, it is told. */
  listens = false;
  /** What it read before it was told to forget all has another. */
  epoch = 0;
  /** Where it may have something cached since then. */
  readonly feeds = new Set<ChangeFeed>();
  readonly underWay = new Map<ChangeFeed, UnderWay>();
  readonly #own = new Map<ChangeFeed, number[]>();

  constructor(session: Session, options: TrackingOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Undefined once it has gone: what tables keep of it, until its keys change, is to keep no connection. */
  get session(): Session | undefined {
    return this.#session;
  }

  get broadcast(): boolean {
    return this.#options.broadcast;
  }

  get optIn(): boolean {
    return this.#options.optIn;
  }

  get optOut(): boolean {
    return this.#options.optOut;
  }

  get noLoop(): boolean {
    return this.#options.noLoop;
  }

  get redirect(): number {
    return this.#options.redirect?.id ?? 0;
  }

  get prefixes(): readonly Buffer[] {
    return [...this.#prefixes.values()];
  }

  change(options: TrackingOptions): void {
    this.#options = options;
    this.isBroken = false;
    if (!options.broadcast) return;
    const { prefixes } = options;
    for (const prefix of prefixes.length === 0 ? [Buffer.alloc(0)] : prefixes) {
      this.#prefixes.set(prefix.toString('latin1'), prefix);
    }
  }

  get prefixNames(): Iterable<string> {
    return this.#prefixes.keys();
  }

  /** Whether what is asked for now is tracked. */
  get tracksNow(): boolean {
    if (this.optIn) return this.caching;
    return !(this.optOut && this.caching);
  }

  begin(feed: ChangeFeed, named: NamedKeys, kind: 'read' | 'write', nowMs: number): UnderWay {
    let under = this.underWay.get(feed);
    if (under === undefined) {
      under = new UnderWay(feed, kind, nowMs);
      this.underWay.set(feed, under);
    }
    under.add(named, kind);
    if (!this.broadcast) this.#expect(under);
    return under;
  }

  /** Its keys are in the table before they are read. */
  #expect({ feed, keys }: UnderWay): void {
    for (const [name, key] of keys) {
      if (!key.isRead) continue;
      const known = feed.keys.find(name, this);
      if (known === undefined) feed.keys.add(name, this, 0);
      else key.isCached = this.#has(known);
    }
  }

  #has({ epoch, seen }: Reader): boolean {
    return epoch === this.epoch && seen > 0;
  }

  /** False: it is told, or will be behind its reply, and has nothing more to be told of. */
  onChanged(feed: ChangeFeed, reader: Reader, name: string, change: ChangedKeys): boolean {
    const under = this.underWay.get(feed);
    const key = under?.keys.get(name);
    if (under === undefined || key === undefined) {
      if (!this.#has(reader)) return false;
      if (hasSeen(reader.seen, change)) return true;
      if (!this.isOwn(feed, change)) this.tell([Buffer.from(name, 'latin1')]);
      return false;
    }
    const note = under.note(key, change);
    const isCached = key.isRead ? key.isCached : this.#has(reader);
    if (!isCached) return key.isRead;
    if (hasSeen(reader.seen, change)) return true;
    key.isCached = false;
    reader.seen = 0;
    if (key.isWritten) key.owed = note;
    else this.tell([Buffer.from(name, 'latin1')]);
    return key.isRead;
  }

  /** Of a key with one of its prefixes: false, it is told behind its reply, or has done it itself. */
  isToldNow(feed: ChangeFeed, name: string, change: ChangedKeys): boolean {
    const under = this.underWay.get(feed);
    const key = under?.keys.get(name);
    if (under === undefined || key === undefined) return !this.isOwn(feed, change);
    const note = under.note(key, change);
    if (!key.isWritten) return true;
    key.owed = note;
    return false;
  }

  /** It wrote that itself, and does not want to hear of it. */
  isOwn(feed: ChangeFeed, { index, alone }: Pick<ChangedKeys, 'index' | 'alone'>): boolean {
    return this.noLoop && alone && this.#own.get(feed)?.includes(index) === true;
  }

  /** The replies have been handed over. */
  finish(under: UnderWay): void {
    this.underWay.delete(under.feed);
    if (!this.isOn) return;
    this.#noteOwn(under);
    const told: Buffer[] = [];
    for (const [name, key] of under.keys) {
      if (this.#ends(under, name, key)) told.push(Buffer.from(name, 'latin1'));
    }
    if (this.broadcast) this.#tellByPrefix(told);
    else for (const key of told) this.tell([key]);
  }

  /** Whether it is to be told now. */
  #ends(under: UnderWay, name: string, key: KeyUnderWay): boolean {
    const { feed } = under;
    const isOwed = key.owed !== undefined && !this.isOwn(feed, key.owed);
    if (!key.isRead) return isOwed;
    const isStale = under.isStale(key, (note) => this.isOwn(feed, note));
    if (this.broadcast) return isOwed || isStale;
    const reader = feed.keys.find(name, this);
    if (isStale || reader === undefined) {
      feed.keys.remove(name, this);
      return true;
    }
    // what an earlier command answered may be kept beside this, by its own name: that is older
    if (!this.#has(reader)) {
      reader.epoch = this.epoch;
      // of what nothing is known, everything that comes is news
      reader.seen = Math.max(1, under.seenOf(key));
    }
    this.feeds.add(feed);
    return isOwed;
  }

  /** What is owed is not to wait longer for a reply that does not come. */
  hurry(beforeMs: number): void {
    for (const under of this.underWay.values()) {
      if (under.sinceMs > beforeMs) continue;
      for (const [name, key] of under.keys) {
        if (key.owed === undefined) continue;
        key.owed = undefined;
        this.tell([Buffer.from(name, 'latin1')]);
      }
    }
  }

  #noteOwn({ feed, own }: UnderWay): void {
    if (!this.noLoop || own.length === 0) return;
    const known = this.#own.get(feed) ?? [];
    this.#own.set(feed, [...known, ...own].slice(-OWN_MAX));
  }

  #tellByPrefix(keys: readonly Buffer[]): void {
    for (const prefix of this.#prefixes.values()) {
      const its = keys.filter((key) => key.subarray(0, prefix.length).equals(prefix));
      if (its.length > 0) this.tell(its);
    }
  }

  tell(keys: readonly Buffer[]): void {
    this.deliver(invalidation(keys));
  }

  /** Whatever it has is none any more, but for what it is answered from now on. */
  forgetAll(): void {
    this.epoch++;
    this.feeds.clear();
    for (const { keys } of this.underWay.values()) {
      for (const key of keys.values()) {
        key.isCached = false;
        key.owed = undefined;
      }
    }
    this.deliver(invalidationOfAll());
  }

  deliver(delivery: Delivery): void {
    const session = this.#session;
    if (session === undefined) return;
    const { redirect } = this.#options;
    if (redirect?.subscriber.ended === true) {
      this.isBroken = true;
      if (session.protocol === 3) session.invalidate(brokenRedirect(redirect.id));
      return;
    }
    const to = redirect ?? session;
    const hears = to.protocol === 3 || (redirect !== undefined && isSubscribed(to.subscriber));
    if (hears) to.invalidate(delivery);
  }

  /** It tells nothing any more. */
  leave(feed: ChangeFeed): void {
    this.feeds.delete(feed);
    this.#own.delete(feed);
  }

  end(): void {
    this.isOn = false;
    this.#session = undefined;
    this.#options = { ...this.#options, redirect: undefined };
    this.feeds.clear();
    this.underWay.clear();
    this.#own.clear();
  }
}
