/** A real etcd and the embedded store, over TLS of both sides. */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { limits } from '../../src/common/limits.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import type { ShownCredentials } from '../../src/common/tls/credentials.ts';
import { type EmbeddedStore, startEmbeddedStore } from '../../src/meta/embedded/server.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { TestAuthority } from '../common/tls/authority.ts';
import { writeFiles } from '../common/tls/made-certificates.ts';
import { freeStorePort } from '../ports.ts';

const authority = new TestAuthority();
const own = authority.issue('node');
const foreign = new TestAuthority().issue('node');
const world = { clock: systemClock, random: seededRandom('tls'), logger: silentLogger };

/** As files that are read anew are kept. */
class Kept {
  current: ShownCredentials;
  readonly listeners = new Set<() => void>();

  constructor(first: ShownCredentials) {
    this.current = first;
  }

  onRenewed(listener: () => void) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  renew(current: ShownCredentials): void {
    this.current = current;
    for (const listener of this.listeners) listener();
  }
}

const dir = mkdtempSync(join(tmpdir(), 'kvorum-etcd-tls-'));
let etcd: ReturnType<typeof spawn>;
let embedded: EmbeddedStore;
const served = new Kept(own);
const urls: Record<string, string> = {};
const files = () => [
  ...['--cacert', join(dir, 'ca.crt'), '--cert', join(dir, 'node.crt')],
  ...['--key', join(dir, 'node.key'), '--endpoints', urls['etcd']!],
];

beforeAll(async () => {
  writeFiles(dir, 'ca', authority.pair);
  writeFiles(dir, 'node', own);
  const port = await freeStorePort();
  const url = `https://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${port + 1}`;
  etcd = spawn(
    'etcd',
    [
      ...['--data-dir', join(dir, 'etcd'), '--name', 'test', '--log-level', 'error'],
      ...['--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', `test=${peer}`, '--client-cert-auth'],
      ...['--cert-file', join(dir, 'node.crt'), '--key-file', join(dir, 'node.key')],
      ...['--trusted-ca-file', join(dir, 'ca.crt')],
    ],
    { stdio: 'ignore' },
  );
  urls['etcd'] = url;
  const listen = { host: '127.0.0.1', port: 0 };
  const tls = served;
  const place = { disk: fsDisk, dir: join(dir, 'meta'), listen, tls, onFailure() {} };
  embedded = await startEmbeddedStore({ ...world, ...place });
  urls['embedded store'] = embedded.url;
  await eventually('etcd answers', async () => {
    const store = connectTo('etcd');
    await store.get('x').finally(() => store.close());
    return true;
  });
}, 90_000);

