/** How verbs speak TLS at the ports of clients: what the flags make, and each kind of connection once. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Gateway } from '../../src/cli/backup/gateway.ts';
import { clientTls } from '../../src/cli/client-tls.ts';
import { SocketReader } from '../../src/cli/import/live/socket-reader.ts';
import { redisAddress } from '../../src/cli/import/target.ts';
import { authority, issued, issuedToClient, writeFiles } from '../common/tls/made-certificates.ts';

let dir: string;
let server: Server;
let address: { host: string; port: number };
const file = (name: string) => join(dir, name);

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-cli-tls-'));
  writeFileSync(file('ca.crt'), authority.certificate);
  writeFiles(dir, 'app', issuedToClient('app'));
  const { certificate: cert, key } = issued();
  const shown = { ca: authority.certificate, requestCert: true, rejectUnauthorized: true };
  server = createServer({ cert, key, ...shown }, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      for (const _ of `${bytes}`.matchAll(/^\*/gm)) socket.write('+OK\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = { host: '127.0.0.1', port: (server.address() as { port: number }).port };
});
afterAll(() => {
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

const flags = () => ({ ca: file('ca.crt'), cert: file('app.crt'), key: file('app.key') });

test('flags say whether, and with what', () => {
  expect(clientTls({})).toBeUndefined();
  expect(clientTls({ ca: file('ca.crt') })).toBeUndefined();
  expect(clientTls({ tls: true }, false, authority.certificate)).toEqual({
    ca: authority.certificate,
  });
  expect(clientTls({ ca: file('ca.crt') }, true)).toEqual({ ca: authority.certificate });
  expect(() => clientTls({ cert: file('app.crt') })).toThrow('give --tls too');
  expect(() => clientTls({ tls: true, cert: file('app.crt') })).toThrow('cert and key go together');
  expect(() => clientTls({ tls: true, ca: file('none') })).toThrow(/--ca .*none: cannot be read/);
});

test('addresses say it too', () => {
  expect(redisAddress('redis://h:1', '--to').tls).toBe(false);
  expect(redisAddress('rediss://u:p@h:1', '--to')).toMatchObject({ tls: true, hosts: ['h:1'] });
});

test('a backup, and a source that is followed', async () => {
  const how = clientTls({ tls: true, ...flags() });
  const gateway = new Gateway(address, 'default', { how });
  expect(String(await gateway.ask('PING'))).toBe('OK');
  gateway.close();
  const reader = await SocketReader.open(address.host, address.port, how);
  reader.send('PING');
  expect(await reader.line()).toBe('+OK');
  reader.close();
  await expect(SocketReader.open(address.host, address.port, {})).rejects.toThrow(/self-signed/);
});
