/** A message on its way to subscribers: encoded at most once per protocol, whoever gets it. */
import type { Delivery, PublishKind } from '../commands/pubsub/pubsub-port.ts';
import { encodeReply } from '../resp/encode-reply.ts';
import { bulk, type Protocol, type Reply } from '../resp/reply.ts';

class Push implements Delivery {
  readonly #items: readonly Reply[];
  readonly #encoded: Partial<Record<Protocol, Buffer>> = {};

  constructor(items: readonly Reply[]) {
    this.#items = items;
  }

  encoded(protocol: Protocol): Buffer {
    this.#encoded[protocol] ??= encodeReply({ kind: 'push', items: this.#items }, protocol);
    return this.#encoded[protocol];
  }
}

/** Any push. */
export function pushDelivery(items: readonly Reply[]): Delivery {
  return new Push(items);
}

export function channelDelivery(kind: PublishKind, channel: Buffer, payload: Buffer): Delivery {
  const word = kind === 'shard' ? 'smessage' : 'message';
  return new Push([bulk(word), bulk(channel), bulk(payload)]);
}

export function patternDelivery(pattern: Buffer, channel: Buffer, payload: Buffer): Delivery {
  return new Push([bulk('pmessage'), bulk(pattern), bulk(channel), bulk(payload)]);
}
