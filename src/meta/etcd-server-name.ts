/**
 * gRPC names the host that it dials in the TLS handshake also where that is an address, which RFC 6066
 * does not allow: Node.js warns of it, and from 26 on refuses to connect. An address is left out there;
 * Node.js then compares the server's certificate with what was dialed, as it does where a name is told.
 */
import type { Etcd3 } from 'etcd3';
import { isAddress } from '../common/tls/is-address.ts';

interface Connector {
  readonly connectionOptions?: { servername?: string };
}

interface ChannelCredentials {
  _createSecureConnector(...args: unknown[]): Connector;
}

/** Where etcd3 keeps what its channels are made with: all members of a client have the same. */
interface WithPool {
  readonly pool: {
    readonly hosts: readonly { readonly channelCredentials: ChannelCredentials }[];
  };
}

/** Before the client's first call. */
export function nameNoAddresses(client: Etcd3): void {
  const { hosts } = (client as unknown as WithPool).pool;
  for (const credentials of new Set(hosts.map((host) => host.channelCredentials))) {
    const create = credentials._createSecureConnector;
    credentials._createSecureConnector = function (...args) {
      const connector = create.apply(this, args);
      const options = connector.connectionOptions;
      if (options?.servername !== undefined && isAddress(options.servername)) {
        delete options.servername;
      }
      return connector;
    };
  }
}
