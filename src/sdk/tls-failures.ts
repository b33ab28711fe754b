/** What a connection's end says about TLS, in words that name the option to give. */
import { hostPort } from '../common/host-port.ts';
import type { Address } from '../common/network.ts';

/** What a port that speaks TLS alone answers a plain client. */
const WANTS_TLS = /^ERR this port speaks TLS/;
/** What a port answers whose certificate it wants and has not seen, or does not believe. */
const WANTS_CERTIFICATE = /^ERR this port serves clients with a certificate/;

/** Codes of what is said of a certificate, by Node.js and OpenSSL. */
const UNTRUSTED = /^(?:UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_|CERT_|ERR_TLS_CERT_)/;
/** Something else than a handshake was answered, or nothing. */
const NO_HANDSHAKE = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|before secure TLS connection/;

/** What an error reply tells of how this client came; undefined: nothing. */
export function refusalOfDoor(text: string, address: Address): Error | undefined {
  const where = hostPort(address);
  if (WANTS_TLS.test(text)) {
    return new Error(`${where} speaks TLS alone: give the option tls, or rediss:// for redis://`);
  }
  if (!WANTS_CERTIFICATE.test(text)) return undefined;
  return new Error(`${where}: ${text.slice('ERR '.length)} (see cert and key of the option tls)`);
}

/** An error of a connection that speaks TLS, with the address and what to do; others as they are. */
export function explainedTls(error: Error, address: Address): Error {
  const code = 'code' in error ? String(error.code) : '';
  const where = hostPort(address);
  if (UNTRUSTED.test(code)) {
    const text = `${where}: its certificate is not accepted: ${error.message} (see the option tls)`;
    return new Error(text, { cause: error });
  }
  if (NO_HANDSHAKE.test(`${code} ${error.message}`)) {
    return new Error(`${where} does not speak TLS (see the option tls)`, { cause: error });
  }
  return error;
}