afterAll(async () => {
  await embedded?.close();
  etcd?.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

async function eventually(what: string, look: () => Promise<boolean>): Promise<void> {
  const untilMs = Date.now() + 60_000;
  while (!(await look().catch(() => false))) {
    if (Date.now() > untilMs) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function connectTo(
  kind: string,
  shown: Partial<ShownCredentials> = own,
  auth?: { user: string; password: string },
) {
  return connectWith(kind, { current: shown }, 5_000, auth);
}

function connectWith(
  kind: string,
  credentials: { readonly current: Partial<ShownCredentials> },
  timeoutMs: number,
  auth?: { user: string; password: string },
) {
  const access = { credentials, ...(auth && { auth }) };
  return connectEtcd({ ...world, ...access, urls: [urls[kind]!], timeoutMs });
}

describe.each(['etcd', 'embedded store'])('the %s', (kind) => {
  test('is written, read, watched and leased', async () => {
    const store = connectTo(kind);
    expect(urls[kind]).toMatch(/^https:/);
    const heard: string[] = [];
    const watch = store.watch('/kvorum/tls/', {
      onList: () => heard.push('list'),
      onEvents: () => heard.push('events'),
    });
    await expect.poll(() => heard).toEqual(['list']);
    const lease = await store.grantLease(10_000);
    await store.put('/kvorum/tls/a', 'b', lease);
    expect((await store.get('/kvorum/tls/a'))?.value).toBe('b');
    await expect.poll(() => heard).toContain('events');
    watch.close();
    await store.close();
  });

  test.each([
    ['shows no certificate', { authorities: authority.certificate }],
    ['shows one of another authority', { ...foreign, authorities: authority.certificate }],
    ['believes another authority', { ...own, authorities: foreign.authorities }],
  ])('is not reached by who %s', async (_, credentials) => {
    const store = connectTo(kind, credentials);
    await expect(store.get('x')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.close();
  });

  test('is shown what was renewed, by the next call, and streams that stand go on', async () => {
    const kept = new Kept(own);
    const store = connectWith(kind, kept, 500);
    const heard: string[] = [];
    const watch = store.watch('/kvorum/renewed/', {
      onList: () => heard.push('list'),
      onEvents: (events) => heard.push(...events.map(({ type }) => type)),
    });
    await expect.poll(() => heard).toEqual(['list']);
    kept.renew(foreign);
    await expect(store.get('x')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    // the client of before is closed after two deadlines; only who opens a stream now is refused
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    const other = connectTo(kind);
    await other.put('/kvorum/renewed/a', 'b');
    await expect.poll(() => heard).toEqual(['list', 'put']);
    kept.renew(authority.issue('node'));
    // the handshake may take longer than one call has, and a put that failed may have been made
    const answer = () => store.get('x').catch(({ code }) => code);
    await expect.poll(answer).toBeUndefined();
    await other.put('/kvorum/renewed/a', 'c');
    await expect.poll(() => heard).toEqual(['list', 'put', 'put']);
    watch.close();
    await Promise.all([store.close(), other.close()]);
  });
});

test('the embedded store shows and believes what was renewed, and streams that stand go on', async () => {
  const before = connectTo('embedded store');
  const heard: string[] = [];
  const watch = before.watch('/kvorum/served/', {
    onList: () => heard.push('list'),
    onEvents: () => heard.push('events'),
  });
  await expect.poll(() => heard).toEqual(['list']);
  const next = new TestAuthority();
  const shown = next.issue('node');
  served.renew(shown);
  const after = connectTo('embedded store', shown);
  await after.put('/kvorum/served/a', 'b');
  await expect.poll(() => heard).toEqual(['list', 'events']);
  const late = connectTo('embedded store');
  await expect(late.get('x')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  watch.close();
  served.renew(own);
  expect((await late.get('/kvorum/served/a'))?.value).toBe('b');
  await Promise.all([before.close(), after.close(), late.close()]);
});

test('who connects to the embedded store and says nothing makes room, and goes soon', async () => {
  const { port, hostname } = new URL(urls['embedded store']!);
  const closed: number[] = [];
  const most = limits.peerTlsHandshakesMax;
  const silent = Array.from({ length: most + 3 }, (_, at) => {
    const socket = connect(Number(port), hostname);
    return socket.on('error', () => {}).once('close', () => closed.push(at));
  });
  // clients of the tests before may connect again meanwhile, and make more room
  await expect.poll(() => closed.length).toBeGreaterThanOrEqual(3);
  expect(closed.length).toBeLessThan(20);
  const store = connectTo('embedded store');
  await store.put('/kvorum/beside', 'them');
  const within = { timeout: 2 * limits.peerTlsHandshakeMs };
  await expect.poll(() => closed.length, within).toBe(silent.length);
  expect((await store.get('/kvorum/beside'))?.value).toBe('them');
  await store.close();
}, 30_000);

test('an etcd with authentication is asked as the user that is configured', async () => {
  const ctl = (...args: string[]) =>
    promisify(execFile)('etcdctl', [...files(), ...args], {
      env: { ...process.env, ETCDCTL_API: '3' },
    });
  await ctl('user', 'add', 'root:secret');
  await ctl('user', 'grant-role', 'root', 'root');
  await ctl('auth', 'enable');
  const nobody = connectTo('etcd');
  await expect(nobody.get('x')).rejects.toThrow();
  await nobody.close();
  const store = connectTo('etcd', own, { user: 'root', password: 'secret' });
  await store.put('/kvorum/x', 'y');
  expect((await store.get('/kvorum/x'))?.value).toBe('y');
  await store.close();
}, 30_000);
