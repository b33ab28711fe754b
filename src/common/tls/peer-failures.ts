/** Why a TLS connection does not come about, for people: the same words wherever it fails. */
import type { TLSSocket } from 'node:tls';
import { messageOf, systemCodeOf } from '../errors.ts';

/** Of node:tls's checks, those that say that another authority signed. */
const FOREIGN = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/** Of who sends plain bytes where TLS alone is spoken. */
export const SPEAKS_NO_TLS = 'it speaks no TLS';

/**
 * What those who connect have to show. Who shows a certificate that no authority signed is refused
 * with `optional`, too; `process` is one of the cluster, as no client has it.
 */
export type WantedCertificate = 'ignore' | 'optional' | 'required' | 'process';

/** Why who connected must not be let in. */
export function strangerIn(socket: TLSSocket, wanted: WantedCertificate): string | undefined {
  if (wanted === 'ignore') return undefined;
  const certificate = socket.getPeerCertificate();
  if (Object.keys(certificate).length === 0) {
    return wanted === 'optional' ? undefined : 'it showed no certificate';
  }
  if (!socket.authorized) return certificateProblem(String(socket.authorizationError));
  if (wanted !== 'process') return undefined;
  const uses: readonly string[] | undefined = certificate.ext_key_usage;
  if (uses === undefined || uses.includes(SERVER_AUTH)) return undefined;
  return "its certificate is a client's, and no client speaks here";
}

/** What a code of node:tls means of the other side's certificate. */
function certificateProblem(code: string): string {
  if (FOREIGN.has(code)) return 'its certificate is not signed by an authority of tls.ca-file';
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired';
  if (code === 'CERT_NOT_YET_VALID') return 'its certificate is not valid yet';
  return `its certificate is refused (${code})`;
}

/** Why a handshake failed; the same words for the same reason. */
export function handshakeProblem(failure: unknown): string {
  const code = systemCodeOf(failure) ?? '';
  if (FOREIGN.has(code) || code.startsWith('CERT_')) return certificateProblem(code);
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return SPEAKS_NO_TLS;
  }
  const { reason } = failure as { readonly reason?: unknown };
  if (code.startsWith('ERR_SSL_') && typeof reason === 'string') return `TLS: ${reason}`;
  return messageOf(failure);
}
