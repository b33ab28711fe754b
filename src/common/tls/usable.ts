import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** Throws, with OpenSSL's reason, when authorities, certificate and key cannot be used, or not together. */
export function checkUsable(options: SecureContextOptions): void {
  createSecureContext(options);
}
