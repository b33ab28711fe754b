import { isIP } from 'node:net';

/** Of IPv4 or of IPv6: no name, so no handshake may tell it. */
export function isAddress(host: string): boolean {
  return isIP(host) !== 0;
}
