/** The doors of a node over TLS, with clients that others made. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { tcpNetwork } from '../../../src/common/tcp.ts';
import { datanodeTlsField } from '../../../src/common/tls/config.ts';
import type { CredentialKeeper } from '../../../src/common/tls/keeper.ts';
import { clientNetwork } from '../../../src/datanode/client-network.ts';
import { Client } from '../../../src/sdk/client.ts';
import {
  authority,
  issued,
  issuedToClient,
  newAuthority,
  writeFiles,
} from '../../common/tls/made-certificates.ts';
import { type Doors, openDoors, RawClient } from './doors.ts';

let dir: string;
let doors: Doors;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-tls-'));
  writeFileSync(join(dir, 'ca.crt'), authority.certificate);
  writeFiles(dir, 'app', issuedToClient('app'));
  writeFiles(dir, 'eve', issuedToClient('app', { by: newAuthority() }));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));
afterEach(() => doors.close());

async function open(section: Record<string, string>): Promise<void> {
  const files = { 'cert-file': 'n1.crt', 'key-file': 'n1.key', 'ca-file': 'ca.crt' };
  const tls = datanodeTlsField.parse({ ...files, ...section });
  const { certificate, key } = issued();
  const current = { certificate, key, authorities: authority.certificate, ends: [] };
  const keeper = { current, daysLeft: () => [] } as Partial<CredentialKeeper> as CredentialKeeper;
  const world = { network: tcpNetwork, clock: systemClock, logger: silentLogger };
  const { network } = clientNetwork(tls, world, keeper, () => doors.server.freeClients);
  const bound = [4, {}, 'slots', Number.POSITIVE_INFINITY, systemClock] as const;
  doors = await openDoors(...bound, { network, tls });
}

async function redisCli(port: number, shows: string | undefined, ...args: string[]) {
  const file = (name: string) => join(dir, name);
  const pair = shows ? ['--cert', file(`${shows}.crt`), '--key', file(`${shows}.key`)] : [];
  const own = ['-h', '127.0.0.1', '-p', String(port), '--tls', '--cacert', file('ca.crt'), ...pair];
  const options = { timeout: 20_000 };
  const { stdout, stderr } = await promisify(execFile)(
    'redis-cli',
    [...own, ...args],
    options,
  ).catch((failure: { stdout: string; stderr: string }) => failure);
  return `${stdout}${stderr}`.trim();
}

const errorOf = (client: RawClient) => client.until((text) => text.includes('\r\n'));

describe('clients of others over TLS', () => {
  test('redis-cli, ioredis and node-redis, beside plain ones, at every port', async () => {
    await open({ clients: 'optional' });
    for (const port of [doors.gateway, doors.cluster, doors.follower]) {
      expect(await redisCli(port, undefined, 'PING')).toBe('PONG');
    }
    const tls = { ca: authority.certificate };
    const one = new Redis({ port: doors.gateway, tls });
    expect(await one.echo('x'.repeat(1_000_000))).toHaveLength(1_000_000);
    expect(await one.config('GET', 'tls-*')).toEqual(
      expect.arrayContaining(['tls-port', String(doors.gateway), 'tls-auth-clients', 'no']),
    );
    one.disconnect();
    const socket = { port: doors.gateway, host: '127.0.0.1', tls: true as const, ...tls };
    const other = createClient({ socket });
    await other.connect();
    expect(await other.ping()).toBe('PONG');
    other.destroy();
    const plain = await RawClient.open(doors.gateway);
    plain.send('PING');
    expect(await errorOf(plain)).toBe('+PONG\r\n');
    plain.socket.destroy();
  });

  test('the SDK, and a subscriber of it', async () => {
    await open({ clients: 'required', 'client-certificates': 'required' });
    const { certificate: cert, key } = issuedToClient('app');
    const tls = { ca: authority.certificate, cert, key };
    const datanodes = [`127.0.0.1:${doors.gateway}`];
    const client = new Client({ datanodes, tls });
    await client.set('a', 'over TLS');
    expect(await client.get('a')).toBe('over TLS');
    const listens = client.subscriber();
    await listens.subscribe('news');
    await listens.close();
    await client.close();
    const plain = new Client({ datanodes, timeoutMs: 2_000 });
    await expect(plain.get('a')).rejects.toThrow('speaks TLS alone: give the option tls');
    plain.disconnect();
    const nobody = new Client({ datanodes, tls: { ca: authority.certificate }, timeoutMs: 2_000 });
    await expect(nobody.get('a')).rejects.toThrow('showed no certificate');
    nobody.disconnect();
  });

  test('a subscriber is told, and a client that reads slowly gets all', async () => {
    await open({ clients: 'required' });
    const tls = { ca: authority.certificate };
    const [listens, tells] = [0, 1].map(() => new Redis({ port: doors.gateway, tls }));
    await listens!.subscribe('news');
    const heard = new Promise((resolve) => listens!.once('message', (_, text) => resolve(text)));
    await tells!.publish('news', 'today');
    expect(await heard).toBe('today');
    const large = 'y'.repeat(500_000);
    const asked = Array.from({ length: 40 }, () => tells!.echo(large));
    const stream = (tells as unknown as { stream: { pause(): void; resume(): void } }).stream;
    stream.pause();
    await new Promise((resolve) => setTimeout(resolve, 200));
    stream.resume();
    expect((await Promise.all(asked)).every((text) => text === large)).toBe(true);
    for (const client of [listens, tells]) client!.disconnect();
  });

  test('plain bytes are answered with what to do, where TLS alone is spoken', async () => {
    await open({ clients: 'required' });
    const plain = await RawClient.open(doors.cluster);
    plain.send('PING');
    expect(await errorOf(plain)).toMatch(/^-ERR this port speaks TLS.*redis-cli --tls/);
    await expect.poll(() => plain.closed).toBe(true);
    expect(await redisCli(doors.cluster, undefined, 'PING')).toBe('PONG');
  });

  test('a handshake where none is spoken is a clear line in the log', async () => {
    await open({});
    expect(await redisCli(doors.gateway, undefined, 'PING')).toMatch(/Could not connect|SSL/);
    expect(doors.warnings[0]).toBe('a client speaks TLS, and this port does not');
  });
});

describe('certificates of clients', () => {
  test('are needed where that is wanted, and who shows none is told', async () => {
    await open({ clients: 'required', 'client-certificates': 'required' });
    expect(await redisCli(doors.gateway, 'app', 'PING')).toBe('PONG');
    expect(await redisCli(doors.gateway, undefined, 'PING')).toMatch(
      /showed no certificate|closed/,
    );
    expect(await redisCli(doors.gateway, 'eve', 'PING')).toMatch(/not signed by|closed/);
    expect(doors.server.info().connectedClients).toBe(0);
  });

  test('name the user, if there is one of that name who is on', async () => {
    await open({
      ...{ clients: 'optional', 'client-certificates': 'optional' },
      'client-certificate-user': 'common-name',
    });
    const whoami = () => redisCli(doors.gateway, 'app', 'ACL', 'WHOAMI');
    expect(await whoami()).toBe('default');
    const admin = await RawClient.open(doors.gateway);
    const set = async (...rules: string[]) => {
      const before = admin.text.length;
      admin.send(['ACL', 'SETUSER', ...rules].join(' '));
      await admin.until((text) => text.length > before);
    };
    await set('app', 'on', '>secret', '+@all', '~*');
    expect(await whoami()).toBe('app');
    expect(await redisCli(doors.gateway, undefined, 'ACL', 'WHOAMI')).toBe('default');
    await set('app', 'off');
    expect(await whoami()).toBe('default');
    await set('default', 'resetpass', '>other');
    expect(await whoami()).toMatch(/^NOAUTH/);
    expect(admin.text).not.toContain('-ERR');
    admin.socket.destroy();
  });
});
