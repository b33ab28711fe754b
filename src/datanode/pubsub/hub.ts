/**
 * Pub/sub of one node: its clients' subscriptions, what peers tell of theirs, and messages both
 * ways. Nothing is stored and nothing waits for an answer: a message reaches who is there now. One
 * publisher's messages go to each peer over one link in order, and a peer gets only what its
 * clients have subscribed to.
 */
import type { Clock } from '../../common/clock.ts';
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Logger } from '../../common/log.ts';
import { ownList } from '../../common/own-bytes.ts';
import {
  channelTooLong,
  isSubscribed,
  type PublishKind,
  type PubSub,
  type PubSubInfo,
  type PubSubScope,
  type Subscriber,
  type SubscriptionKind,
} from '../commands/pubsub/pubsub-port.ts';
import type { PostLink, PubSubHandlers, Transport } from '../transport/transport.ts';
import { Announcer } from './announcer.ts';
import { channelDelivery, patternDelivery } from './delivery.ts';
import { PacedDelivery } from './paced-delivery.ts';
import { decodePeerBody, encodePeerBody, isMessage, type PeerBody } from './peer-codec.ts';
import { PostsWaiting } from './posts-waiting.ts';
import { clusterCount, SubscriptionRegistry, subscriptionBytes, type Topic } from './registry.ts';
import { SharedTurns, type Steps } from './shared-turns.ts';

export interface PubSubWorld {
  readonly clock: Clock;
  readonly logger: Logger;
}

type PeerMessage = Extract<PeerBody, { type: 'message' }>;
type PeerCounts = Extract<PeerBody, { type: 'counts' }>;

/** Losses are logged this often at most. */
const LOG_PAUSE_MS = 10_000;

export class PubSubHub implements PubSub, PubSubHandlers {
  readonly #world: PubSubWorld;
  readonly #transport: () => Pick<Transport, 'post'> | undefined;
  readonly #registry: SubscriptionRegistry;
  readonly #announcer: Announcer;
  readonly #local: PacedDelivery;
  readonly #changes: SharedTurns;
  readonly #postsWaiting = new PostsWaiting();
  #lostMessages = 0;
  #slowSubscribers = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;

