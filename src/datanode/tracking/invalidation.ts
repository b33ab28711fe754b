/** What a client is told of keys that it may have cached, in Redis's words. */
import type { Delivery } from '../commands/pubsub/pubsub-port.ts';
import { encodeReply } from '../resp/encode-reply.ts';
import { array, bulk, integer, NULL, type Protocol, type Reply } from '../resp/reply.ts';

const CHANNEL = bulk('__redis__:invalidate');

/** Encoded at most once per protocol. In RESP2 it is a message, for whom somebody redirects to. */
class Invalidation implements Delivery {
  readonly #what: Reply;
  readonly #encoded: Partial<Record<Protocol, Buffer>> = {};

  constructor(what: Reply) {
    this.#what = what;
  }

  encoded(protocol: Protocol): Buffer {
    const head = protocol === 3 ? [bulk('invalidate')] : [bulk('message'), CHANNEL];
    const push: Reply = { kind: 'push', items: [...head, this.#what] };
    this.#encoded[protocol] ??= encodeReply(push, protocol);
    return this.#encoded[protocol];
  }
}

/** That these keys changed. */
export function invalidation(keys: readonly Buffer[]): Delivery {
  return new Invalidation(array(keys.map((key) => bulk(key))));
}

/** That any key may have changed. */
export function invalidationOfAll(): Delivery {
  return new Invalidation(NULL);
}

/** That the client it redirects to has gone. */
export function brokenRedirect(id: number): Delivery {
  const items = [bulk('tracking-redir-broken'), integer(id)];
  return { encoded: (protocol) => encodeReply({ kind: 'push', items }, protocol) };
}
