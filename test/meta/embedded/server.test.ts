import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { type EmbeddedStore, startEmbeddedStore } from '../../../src/meta/embedded/server.ts';
import { connectEtcd } from '../../../src/meta/etcd.ts';
import { metaSuite } from '../../conformance/meta.ts';
import { linkSuite, replaySuite } from '../../conformance/meta-links.ts';
import { replacedSuite, restartSuite } from '../../conformance/meta-server.ts';
import { freeStorePort } from '../../ports.ts';
import { breakable, etcdctl, world } from '../served.ts';

let dir: string;
const start = (port = 0) =>
  startEmbeddedStore({ ...world, disk: fsDisk, dir, listen: { host: '127.0.0.1', port } });
const connect = (url: string) => connectEtcd({ ...world, urls: [url], timeoutMs: 10_000 });

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-meta-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

describe('the embedded store', () => {
  metaSuite(async () => {
    const server = await start();
    return { connect: () => connect(server.url), close: () => server.close() };
  });

  test('a restart keeps data, revisions and leases', async () => {
    const first = await start(await freeStorePort());
    const store = connect(first.url);
    const lease = await store.grantLease(30_000);
    await store.put('/kept', 'a');
    const revision = await store.put('/leased', 'b', lease);
    await first.close();
    const second = await start(first.port);
    await expect
      .poll(() => store.get('/kept').catch(() => undefined))
      .toMatchObject({
        value: 'a',
      });
    expect((await store.get('/leased'))?.modRevision).toBe(revision);
    expect(lease.lost.aborted).toBe(false);
    await lease.revoke();
    expect(await store.get('/leased')).toBeUndefined();
    expect(await store.put('/next', 'c')).toBeGreaterThan(revision);
    await store.close();
    await second.close();
  });
});

describe('the embedded store over a link that breaks', () => {
  const open = async () => breakable(await start());
  linkSuite(open);
  replaySuite(open);
});

describe('the embedded store that is stopped', () => {
  const open = async () => {
    let running: EmbeddedStore | undefined = await start(await freeStorePort());
    const { port, url } = running;
    return {
      url,
      async stop() {
        await running?.close();
        running = undefined;
      },
      async start() {
        running = await start(port);
      },
      save: (name: string) => cpSync(dir, `${dir}-${name}`, { recursive: true }),
      wipe(saved?: string) {
        rmSync(dir, { recursive: true });
        if (saved) cpSync(`${dir}-${saved}`, dir, { recursive: true });
      },
      async close() {
        await running?.close();
        for (const name of ['right', 'old'])
          rmSync(`${dir}-${name}`, { recursive: true, force: true });
      },
    };
  };
  restartSuite(open);
  replacedSuite(open);
});

describe('etcdctl', () => {
  test('puts, gets, deletes, grants leases and tells the status', async () => {
    const { url, close } = await start();
    expect(await etcdctl(url, 'put', '/a', '1')).toBe('OK\n');
    await etcdctl(url, 'put', '/b', '2');
    expect(await etcdctl(url, 'get', '--prefix', '/')).toBe('/a\n1\n/b\n2\n');
    expect(await etcdctl(url, 'get', '--prefix', '--keys-only', '/')).toContain('/a\n');
    expect(await etcdctl(url, 'del', '/a')).toBe('1\n');
    expect(await etcdctl(url, 'lease', 'grant', '60')).toMatch(
      /^lease \w+ granted with TTL\(60s\)/,
    );
    // With a scheme etcdctl 3.4 makes it part of HTTP/2's authority, which node:http2 refuses.
    const address = new URL(url).host;
    expect(await etcdctl(address, 'endpoint', 'status')).toContain(address);
    await close();
  });

  test('watches', async () => {
    const { url, close } = await start();
    const store = connect(url);
    const child = spawn('etcdctl', ['--endpoints', url, 'watch', '--prefix', '/w/'], {
      env: { ...process.env, ETCDCTL_API: '3' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await expect
      .poll(
        async () => {
          await store.put('/w/key', 'value');
          return output;
        },
        { timeout: 30_000 },
      )
      .toContain('PUT\n/w/key\nvalue\n');
    child.kill('SIGKILL');
    await store.close();
    await close();
  });
});
