/**
 * Who has subscribed to what: clients of this node one by one, those of each peer as a count per
 * name, as the peer told. Pure: it decides who gets a message, and sends nothing.
 */
import type { NodeId } from '../../common/ids.ts';
import type { PublishKind, Subscriber, SubscriptionKind } from '../commands/pubsub/pubsub-port.ts';
import { isSubscribed, subscriptionKinds } from '../commands/pubsub/pubsub-port.ts';
import { type Glob, matchesGlob, parseGlob } from '../commands/texts/glob.ts';

/** A name that somebody has subscribed to. */
export interface Topic {
  readonly kind: SubscriptionKind;
  readonly name: Buffer;
  /** Of a pattern. */
  readonly glob: Glob | undefined;
  /** Each with the version of the registry since which it has subscribed, in that order. */
  readonly local: Map<Subscriber, number>;
  readonly peers: Map<NodeId, number>;
}

/** Beside the name: sets, maps and their entries, near enough. */
const SUBSCRIPTION_OVERHEAD_BYTES = 128;

export function subscriptionBytes(name: Buffer): number {
  return name.length + SUBSCRIPTION_OVERHEAD_BYTES;
}

export class SubscriptionRegistry {
  readonly #topics: Readonly<Record<SubscriptionKind, Map<string, Topic>>> = {
    channel: new Map(),
    pattern: new Map(),
    shard: new Map(),
  };
  readonly #byPeer = new Map<NodeId, Set<Topic>>();
  readonly #localTopics: Record<SubscriptionKind, number> = { channel: 0, pattern: 0, shard: 0 };
  readonly #onLocalChange: (topic: Topic) => void;
  #version = 0;
  #subscribers = 0;
  #subscriptions = 0;
  #bytes = 0;

  /** `onLocalChange` runs after the count of this node's own subscriptions to a name changed. */
  constructor(onLocalChange: (topic: Topic) => void = () => {}) {
    this.#onLocalChange = onLocalChange;
  }

  /** Grows with every subscription: what was published at one is for those who had subscribed by then. */
  get version(): number {
    return this.#version;
  }

  /** Clients of this node with a subscription. */
  get subscribers(): number {
    return this.#subscribers;
  }

  /** Subscriptions of this node's clients, and an estimate of their bytes. */
  get load(): { readonly subscriptions: number; readonly bytes: number } {
    return { subscriptions: this.#subscriptions, bytes: this.#bytes };
  }

  /** Names that clients of this node have subscribed to. */
  localTopics(kind: SubscriptionKind): number {
    return this.#localTopics[kind];
  }

  /** `name` is copied. Nothing happens when the client has subscribed before, or is gone. */
  subscribe(subscriber: Subscriber, kind: SubscriptionKind, name: Buffer): void {
    const key = name.toString('latin1');
    const own = subscriber.subscriptions[kind];
    if (own.has(key) || subscriber.ended) return;
    if (!isSubscribed(subscriber)) this.#subscribers++;
    const topic = this.#topics[kind].get(key) ?? this.#create(kind, key, name);
    own.set(key, topic.name);
    if (topic.local.size === 0) this.#localTopics[kind]++;
    topic.local.set(subscriber, ++this.#version);
    this.#subscriptions++;
    this.#bytes += subscriptionBytes(name);
    this.#onLocalChange(topic);
  }

  unsubscribe(subscriber: Subscriber, kind: SubscriptionKind, name: Buffer): void {
    const key = name.toString('latin1');
    const topic = this.#topics[kind].get(key);
    if (topic === undefined || !subscriber.subscriptions[kind].delete(key)) return;
    if (!isSubscribed(subscriber)) this.#subscribers--;
    topic.local.delete(subscriber);
    if (topic.local.size === 0) this.#localTopics[kind]--;
    this.#subscriptions--;
    this.#bytes -= subscriptionBytes(name);
    this.#removeIfUnused(topic);
    this.#onLocalChange(topic);
  }

  /** In steps: one for each subscription. */
  *unsubscribeAll(subscriber: Subscriber): Generator<void, void> {
    for (const kind of subscriptionKinds) {
      for (const name of subscriber.subscriptions[kind].values()) {
        yield this.unsubscribe(subscriber, kind, name);
      }
    }
  }

  /** What a peer says of its own clients; 0 takes the name away. */
  setPeerCount(node: NodeId, kind: SubscriptionKind, name: Buffer, count: number): void {
    const key = name.toString('latin1');
    let topic = this.#topics[kind].get(key);
    if (count === 0) {
      if (topic !== undefined) this.#dropPeer(topic, node);
      return;
    }
    topic ??= this.#create(kind, key, name);
    topic.peers.set(node, count);
    const told = this.#byPeer.get(node);
    if (told) told.add(topic);
    else this.#byPeer.set(node, new Set([topic]));
  }

  /** In steps: one for each name. */
  *forgetPeer(node: NodeId): Generator<void, void> {
    for (const topic of this.#byPeer.get(node) ?? []) yield this.#dropPeer(topic, node);
  }

  /** Everybody who gets a message of this channel: its own topic first, then matching patterns. */
  audience(kind: PublishKind, channel: Buffer): Topic[] {
    const found: Topic[] = [];
    const own = this.#topics[kind].get(channel.toString('latin1'));
    if (own) found.push(own);
    if (kind === 'channel') {
      for (const topic of this.#topics.pattern.values()) {
        if (matchesGlob(topic.glob!, channel)) found.push(topic);
      }
    }
    return found;
  }

  topics(kind: SubscriptionKind): Iterable<Topic> {
    return this.#topics[kind].values();
  }

  topicCount(kind: SubscriptionKind): number {
    return this.#topics[kind].size;
  }

  topic(kind: SubscriptionKind, name: Buffer): Topic | undefined {
    return this.#topics[kind].get(name.toString('latin1'));
  }

  #create(kind: SubscriptionKind, key: string, given: Buffer): Topic {
    const name = Buffer.from(given);
    const glob = kind === 'pattern' ? parseGlob(name) : undefined;
    const topic: Topic = { kind, name, glob, local: new Map(), peers: new Map() };
    this.#topics[kind].set(key, topic);
    return topic;
  }

  #dropPeer(topic: Topic, node: NodeId): void {
    topic.peers.delete(node);
    const told = this.#byPeer.get(node);
    told?.delete(topic);
    if (told?.size === 0) this.#byPeer.delete(node);
    this.#removeIfUnused(topic);
  }

  #removeIfUnused({ kind, name, local, peers }: Topic): void {
    if (local.size === 0 && peers.size === 0) this.#topics[kind].delete(name.toString('latin1'));
  }
}

/** Subscriptions of the whole cluster. */
export function clusterCount({ local, peers }: Topic): number {
  let sum = local.size;
  for (const count of peers.values()) sum += count;
  return sum;
}
