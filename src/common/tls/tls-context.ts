/** What OpenSSL is given of a process's credentials, made once for each. */
import { constants } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { ShownCredentials } from './credentials.ts';

const made = new WeakMap<ShownCredentials, SecureContext>();

/** TLS 1.2 and 1.3, and no handshake on a connection that had one. */
export function contextOptions(credentials: ShownCredentials): SecureContextOptions {
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

/** A session that is resumed was checked some other day: where certificates count, there is none. */
export function checkingOptions(credentials: ShownCredentials): SecureContextOptions {
  const options = contextOptions(credentials);
  return { ...options, secureOptions: options.secureOptions! | constants.SSL_OP_NO_TICKET };
}

/** Throws when OpenSSL takes none of it, as a key that is too short. */
export function secureContextOf(credentials: ShownCredentials): SecureContext {
  const before = made.get(credentials);
  if (before !== undefined) return before;
  const context = createSecureContext(contextOptions(credentials));
  made.set(credentials, context);
  return context;
}
