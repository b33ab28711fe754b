/**
 * All that goes out to one peer. We dial two connections, small and bulk; raft messages, requests
 * and snapshot streams leave on them, answers come back on the one their question left on. What
 * the peer has to say by itself comes on the connections it dials (inbound.ts): so each direction
 * is ordered by one dialer, and neither side needs to agree with the other on who connects.
 */
import type { GroupId, NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { WireMessage } from '../raft/message.ts';
import { Dialer, type TransportContext } from './dialer.ts';
import { badFrame, channels } from './frame.ts';
import type { Link, LinkHandlers } from './link.ts';
import { isBulk, messageBytes } from './message-codec.ts';
import { FRAME_TARGET_BYTES, MessageQueue } from './message-queue.ts';
import { OnTheWay } from './on-the-way.ts';
import { PeerClock } from './peer-clock.ts';
import { PostQueue } from './post-queue.ts';
import { RequestClient } from './request-client.ts';
import type { StreamGate } from './stream-gate.ts';
import { StreamSender } from './streams.ts';
import type { GroupMessage, PeerAddress } from './transport.ts';

export interface PeerEvents {
  onReachable(node: NodeId, reachable: boolean, bootId?: string): void;
  onPostsOpen(node: NodeId): void;
  onPostsClosed(node: NodeId, unsent: readonly Buffer[]): void;
}

export class Peer {
  readonly node: NodeId;
  readonly address: PeerAddress;
  readonly #context: TransportContext;
  readonly #events: PeerEvents;
  readonly #dialers: readonly Dialer[];
  readonly #small: MessageQueue;
  readonly #bulk: MessageQueue;
  readonly #onTheWay = new OnTheWay();
  /** What is asked in few bytes leaves with the messages of the same turn. */
  readonly #smallRequests: RequestClient;
  readonly #bulkRequests: RequestClient;
  readonly #streams: StreamSender;
  readonly #posts: PostQueue;
  /** Outlives connections: a new one may begin with a round trip that is long. */
  readonly #clock = new PeerClock();
  #smallLink: Link | undefined;
  /** Of the process that this link goes to. */
  #bootId: string | undefined;
  #bulkLink: Link | undefined;

  constructor(
    context: TransportContext,
    node: NodeId,
    address: PeerAddress,
    gate: StreamGate,
    events: PeerEvents,
  ) {
    const { clock, settings } = context;
    this.node = node;
    this.address = address;
    this.#context = context;
    this.#events = events;
    this.#small = new MessageQueue(settings.queueBytesMax, clock);
    this.#bulk = new MessageQueue(settings.queueBytesMax, clock, {
      onWritten: ({ group, message }) =>
        this.#onTheWay.written(group, message, clock.monotonicMs()),
      onDropped: ({ group }) => this.#onTheWay.dropped(group),
    });
    this.#smallRequests = new RequestClient(node, clock, settings);
    this.#bulkRequests = new RequestClient(node, clock, settings);
    this.#streams = new StreamSender(node, gate);
    this.#posts = new PostQueue(settings.postBytesMax);
    this.#dialers = [
      new Dialer(context, node, address, 'small', {
        onUp: (link) => this.#smallUp(link),
        onEstablished: (peer) => {
          this.#bootId = peer.bootId;
          this.#events.onReachable(node, true, peer.bootId);
        },
      }),
      new Dialer(context, node, address, 'bulk', {
        onUp: (link) => this.#bulkUp(link),
        onEstablished: () => this.#events.onPostsOpen(node),
      }),
    ];
  }

  get reachable(): boolean {
    return this.#smallLink !== undefined;
  }

  /** The boot of the process that runs at the peer's address, while a link to it stands. */
  get bootId(): string | undefined {
    return this.#bootId;
  }

  get wallMs(): number | undefined {
    return this.#clock.wallMs(this.#context.clock.monotonicMs());
  }

  start(): void {
    for (const dialer of this.#dialers) dialer.start();
  }

  wake(): void {
    for (const dialer of this.#dialers) dialer.wake();
  }

  stop(): void {
    for (const dialer of this.#dialers) dialer.stop();
  }

  send(group: GroupId, message: WireMessage): void {
    const bytes = messageBytes(message);
    if (bytes > limits.frameBytesMax - FRAME_TARGET_BYTES) {
      this.#context.logger.error('raft message too large to send', { peer: this.node, bytes });
      return;
    }
    const append = message.type === 'append' ? message : undefined;
    if (append !== undefined && this.#onTheWay.covers(group, append)) return;
    if (this.#isSilent(group, message)) return;
    const follows = append !== undefined && this.#onTheWay.has(group);
    const bulk = follows || isBulk(message, bytes);
    const link = bulk ? this.#bulkLink : this.#smallLink;
    if (link === undefined) return;
    if (bulk && append !== undefined) this.#onTheWay.add(group, append);
    (bulk ? this.#bulk : this.#small).push({ group, message }, bytes);
    link.requestFlush();
  }

  /** What it has sent tells what has arrived there. Returns what of it is to be handed on. */
  heard(messages: readonly GroupMessage[]): readonly GroupMessage[] {
    if (this.#onTheWay.size > 0) {
      for (const { group, message } of messages) this.#onTheWay.heard(group, message);
    }
    if (!this.#onTheWay.hasLosses) return messages;
    return this.#onTheWay.accepted(messages, this.#context.clock.monotonicMs());
  }

  #isSilent(group: GroupId, message: WireMessage): boolean {
    // every message passes here: a clock is not looked at for nothing
    if (!this.#onTheWay.hasLosses) return false;
    return this.#onTheWay.silences(group, message, this.#context.clock.monotonicMs());
  }

  request(
    body: Buffer,
    timeoutMs: number,
    signal?: AbortSignal,
    parks: boolean = false,
  ): Promise<Buffer> {
    const requests = this.#isForSmall(body) ? this.#smallRequests : this.#bulkRequests;
    return requests.request(body, timeoutMs, signal, parks);
  }

  /**
   * The peer reads no more of a connection that has brought it too much to answer: on the small one
   * it would miss our raft messages, among them those that what it has to answer may wait for.
   */
  #isForSmall(body: Buffer): boolean {
    if (body.length > limits.frameSmallBytesMax || this.#smallLink === undefined) return false;
    const { smallRequestBytesMax } = this.#context.settings;
    return this.#smallRequests.unansweredBytes + body.length <= smallRequestBytesMax;
  }

  /** False when it was dropped. */
  post(body: Buffer): boolean {
    const link = this.#bulkLink;
    if (link === undefined || !this.#posts.push(body)) return false;
    link.requestFlush();
    return true;
  }

  stream(header: Buffer, chunks: AsyncIterable<Buffer>): Promise<void> {
    return this.#streams.stream(header, chunks);
  }

  #smallUp(link: Link): LinkHandlers {
    this.#smallLink = link;
    this.#smallRequests.attach(link);
    this.#context.logger.debug('connected to peer', { peer: this.node, remote: link.remote });
    return {
      onFrame: (channel, body) => {
        if (channel === channels.request) this.#smallRequests.onFrame(body);
        else throw badFrame(`channel ${channel} toward the dialing side of a small connection`);
      },
      onFlush: () => {
        const messagesWait = this.#small.encode(link);
        const requestsWait = this.#smallRequests.flush(link);
        return messagesWait || requestsWait;
      },
      onClock: (...reading) => this.#clock.observe(...reading),
      onClose: () => {
        this.#smallLink = undefined;
        this.#bootId = undefined;
        this.#small.clear();
        this.#smallRequests.detach();
        this.#events.onReachable(this.node, false);
      },
    };
  }

  #giveUp(groups: readonly GroupId[]): void {
    if (groups.length === 0) return;
    this.#context.logger.error('what is large does not reach this peer', {
      peer: this.node,
      groups: groups.length,
      silentMs: limits.largeLossSilenceMs,
      remedy: 'compare the MTU of the path with that of both hosts (ping -M do -s 1472)',
    });
  }

  #bulkUp(link: Link): LinkHandlers {
    this.#bulkLink = link;
    this.#bulkRequests.attach(link);
    this.#streams.attach(link);
    return {
      onFrame: (channel, body) => {
        if (channel === channels.request) this.#bulkRequests.onFrame(body);
        else if (channel === channels.stream) this.#streams.onFrame(body);
        else throw badFrame(`channel ${channel} toward the dialing side`);
      },
      onFlush: () => {
        const messagesWait = this.#bulk.encode(link);
        const requestsWait = this.#bulkRequests.flush(link);
        const postsWait = this.#posts.encode(link);
        this.#streams.onFlush();
        return messagesWait || requestsWait || postsWait;
      },
      onEcho: (sentMs) => this.#onTheWay.arrived(sentMs),
      onClose: () => {
        this.#bulkLink = undefined;
        this.#bulk.clear();
        this.#giveUp(this.#onTheWay.ended(this.#context.clock.monotonicMs()));
        this.#bulkRequests.detach();
        this.#streams.detach();
        this.#events.onPostsClosed(this.node, this.#posts.clear());
      },
    };
  }
}
