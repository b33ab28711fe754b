/**
 * Connections peers dial to us. Of each peer and kind one is live: a newer one replaces the older,
 * which is destroyed before the first frame of the newer is handled, so no frame of an older
 * connection ever comes after one of a newer (the order of forwarded writes rests on this).
 */
import type { Incarnation, NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { ByteStream } from '../../common/network.ts';
import type { TransportContext } from './dialer.ts';
import { badFrame, channels } from './frame.ts';
import { decodeGreeting, encodeWelcome, type Hello, refusalOf } from './handshake.ts';
import { Link, type LinkHandlers } from './link.ts';
import { decodeMessages } from './message-codec.ts';
import { RequestServer } from './request-server.ts';
import type { StreamGate } from './stream-gate.ts';
import { StreamReceiver } from './streams.ts';
import type { GroupMessage, PostLink, TransportHandlers } from './transport.ts';

const REFUSALS_REMEMBERED = 1_000;

interface Accepted {
  readonly link: Link;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly bootId: string;
  readonly dial: number;
}

export interface InboundOptions {
  readonly handlers: TransportHandlers;
  readonly gate: StreamGate;
  /** The incarnation of a peer, undefined for a node that is none. */
  readonly knownIncarnation: (node: NodeId) => Incarnation | undefined;
  /** The boot of the process that a link of ours to the peer's address goes to, while there is one. */
  readonly runningAs: (node: NodeId) => string | undefined;
  /** A peer has shaken hands: it is there. */
  readonly onSeen: (node: NodeId) => void;
  /** Raft messages of a peer; returns those that are handed on. */
  readonly onHeard: (from: NodeId, messages: readonly GroupMessage[]) => readonly GroupMessage[];
}

export class Inbound {
  readonly #context: TransportContext;
  readonly #options: InboundOptions;
  /** Of peers. */
  readonly #links = new Set<Link>();
  /** Before their handshake, and after a refusal until they are gone; the oldest first. */
  readonly #strangers = new Set<Link>();
  /** By node and kind; kept after the end, so that a late older dial is known as such. */
  readonly #accepted = new Map<string, Accepted>();
  readonly #refused = new Map<string, string>();

  constructor(context: TransportContext, options: InboundOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** A peer says hello at once: who has longest said nothing of use makes room. */
  accept(stream: ByteStream): void {
    const link = new Link(stream, this.#context, {
      onFrame: (channel, body) => this.#onGreeting(link, channel, body),
      onClose: () => {},
      onGone: () => this.#strangers.delete(link),
    });
    const [oldest] = this.#strangers;
    if (oldest !== undefined && this.#strangers.size >= limits.transportStrangersMax) {
      this.#strangers.delete(oldest);
      oldest.destroy(new Error('others came, and it had not said hello'));
    }
    this.#strangers.add(link);
  }

  /** Closes what belongs to nodes, or incarnations, that are peers no more. */
  dropStrangers(): void {
    for (const [key, accepted] of this.#accepted) {
      if (this.#options.knownIncarnation(accepted.node) === accepted.incarnation) continue;
      this.#accepted.delete(key);
      accepted.link.destroy(new Error('no longer a peer'));
    }
  }

  close(): void {
    for (const link of [...this.#links, ...this.#strangers]) link.destroy();
  }

  #onGreeting(link: Link, channel: number, body: Buffer): void {
    const greeting = decodeGreeting(channel, body);
    if (greeting.kind !== 'hello') throw badFrame(`${greeting.kind} where a hello was expected`);
    const { hello } = greeting;
    const key = `${hello.kind} ${hello.self.node}`;
    const before = this.#accepted.get(key);
    const refusal =
      refusalOf(hello, this.#context.self, this.#options.knownIncarnation(hello.self.node)) ??
      this.#twinRefusal(hello) ??
      (before?.bootId === hello.self.bootId && before.dial >= hello.dial
        ? 'a newer connection is there'
        : undefined);
    if (refusal !== undefined) {
      this.#logRefusal(hello.self.node, refusal, link);
      link.refuse(refusal);
      return;
    }
    before?.link.destroy(new Error('replaced by a newer connection'));
    this.#refused.delete(hello.self.node);
    const { node, incarnation, bootId } = hello.self;
    this.#accepted.set(key, { link, node, incarnation, bootId, dial: hello.dial });
    this.#strangers.delete(link);
    this.#links.add(link);
    link.write((w) => encodeWelcome(w, this.#context.self));
    link.establish(this.#serve(link, hello));
    this.#options.onSeen(node);
  }

  /**
   * While the process at a peer's address lives, another that says to be the peer runs on a copy of
   * its data directory: both would take the link from each other, and the groups lose their leaders
   * each time. What is left of a process that is gone ends within the bound of silence.
   */
  #twinRefusal({ self: { node, bootId } }: Hello): string | undefined {
    const running = this.#options.runningAs(node);
    if (running === undefined || running === bootId) return undefined;
    return (
      `${node} runs as another process, at the address that ${this.#context.self.node} knows: two ` +
      'processes on copies of one data directory; stop the one that is not the node, and remove its copy'
    );
  }

  #serve(link: Link, hello: Hello): LinkHandlers {
    const { handlers, gate, onHeard } = this.#options;
    const from = hello.self.node;
    const requests = new RequestServer(link, from, handlers, this.#context.settings);
    const streams = new StreamReceiver(link, from, handlers, gate);
    const posts: PostLink = { pause: () => link.pause(posts), resume: () => link.resume(posts) };
    return {
      onFrame: (channel, body) => {
        if (channel === channels.raft) {
          handlers.onMessages(from, onHeard(from, decodeMessages(body)));
        } else if (channel === channels.request) requests.onFrame(body);
        else if (channel === channels.stream) streams.onFrame(body);
        else if (channel === channels.pubsub) handlers.pubsub?.onPost(from, body, posts);
        else throw badFrame(`channel ${channel} after the handshake`);
      },
      onFlush: () => {
        requests.onFlush();
        return false;
      },
      onClose: () => {
        this.#links.delete(link);
        requests.close();
        streams.close();
        if (hello.kind === 'bulk') handlers.pubsub?.onLost(from);
      },
    };
  }

  #logRefusal(node: NodeId, reason: string, link: Link): void {
    if (this.#refused.get(node) === reason) return;
    if (this.#refused.size >= REFUSALS_REMEMBERED) this.#refused.clear();
    this.#refused.set(node, reason);
    this.#context.logger.warn('connection refused', { peer: node, remote: link.remote, reason });
  }
}
