/** How a node's transport reaches others: plain, or as the setting `tls.nodes` wants it. */
import { must } from '../common/assert.ts';
import type { Clock } from '../common/clock.ts';
import type { Logger } from '../common/log.ts';
import type { Network } from '../common/network.ts';
import type { DatanodeTls } from '../common/tls/config.ts';
import type { PeerCredentials } from '../common/tls/mutual-network.ts';
import { secureNetwork } from './transport/secure-network.ts';

export interface PeerNetwork {
  readonly network: Network;
  /** Connections to this node that were not let in, for their certificate or want of TLS. */
  refused(): number;
}

interface PeerWorld {
  readonly network: Network;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `credentials` are those of now; there are some wherever nodes speak TLS. */
export function peerNetwork(
  { nodes: mode }: Pick<DatanodeTls, 'nodes'>,
  { network: plain, clock, logger }: PeerWorld,
  credentials: { readonly current: PeerCredentials } | undefined,
): PeerNetwork {
  if (mode === 'off') return { network: plain, refused: () => 0 };
  let refused = 0;
  const shown = must(credentials, 'TLS between nodes has certificates');
  const network = secureNetwork({
    ...{ mode, clock, logger },
    credentials: () => shown.current,
    onRefused: () => void refused++,
  });
  return { network, refused: () => refused };
}
