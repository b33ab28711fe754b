/** CONFIG's parameters of TLS, as Redis names them: the configuration file is where they are set. */
import type { DatanodeTls } from '../../common/tls/config.ts';

const tlsAuthClients = { ignore: 'no', optional: 'optional', required: 'yes' } as const;

/** `port` is that of plain clients as well: where both are spoken, they have one. */
export function showTlsSettings(tls: DatanodeTls | undefined, port: number): [string, string][] {
  const isOn = tls !== undefined && tls.clients !== 'off';
  const file = (name: 'cert-file' | 'key-file' | 'ca-file') => (isOn ? (tls[name] ?? '') : '');
  const byName = tls?.['client-certificate-user'] === 'common-name';
  return [
    ['tls-port', isOn ? String(port) : '0'],
    ['tls-cert-file', file('cert-file')],
    ['tls-key-file', file('key-file')],
    ['tls-ca-cert-file', file('ca-file')],
    ['tls-auth-clients', tlsAuthClients[tls?.['client-certificates'] ?? 'ignore']],
    ['tls-auth-clients-user', isOn && byName ? 'CN' : 'off'],
  ];
}