  /** Without a transport there are no peers. */
  constructor(world: PubSubWorld, transport: () => Pick<Transport, 'post'> | undefined) {
    this.#world = world;
    this.#transport = transport;
    this.#local = new PacedDelivery(world.clock);
    this.#changes = new SharedTurns(world.clock);
    this.#registry = new SubscriptionRegistry(({ kind, name }) =>
      this.#announcer.changed(kind, name),
    );
    this.#announcer = new Announcer({
      clock: world.clock,
      post: (to, body) => this.#post(to, body),
      localCount: (kind, name) => this.#registry.topic(kind, name)?.local.size ?? 0,
      localNames: () => this.#localNames(),
    });
  }

  refusal(names: readonly Buffer[]): string | undefined {
    const long = names.find((name) => name.length > limits.channelBytesMax);
    if (long !== undefined) return channelTooLong(long);
    const { subscriptions, bytes } = this.#registry.load;
    const more = names.reduce((sum, name) => sum + subscriptionBytes(name), 0);
    if (
      subscriptions + names.length <= limits.subscriptionsMax &&
      bytes + more <= limits.subscriptionBytesMax
    ) {
      return undefined;
    }
    return (
      `ERR the clients of this node have ${subscriptions} subscriptions; it takes at most ` +
      `${limits.subscriptionsMax}, of ${limits.subscriptionBytesMax} bytes together`
    );
  }

  subscribe(subscriber: Subscriber, kind: SubscriptionKind, name: Buffer): void {
    this.#registry.subscribe(subscriber, kind, name);
  }

  unsubscribe(subscriber: Subscriber, kind: SubscriptionKind, name: Buffer): void {
    this.#registry.unsubscribe(subscriber, kind, name);
  }

  inTurns(steps: Steps): Promise<void> | undefined {
    return this.#changes.run(steps);
  }

  unsubscribeAll(subscriber: Subscriber): Promise<void> | undefined {
    return this.#changes.run(this.#registry.unsubscribeAll(subscriber));
  }

  end(subscriber: Subscriber): void {
    subscriber.ended = true;
    if (isSubscribed(subscriber)) void this.unsubscribeAll(subscriber);
  }

  told(): Promise<void> | undefined {
    return this.#announcer.told();
  }

  publish(kind: PublishKind, channel: Buffer, payload: Buffer): number {
    const audience = this.#registry.audience(kind, channel);
    let reached = this.#deliver(audience, this.#registry.version, channel, payload);
    const peers = peersOf(audience);
    if (peers.size === 0) return reached;
    const body = encodePeerBody({ type: 'message', kind, channel, payload });
    for (const [node, count] of peers) {
      if (this.#post(node, body)) reached += count;
      else this.#lost(node);
    }
    return reached;
  }

  publishWhenRoom(kind: PublishKind, channel: Buffer, payload: Buffer): number | Promise<number> {
    return this.#local.whenRoom(() => this.publish(kind, channel, payload));
  }

  *names(kind: SubscriptionKind, scope: PubSubScope = 'cluster'): Iterable<Buffer> {
    for (const { name, local } of this.#registry.topics(kind)) {
      if (scope === 'cluster' || local.size > 0) yield name;
    }
  }

  nameCount(kind: SubscriptionKind, scope: PubSubScope = 'cluster'): number {
    const registry = this.#registry;
    return scope === 'cluster' ? registry.topicCount(kind) : registry.localTopics(kind);
  }

  count(kind: SubscriptionKind, name: Buffer, scope: PubSubScope = 'cluster'): number {
    const topic = this.#registry.topic(kind, name);
    if (topic === undefined) return 0;
    return scope === 'cluster' ? clusterCount(topic) : topic.local.size;
  }

  info(): PubSubInfo {
    const registry = this.#registry;
    return {
      channels: registry.localTopics('channel'),
      patterns: registry.localTopics('pattern'),
      shardChannels: registry.localTopics('shard'),
      clients: registry.subscribers,
      lostMessages: this.#lostMessages,
      slowSubscribers: this.#slowSubscribers,
    };
  }

  /** A subscriber was disconnected because it does not read. */
  countSlowSubscriber(): void {
    this.#slowSubscribers++;
  }

  /** Messages that were dropped before they came here. */
  countLost(messages: number): void {
    this.#lostMessages += messages;
  }

  resetStatistics(): void {
    this.#lostMessages = 0;
    this.#slowSubscribers = 0;
  }

  onOpen(to: NodeId): void {
    this.#announcer.onOpen(to);
  }

  onClosed(to: NodeId, unsent: readonly Buffer[]): void {
    this.#announcer.onClosed(to);
    const messages = unsent.filter(isMessage).length;
    if (messages > 0) this.#lost(to, messages);
  }

  onLost(from: NodeId): void {
    void this.#changes.run(this.#registry.forgetPeer(from));
  }

  /** Messages wait for their turn in order, and so does what a peer tells of its clients. */
  onPost(from: NodeId, bytes: Buffer, link: PostLink): void {
    const body = decodePeerBody(bytes);
    if (body.type === 'message') {
      this.#onMessage(body, bytes.length, link);
    } else if (body.type === 'seen') {
      this.#announcer.onSeen(from, body.version);
    } else {
      this.#onCounts(from, body, bytes.length, link);
    }
  }

  close(): void {
    this.#announcer.close();
    this.#local.close();
    this.#changes.close();
  }

  #onCounts(from: NodeId, body: PeerCounts, bytes: number, link: PostLink): void {
    const waits = this.#changes.run(this.#noted(from, body));
    if (waits === undefined) return;
    this.#postsWaiting.add(link, bytes);
    void waits.then(() => this.#postsWaiting.remove(link, bytes));
  }

  *#noted(from: NodeId, { anew, counts, version }: PeerCounts): Generator<void, void> {
    if (anew) yield* this.#registry.forgetPeer(from);
    for (const { kind, name, count } of counts) {
      yield this.#registry.setPeerCount(from, kind, name, count);
    }
    if (version !== 0) this.#post(from, encodePeerBody({ type: 'seen', version }));
  }

  /** It is for those who had subscribed when it came, whenever there is time for it. */
  #onMessage(message: PeerMessage, bytes: number, link: PostLink): void {
    const { version } = this.#registry;
    if (this.#local.mayTakePost()) return this.#take(message, version);
    this.#postsWaiting.add(link, bytes);
    this.#local.postLater(() => {
      this.#take(message, version);
      this.#postsWaiting.remove(link, bytes);
    });
  }

  #take({ kind, channel, payload }: PeerMessage, version: number): void {
    this.#deliver(this.#registry.audience(kind, channel), version, channel, payload);
  }

  #post(to: NodeId, body: Buffer): boolean {
    return this.#transport()?.post(to, body) ?? false;
  }

  *#localNames(): Iterable<Topic> {
    for (const kind of ['channel', 'pattern', 'shard'] as const) {
      for (const topic of this.#registry.topics(kind)) if (topic.local.size > 0) yield topic;
    }
  }

  /** To this node's clients; how many subscriptions that are. */
  #deliver(found: readonly Topic[], version: number, channel: Buffer, payload: Buffer): number {
    const audience = found.filter(({ local }) => local.size > 0);
    if (audience.length === 0) return 0;
    // what waits is not to keep all that came with it
    const [name, body] = this.#local.isBusy ? ownList([channel, payload]) : [channel, payload];
    const deliveries = audience.map((topic) =>
      topic.kind === 'pattern'
        ? patternDelivery(topic.name, name!, body!)
        : channelDelivery(topic.kind, name!, body!),
    );
    const bytes = name!.length + body!.length;
    const reached = audience.reduce((sum, { local }) => sum + local.size, 0);
    this.#local.deliver(audience, { version, deliveries, bytes });
    return reached;
  }

  #lost(node: NodeId, messages = 1): void {
    this.#lostMessages += messages;
    const now = this.#world.clock.monotonicMs();
    if (now - this.#loggedMs < LOG_PAUSE_MS) return;
    this.#loggedMs = now;
    this.#world.logger.warn('published messages are lost: a peer is away or does not keep up', {
      peer: node,
      lostSinceStart: this.#lostMessages,
    });
  }
}

/** Each peer once, with all its subscriptions that the message is for. */
function peersOf(audience: readonly Topic[]): ReadonlyMap<NodeId, number> {
  const found = new Map<NodeId, number>();
  for (const { peers } of audience) {
    for (const [node, count] of peers) found.set(node, (found.get(node) ?? 0) + count);
  }
  return found;
}
