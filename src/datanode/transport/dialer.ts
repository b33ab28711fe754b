/**
 * Keeps one outgoing connection to a peer: connect, handshake, up; after any end it waits (doubling
 * with jitter) and begins again until stopped.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { messageOf } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import type { Logger } from '../../common/log.ts';
import type { ByteStream, Network } from '../../common/network.ts';
import type { Random } from '../../common/random.ts';
import {
  decodeGreeting,
  encodeHello,
  type LinkKind,
  PROTOCOL_VERSION,
  type Self,
} from './handshake.ts';
import { Link, type LinkHandlers } from './link.ts';
import type { Pulse } from './pulse.ts';
import type { TransportSettings } from './settings.ts';
import type { PeerAddress } from './transport.ts';

/** What the parts of one transport share. */
export interface TransportContext {
  readonly network: Network;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  readonly self: Self;
  readonly settings: TransportSettings;
  readonly pulse: Pulse;
  /** Numbers of dials: they only grow. */
  nextDial(): number;
}

export interface DialerEvents {
  /** The handshake is done; the answer handles the link from now on. */
  onUp(link: Link): LinkHandlers;
  /** The link is in full use. */
  onEstablished?(peer: Self): void;
}

/** What ends a connection that lasted so long is news. */
const STEADY_MS = 10_000;
const TOLD_AGAIN_MS = 60_000;
const REASONS_MAX = 16;

export class Dialer {
  readonly #context: TransportContext;
  readonly #node: NodeId;
  readonly #address: PeerAddress;
  readonly #kind: LinkKind;
  readonly #events: DialerEvents;
  #link: Link | undefined;
  #retry: Timer | undefined;
  #stopped = false;
  #failures = 0;
  /** Why there was no connection lately, and when that was told. */
  readonly #told = new Map<string, number>();

  constructor(
    context: TransportContext,
    node: NodeId,
    address: PeerAddress,
    kind: LinkKind,
    events: DialerEvents,
  ) {
    this.#context = context;
    this.#node = node;
    this.#address = address;
    this.#kind = kind;
    this.#events = events;
  }

  start(): void {
    const { network, settings } = this.#context;
    this.#retry = undefined;
    this.#link?.destroy(); // one that refused and lingers
    network.connect(this.#address, settings.connectTimeoutMs).then(
      (stream) => this.#connected(stream),
      (error) => this.#failed(messageOf(error)),
    );
  }

  /** The peer has just shown signs of life: do not sit out the back-off. */
  wake(): void {
    if (this.#retry === undefined) return;
    this.#retry.cancel();
    this.#failures = 0;
    this.start();
  }

  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#link?.destroy();
  }

  #connected(stream: ByteStream): void {
    const link = new Link(stream, this.#context, {
      onFrame: (channel, body) => this.#onGreeting(link, channel, body),
      onClose: (error) => this.#failed(error ? messageOf(error) : 'closed during the handshake'),
    });
    this.#link = link;
    if (this.#stopped) {
      link.destroy();
      return;
    }
    link.write((w) =>
      encodeHello(w, {
        version: PROTOCOL_VERSION,
        self: this.#context.self,
        expectedNode: this.#node,
        expectedIncarnation: this.#address.incarnation,
        kind: this.#kind,
        dial: this.#context.nextDial(),
      }),
    );
  }

  #onGreeting(link: Link, channel: number, body: Buffer): void {
    const greeting = decodeGreeting(channel, body);
    if (greeting.kind !== 'welcome') {
      const text = greeting.kind === 'refusal' ? greeting.text : 'answered with a hello';
      link.destroy(new Error(`refused: ${text}`));
      return;
    }
    const { self } = this.#context;
    const peer = greeting.self;
    if (
      peer.clusterId !== self.clusterId ||
      peer.node !== this.#node ||
      peer.incarnation !== this.#address.incarnation
    ) {
      link.destroy(
        new Error(`expected ${this.#node} (${this.#address.incarnation}), found ${peer.node}`),
      );
      return;
    }
    this.#failures = 0;
    const upMs = this.#context.clock.monotonicMs();
    for (const [reason, atMs] of this.#told) {
      if (upMs - atMs >= TOLD_AGAIN_MS) this.#told.delete(reason);
    }
    const handlers = this.#events.onUp(link);
    link.establish({
      ...handlers,
      onClose: (error) => {
        handlers.onClose(error);
        if (this.#context.clock.monotonicMs() - upMs >= STEADY_MS) this.#told.clear();
        this.#failed(error ? messageOf(error) : 'closed by the peer');
      },
    });
    this.#events.onEstablished?.(peer);
  }

  #failed(reason: string): void {
    if (this.#stopped) return;
    const { settings, random, clock } = this.#context;
    this.#tell(reason);
    const doubled = settings.backoffMinMs * 2 ** Math.min(this.#failures++, 20);
    const delayMs = Math.min(doubled, settings.backoffMaxMs) * (0.5 + random.float() / 2);
    this.#retry = clock.setTimer(delayMs, () => this.start());
  }

  /** Once, until a connection has lasted; and again after a while where they come and go all the time. */
  #tell(reason: string): void {
    if (this.#told.has(reason)) return;
    const { clock, logger } = this.#context;
    if (this.#told.size >= REASONS_MAX) this.#told.clear();
    this.#told.set(reason, clock.monotonicMs());
    const { host, port } = this.#address;
    const fields = { peer: this.#node, kind: this.#kind, address: `${host}:${port}`, reason };
    logger.warn('no connection to peer', fields);
  }
}
