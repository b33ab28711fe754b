/** Whom the client of the store names in a handshake, and whose certificate it takes. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { messageOf } from '../../src/common/errors.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { TestAuthority } from '../common/tls/authority.ts';

const authority = new TestAuthority();
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** What a client that dials `host` names, false for nothing, and what its call comes to. */
async function dialing(host: string, shown = authority.issue('node')) {
  const { certificate: cert, key } = shown;
  const server = createServer({ cert, key, ALPNProtocols: ['h2'] });
  const named: unknown[] = [];
  server.on('tlsClientError', () => {});
  server.on('secureConnection', (socket: TLSSocket) => {
    named.push(socket.servername);
    socket.on('error', () => {}).destroy();
  });
  server.listen(0, '127.0.0.1');
  ends.push(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const store = connectEtcd({
    ...{ clock: systemClock, random: seededRandom('name'), logger: silentLogger },
    ...{ urls: [`https://${host}:${port}`], timeoutMs: 2_000 },
    credentials: { current: { authorities: authority.certificate } },
  });
  ends.push(() => store.close());
  const told = await store.get('x').then(() => 'answered', messageOf);
  return { named: named[0], told };
}

test('an address is not named, which Node.js 26 refuses; a name is', async () => {
  expect((await dialing('127.0.0.1')).named).toBe(false);
  expect((await dialing('localhost')).named).toBe('localhost');
});

test('the certificate has to name what was dialed, an address or a name', async () => {
  const elsewhere = authority.issue('node', { hosts: ['10.9.8.7', 'elsewhere'] });
  for (const host of ['127.0.0.1', 'localhost']) {
    expect((await dialing(host, elsewhere)).told).toMatch(/does not match certificate's altnames/);
  }
});
