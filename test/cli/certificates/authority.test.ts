import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import {
  issueCertificate,
  type KeyAndCertificate,
  makeAuthority,
} from '../../../src/cli/certificates/authority.ts';
import { seededRandom, systemRandom } from '../../../src/common/random.ts';

const nowMs = Date.now();
const making = { random: systemRandom(), nowMs, days: 10 };
const authority = makeAuthority('authority of tests', making);
const leaf = { name: 'n1', hosts: ['localhost', '127.0.0.1', '::1'], clientOnly: false };

/** Whether each side of a handshake takes the other's certificate: what OpenSSL says, or undefined. */
async function handshake(
  server: KeyAndCertificate,
  client: KeyAndCertificate,
  host: string,
): Promise<{ ofServer: string | undefined; ofClient: string | undefined }> {
  const ca = authority.certificate;
  const listening = createServer({
    ...{ ca, cert: server.certificate, key: server.key },
    ...{ requestCert: true, rejectUnauthorized: false },
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const { port } = listening.address() as { port: number };
  const accepted = new Promise<TLSSocket>((resolve) => listening.once('secureConnection', resolve));
  const socket = connect({
    ...{ port, host: '127.0.0.1', ca, cert: client.certificate, key: client.key },
    ...{ servername: isIP(host) === 0 ? host : '', rejectUnauthorized: false },
  });
  await new Promise<void>((resolve) => socket.once('secureConnect', resolve));
  const said = (one: TLSSocket) => one.authorizationError?.toString() ?? undefined;
  const both = { ofServer: said(socket), ofClient: said(await accepted) };
  socket.destroy();
  listening.close();
  return both;
}

describe('a certificate that the authority issued', () => {
  const node = issueCertificate(authority, leaf, making);
  const client = issueCertificate(authority, { name: 'u', hosts: [], clientOnly: true }, making);

  test('is taken by both sides of a handshake, by each of its names', async () => {
    for (const host of ['localhost', '127.0.0.1']) {
      const taken = await handshake(node, client, host);
      expect(taken).toEqual({ ofServer: undefined, ofClient: undefined });
    }
  });

  test('is refused where it does not belong: another name, a client as a server', async () => {
    expect((await handshake(node, client, 'elsewhere')).ofServer).toMatch(/ALTNAME/);
    expect((await handshake(client, client, 'localhost')).ofServer).toMatch(/INVALID_PURPOSE/);
    expect((await handshake(node, node, 'localhost')).ofClient).toBeUndefined();
  });

  test('says what was asked for', () => {
    const { subject, subjectAltName, ca, validTo } = new X509Certificate(node.certificate);
    expect({ subject, ca }).toEqual({ subject: 'CN=n1', ca: false });
    expect(subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
    const days = (Date.parse(validTo) - nowMs) / 86_400_000;
    expect(days).toBeCloseTo(10, 2);
  });

  test('has its own serial number, positive and of 16 bytes', () => {
    const serials = [node, client].map(({ certificate }) => new X509Certificate(certificate));
    const texts = serials.map(({ serialNumber }) => serialNumber);
    expect(new Set(texts).size).toBe(2);
    for (const text of texts) expect(text).toMatch(/^[4-7][0-9A-F]{31}$/);
  });
});

test.each([
  ['::', '0:0:0:0:0:0:0:0'],
  ['fe80::1', 'FE80:0:0:0:0:0:0:1'],
  ['2001:db8::', '2001:DB8:0:0:0:0:0:0'],
  ['2001:db8:1:2:3:4:5:6', '2001:DB8:1:2:3:4:5:6'],
  ['::ffff:10.1.2.3', '0:0:0:0:0:FFFF:A01:203'],
  ['10.1.2.3', '10.1.2.3'],
])('the address %s is the same in the certificate', (host, shown) => {
  const issued = issueCertificate(authority, { ...leaf, hosts: [host] }, making);
  expect(new X509Certificate(issued.certificate).subjectAltName).toBe(`IP Address:${shown}`);
});

test('a certificate ends in the year it was told to, also from 2050 on', () => {
  const days = 36_500;
  const long = makeAuthority('long', { ...making, random: seededRandom(1), days });
  const issued = issueCertificate(long, leaf, { ...making, days });
  const { validTo } = new X509Certificate(issued.certificate);
  expect((Date.parse(validTo) - nowMs) / 86_400_000).toBeCloseTo(days, 2);
});

describe('an authority that cannot sign is refused by what is wrong with it', () => {
  const other = makeAuthority('other', making);
  const node = issueCertificate(authority, leaf, making);
  test.each<[string, KeyAndCertificate, number, RegExp]>([
    ['its key is of another', { ...authority, key: other.key }, 1, /is not that of its/],
    ['it is none', node, 1, /no authority/],
    ['it is not PEM', { ...authority, certificate: 'hello' }, 1, /cannot be read/],
    ['it ends before', authority, 11, /in 10 days.*fewer days/],
  ])('%s', (_name, pair, days, text) => {
    expect(() => issueCertificate(pair, leaf, { ...making, days })).toThrow(text);
  });
});
