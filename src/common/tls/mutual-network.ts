/**
 * Network over TLS between processes of one cluster: each shows a certificate, and both are checked
 * against one authority; who dials checks the name it dialed as well. One port may take plain
 * connections beside, while a running cluster goes over.
 */
import { must } from '../assert.ts';
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import { silentLogger } from '../log.ts';
import type { ShownCredentials } from './credentials.ts';
import { SPEAKS_NO_TLS } from './peer-failures.ts';
import { newTlsCounts, TlsNetwork } from './tls-network.ts';

/** What a process shows, and whom it believes; all in PEM. */
export type PeerCredentials = ShownCredentials;

export interface MutualOptions {
  /** Those of now: another object when they were renewed. */
  credentials(): PeerCredentials;
  readonly takesPlain: boolean;
  readonly dialsTls: boolean;
  readonly clock: Clock;
  /** Bytes that tell a peer why it is not let in. */
  refusal(reason: string): Buffer;
  onRefused(remote: string, reason: string): void;
}

export function mutualNetwork(options: MutualOptions): TlsNetwork {
  const { takesPlain, dialsTls, clock } = options;
  // else whomever the world trusts would be one of the cluster
  must(options.credentials().authorities, 'processes of a cluster have an authority');
  return new TlsNetwork({
    credentials: {
      get current() {
        return options.credentials();
      },
    },
    accepts: takesPlain ? 'both' : 'tls',
    dials: dialsTls ? 'tls' : 'plain',
    peerCertificates: 'process',
    // peers speak at once
    keepsSilent: false,
    room: () => limits.peerTlsHandshakesMax,
    handshakeMs: limits.peerTlsHandshakeMs,
    ...{ clock, logger: silentLogger, counts: newTlsCounts() },
    onRefused: (remote, reason) => options.onRefused(remote, reason),
    plainRefusal: options.refusal(SPEAKS_NO_TLS),
    certificateRefusal: (reason) => options.refusal(reason),
  });
}
