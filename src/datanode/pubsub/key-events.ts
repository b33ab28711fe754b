/**
 * Keyspace notifications: events of keys as messages, published where the partition is led, once
 * the command is in the engine; and so is what scripts publish. Channels are Redis's; where it has the number of a database, a
 * namespace that is none of `default` and `db<n>` has its name.
 */
import type { Namespace } from '../../common/ids.ts';
import { NO_EVENTS, type NotifyFlags, parseNotifyFlags } from '../commands/pubsub/notify-flags.ts';
import type { PubSub } from '../commands/pubsub/pubsub-port.ts';
import type { KeyEvent } from '../encoding/txn/view.ts';

type Outlet = Pick<PubSub, 'publish'> & {
  countLost(messages: number): void;
};

/** What a script publishes. */
interface Message {
  readonly channel: Buffer;
  readonly message: Buffer;
  readonly isSharded: boolean;
}

export class KeyEventPublisher {
  readonly #pubsub: Outlet;
  #flags: NotifyFlags = NO_EVENTS;

  constructor(pubsub: Outlet) {
    this.#pubsub = pubsub;
  }

  get flags(): NotifyFlags {
    return this.#flags;
  }

  /** The cluster's setting; what is no such flags changes nothing. */
  take(setting = ''): void {
    this.#flags = parseNotifyFlags(setting) ?? this.#flags;
  }

  /** False spares everybody the gathering. */
  wanted(): boolean {
    const { keyspace, keyevent, classes } = this.#flags;
    return (keyspace || keyevent) && classes.size > 0;
  }

  /** In order; at most once each. */
  publish(namespace: Namespace, events: readonly KeyEvent[]): void {
    const database = databaseOf(namespace);
    for (const { of, event, key } of events) {
      const { keyspace, keyevent, classes } = this.#flags;
      if (!classes.has(of)) continue;
      const word = Buffer.from(event);
      if (keyspace) this.#publish(`__keyspace@${database}__:`, key, word);
      if (keyevent) this.#publish(`__keyevent@${database}__:`, word, key);
    }
  }

  publishMessage({ channel, message, isSharded }: Message): void {
    this.#pubsub.publish(isSharded ? 'shard' : 'channel', channel, message);
  }

  countLost(messages: number): void {
    this.#pubsub.countLost(messages);
  }

  #publish(prefix: string, name: Buffer, payload: Buffer): void {
    this.#pubsub.publish('channel', Buffer.concat([Buffer.from(prefix), name]), payload);
  }
}

function databaseOf(namespace: Namespace): string {
  if (namespace === 'default') return '0';
  return /^db\d+$/.test(namespace) ? namespace.slice(2) : namespace;
}
