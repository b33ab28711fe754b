/** What commands and connections know of pub/sub; the room behind it is `datanode/pubsub`. */
import { limits } from '../../../common/limits.ts';
import type { Protocol } from '../../resp/reply.ts';

/** Frozen: peers tell each other the place of a kind in this list. */
export const subscriptionKinds = ['channel', 'pattern', 'shard'] as const;

export type SubscriptionKind = (typeof subscriptionKinds)[number];
export type PublishKind = 'channel' | 'shard';

/** Whose subscriptions are told of: all (when nothing is said), or those of this node's clients. */
export type PubSubScope = 'cluster' | 'node';

/** What a client is told of a name beyond `limits.channelBytesMax`. */
export function channelTooLong({ length }: Buffer): string {
  return `ERR a channel name of ${length} bytes is longer than ${limits.channelBytesMax}`;
}

/** One message as one kind of subscription gets it; encoded once for all who do. */
export interface Delivery {
  encoded(protocol: Protocol): Buffer;
}

/** A client that may subscribe. */
export interface Subscriber {
  /** Names by their bytes as latin1, in the order they came; only the registry changes them. */
  readonly subscriptions: Readonly<Record<SubscriptionKind, Map<string, Buffer>>>;
  /** Its connection is over: it is given nothing more, and subscribes to nothing. */
  ended: boolean;
  deliver(delivery: Delivery): void;
}

export interface PubSub {
  /**
   * Makes many changes, some in each turn, behind those that were asked for before; undefined when they
   * are made already, else it resolves once they are.
   */
  inTurns(steps: Iterator<unknown, void>): Promise<void> | undefined;
  /** The text of an error when the node takes no such subscriptions any more. */
  refusal(names: readonly Buffer[]): string | undefined;
  subscribe(subscriber: Subscriber, kind: SubscriptionKind, name: Buffer): void;
  unsubscribe(subscriber: Subscriber, kind: SubscriptionKind, name: Buffer): void;
  /** RESET; as `inTurns`. */
  unsubscribeAll(subscriber: Subscriber): Promise<void> | undefined;
  /** The connection is over: its subscriptions go, some in each turn. */
  end(subscriber: Subscriber): void;
  /** Resolves once the reachable peers know of every subscription so far; undefined: they do. */
  told(): Promise<void> | undefined;
  /** How many subscriptions of the cluster the message was handed to. */
  publish(kind: PublishKind, channel: Buffer, payload: Buffer): number;
  /** The same for who can wait: while too much is on its way to this node's clients, it is held back. */
  publishWhenRoom(kind: PublishKind, channel: Buffer, payload: Buffer): number | Promise<number>;
  /** Names that somebody has subscribed to. */
  names(kind: SubscriptionKind, scope?: PubSubScope): Iterable<Buffer>;
  /** How many these are. */
  nameCount(kind: SubscriptionKind, scope?: PubSubScope): number;
  /** Subscriptions to one name. */
  count(kind: SubscriptionKind, name: Buffer, scope?: PubSubScope): number;
}

/** What INFO and /metrics tell; channels, patterns and clients are this node's own. */
export interface PubSubInfo {
  readonly channels: number;
  readonly patterns: number;
  readonly shardChannels: number;
  readonly clients: number;
  /** Messages for subscribers of peers that were away or did not keep up. */
  readonly lostMessages: number;
  /** Subscribers disconnected because they did not read. */
  readonly slowSubscribers: number;
}

/** A client without subscriptions. */
export function createSubscriber(deliver: (delivery: Delivery) => void): Subscriber {
  const subscriber: Subscriber = {
    subscriptions: { channel: new Map(), pattern: new Map(), shard: new Map() },
    ended: false,
    deliver: (delivery) => {
      if (!subscriber.ended) deliver(delivery);
    },
  };
  return subscriber;
}

/** Redis counts channels and patterns together, shard channels apart. */
export function subscriptionCount({ subscriptions }: Subscriber, kind: SubscriptionKind): number {
  return kind === 'shard'
    ? subscriptions.shard.size
    : subscriptions.channel.size + subscriptions.pattern.size;
}

export function isSubscribed({ subscriptions }: Subscriber): boolean {
  const { channel, pattern, shard } = subscriptions;
  return channel.size > 0 || pattern.size > 0 || shard.size > 0;
}
