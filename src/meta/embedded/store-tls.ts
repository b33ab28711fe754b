/** How the embedded store speaks TLS: certificates that are renewed while it serves. */
import { experimental, ServerCredentials } from '@grpc/grpc-js';
import type { StoreCredentials } from '../../common/config-meta.ts';
import { limits } from '../../common/limits.ts';

type CertificateProvider = experimental.CertificateProvider;

/** As `CredentialKeeper` keeps them. */
export interface StoreTls {
  /** All three are there; in PEM. */
  readonly current: StoreCredentials;
  /** `listener` hears of others, until what this returns is called. */
  onRenewed(listener: () => void): () => void;
}

/** Plain without `tls`; else who connects shows a certificate of its authorities. */
export function serverCredentials(tls: StoreTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const provider = providerOf(tls);
  const made = experimental.createCertificateProviderServerCredentials(provider, provider, true);
  // Node.js would wait for two minutes
  Object.assign(made._getConstructorOptions()!, { handshakeTimeout: limits.peerTlsHandshakeMs });
  return made;
}

/** Tells each listener what there is, and then what is new. */
function providerOf(tls: StoreTls): CertificateProvider {
  const bytes = (pem: string | undefined) => Buffer.from(pem ?? '');
  const told = new Map<unknown, () => void>();
  const add = (listener: unknown, tell: () => void) => {
    told.set(listener, tls.onRenewed(tell));
    // gRPC passes on only what it hears after this, and no connection is accepted before it
    void Promise.resolve().then(tell);
  };
  const remove = (listener: unknown) => {
    told.get(listener)?.();
    told.delete(listener);
  };
  return {
    addCaCertificateListener: (listener) =>
      add(listener, () => listener({ caCertificate: bytes(tls.current.authorities) })),
    addIdentityCertificateListener: (listener) =>
      add(listener, () => {
        const { certificate, key } = tls.current;
        listener({ certificate: bytes(certificate), privateKey: bytes(key) });
      }),
    removeCaCertificateListener: remove,
    removeIdentityCertificateListener: remove,
  };
}
