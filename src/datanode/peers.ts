/** Whom a datanode's transport talks to: every node ever registered, but itself. */
import type { NodeId } from '../common/ids.ts';
import type { NodeRecord } from '../meta/schema.ts';
import type { PeerAddress } from './transport/transport.ts';

export function peerAddresses(
  addresses: ReadonlyMap<NodeId, NodeRecord>,
  own: NodeId,
): ReadonlyMap<NodeId, PeerAddress> {
  const peers = [...addresses].filter(([node]) => node !== own);
  return new Map(
    peers.map(([node, { host, transportPort, incarnation }]) => [
      node,
      { host, port: transportPort, incarnation },
    ]),
  );
}
