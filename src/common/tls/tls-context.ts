/** What OpenSSL is given of a process's credentials, made once for each. */
import { constants } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { Credentials } from './credentials.ts';

const made = new WeakMap<Credentials, SecureContext>();

/** TLS 1.2 and 1.3, and no handshake on a connection that had one. */
export function contextOptions(credentials: Credentials): SecureContextOptions {
  const { certificate: cert, key, authorities } = credentials;
  return {
    cert,
    key,
    ...(authorities !== undefined && { ca: authorities }),
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.3',
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

/** Throws when OpenSSL takes none of it, as a key that is too short. */
export function secureContextOf(credentials: Credentials): SecureContext {
  const before = made.get(credentials);
  if (before !== undefined) return before;
  const context = createSecureContext(contextOptions(credentials));
  made.set(credentials, context);
  return context;
}
