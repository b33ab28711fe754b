/** The network of a datanode's clients, as `tls` of its configuration wants it. */
import type { Clock } from '../common/clock.ts';
import type { Logger } from '../common/log.ts';
import type { Network } from '../common/network.ts';
import type { DatanodeTls } from '../common/tls/config.ts';
import type { CredentialKeeper } from '../common/tls/keeper.ts';
import { newTlsCounts, type TlsCounts, TlsNetwork } from '../common/tls/tls-network.ts';

const PLAIN_REFUSED = Buffer.from(
  '-ERR this port speaks TLS, and nothing else: connect with TLS (redis-cli --tls)\r\n',
);

export interface ClientNetworkWorld {
  readonly network: Network;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What /metrics tells of TLS; undefined where clients speak none. */
export interface ClientTlsFigures extends TlsCounts {
  readonly pending: number;
}

export interface ClientNetwork {
  readonly network: Network;
  figures(): ClientTlsFigures | undefined;
}

/** `room`: how many clients there may be beside those that are served. */
export function clientNetwork(
  tls: DatanodeTls,
  { network, clock, logger }: ClientNetworkWorld,
  credentials: CredentialKeeper | undefined,
  room: () => number,
): ClientNetwork {
  if (tls.clients === 'off' || credentials === undefined) {
    return { network, figures: () => undefined };
  }
  const counts = newTlsCounts();
  const secure = new TlsNetwork({
    ...{ credentials, clock, logger, counts, room },
    accepts: tls.clients === 'required' ? 'tls' : 'both',
    dials: 'plain',
    peerCertificates: tls['client-certificates'],
    plainRefusal: PLAIN_REFUSED,
    certificateRefusal,
  });
  const figures = () => ({ ...counts, pending: secure.pending });
  return { network: secure, figures };
}

function certificateRefusal(reason: string): Buffer {
  const text = `-ERR this port serves clients with a certificate of its authority: ${reason}`;
  return Buffer.from(`${text.replace(/[\r\n]/g, ' ')}\r\n`, 'latin1');
}
