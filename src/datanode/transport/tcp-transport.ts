/** The Transport over the Network interface: see transport.ts, peer.ts (out) and inbound.ts (in). */
import type { Clock } from '../../common/clock.ts';
import { KvorumError } from '../../common/errors.ts';
import type { Incarnation, NodeId } from '../../common/ids.ts';
import { listenFailure } from '../../common/listen-failure.ts';
import type { Logger } from '../../common/log.ts';
import type { Address, Network } from '../../common/network.ts';
import type { Random } from '../../common/random.ts';
import type { TransportContext } from './dialer.ts';
import { Inbound } from './inbound.ts';
import { Peer } from './peer.ts';
import { Pulse } from './pulse.ts';
import { defaultTransportSettings, type TransportSettings } from './settings.ts';
import { Slots, type StreamGate, Throttle } from './stream-gate.ts';
import type { PeerAddress, Transport, TransportHandlers } from './transport.ts';

export interface TransportOptions {
  readonly network: Network;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  readonly clusterId: string;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  /** One per start of the process, random. */
  readonly bootId: string;
  readonly listen: Address;
  readonly handlers: TransportHandlers;
  readonly settings?: Partial<TransportSettings>;
}

/** Listens; rejects when the address cannot be bound. No peer is dialed before `setPeers`. */
export async function createTransport(options: TransportOptions): Promise<Transport> {
  const { network, node, handlers } = options;
  const context = contextOf(options);
  const gate = gateOf(context);
  const peers = new Map<NodeId, Peer>();
  const inbound = new Inbound(context, {
    handlers,
    gate,
    knownIncarnation: (peer) => peers.get(peer)?.address.incarnation,
    runningAs: (peer) => peers.get(peer)?.bootId,
    onSeen: (peer) => peers.get(peer)?.wake(),
    onHeard: (peer, messages) => peers.get(peer)?.heard(messages) ?? messages,
  });
  const listener = await network
    .listen(options.listen, (stream) => inbound.accept(stream))
    .catch((failure) => {
      throw listenFailure(failure, options.listen, 'ports.transport');
    });
  const unknown = (to: NodeId) => new KvorumError('PEER_UNREACHABLE', `${to} is not a peer`);
  let closed = false;

  return {
    port: listener.port,
    setPeers(wanted) {
      if (closed) return;
      for (const [name, peer] of peers) {
        if (sameAddress(wanted.get(name), peer.address)) continue;
        peers.delete(name);
        peer.stop();
      }
      inbound.dropStrangers();
      for (const [name, address] of wanted) {
        if (name === node || peers.has(name)) continue;
        const peer = new Peer(context, name, address, gate, {
          onReachable: (...change) => handlers.onPeer(...change),
          onPostsOpen: (to) => handlers.pubsub?.onOpen(to),
          onPostsClosed: (to, unsent) => handlers.pubsub?.onClosed(to, unsent),
        });
        peers.set(name, peer);
        peer.start();
      }
    },
    send: (to, group, message) => peers.get(to)?.send(group, message),
    request: (to, body, ...how) =>
      peers.get(to)?.request(body, ...how) ?? Promise.reject(unknown(to)),
    stream: (to, header, chunks) =>
      peers.get(to)?.stream(header, chunks) ?? Promise.reject(unknown(to)),
    post: (to, body) => peers.get(to)?.post(body) ?? false,
    isReachable: (to) => peers.get(to)?.reachable ?? false,
    peerWallMs: (to) => peers.get(to)?.wallMs,
    async close() {
      if (closed) return;
      closed = true;
      gate.sends.close();
      gate.receives.close();
      gate.throttle.close();
      for (const peer of peers.values()) peer.stop();
      peers.clear();
      inbound.close();
      await listener.close();
    },
  };
}

function sameAddress(a: PeerAddress | undefined, b: PeerAddress): boolean {
  return a?.host === b.host && a.port === b.port && a.incarnation === b.incarnation;
}

function contextOf(options: TransportOptions): TransportContext {
  const { network, clock, logger, random, clusterId, node, incarnation, bootId } = options;
  const settings = { ...defaultTransportSettings, ...options.settings };
  let dials = 0;
  return {
    network,
    clock,
    logger,
    random,
    settings,
    pulse: new Pulse(clock, settings.keepaliveMs),
    self: { clusterId, node, incarnation, bootId },
    nextDial: () => ++dials,
  };
}

function gateOf({ settings, clock }: TransportContext): StreamGate {
  return {
    sends: new Slots(settings.snapshotSendsMax),
    receives: new Slots(settings.snapshotReceivesMax),
    throttle: new Throttle(clock, settings.snapshotBytesPerSecond),
  };
}
