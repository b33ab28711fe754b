/** What answers of the embedded store say beside what they were asked for. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { Etcd3, type ILeaseKeepAliveResponse, type IWatchResponse } from 'etcd3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { LocalStore } from '../../../src/meta/embedded/local-store.ts';
import { startEmbeddedStore } from '../../../src/meta/embedded/server.ts';
import { addServices } from '../../../src/meta/embedded/services.ts';
import { connectEtcd } from '../../../src/meta/etcd.ts';
import { world } from '../served.ts';
import { HeldDisk } from './held-disk.ts';
import { put } from './store-life.ts';

test('keep-alives and watches tell no revision that a crash may take back', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'kvorum-meta-'));
  const held = new HeldDisk();
  const listen = { host: '127.0.0.1', port: 0 };
  const server = await startEmbeddedStore({ ...world, disk: held.disk, dir, listen });
  const client = new Etcd3({ hosts: [server.url] });
  const put = (value: string) =>
    client.kv.put({ key: Buffer.from('/a'), value: Buffer.from(value) });
  try {
    const { ID } = await client.leaseClient.leaseGrant({ TTL: 30 });
    const leases = await client.leaseClient.leaseKeepAlive();
    const watches = await client.watchClient.watch();
    const keptAlive = () =>
      new Promise<ILeaseKeepAliveResponse>((resolve) => {
        leases.on('data', resolve);
        leases.write({ ID });
      });
    const watching = () =>
      new Promise<IWatchResponse>((resolve) => {
        watches.on('data', resolve);
        watches.write({ create_request: { key: Buffer.from('/b') } });
      });
    const { header } = await put('1');
    held.hold();
    let answered = false;
    const written = put('2').then((told) => {
      answered = true;
      return told.header.revision;
    });
    await held.reached;
    expect((await keptAlive()).header.revision).toBe(header.revision);
    expect((await watching()).header.revision).toBe(header.revision);
    expect(answered).toBe(false);
    held.release();
    const revision = await written;
    expect(Number(revision)).toBe(Number(header.revision) + 1);
    const { TTL, header: after } = await keptAlive();
    expect([TTL, after.revision]).toEqual(['30', revision]);
    leases.end();
    watches.end();
  } finally {
    held.release();
    client.close();
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  }
});

describe('what the store says of itself is not taken for its absence', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'kvorum-meta-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const connect = (url: string) => connectEtcd({ ...world, urls: [url], timeoutMs: 10_000 });

  test('a disk that failed', async () => {
    const held = new HeldDisk();
    const failures: string[] = [];
    const onFailure = (failure: Error) => failures.push(failure.message);
    const listen = { host: '127.0.0.1', port: 0 };
    const options = { ...world, disk: held.disk, dir, listen, onFailure };
    const server = await startEmbeddedStore(options);
    const client = connect(server.url);
    try {
      await client.put('/a', '1');
      held.fail(new Error('EIO: broken'));
      const told = await refusalOf(client.put('/a', '2'));
      expect(failures).toEqual([
        expect.stringMatching(/EIO: broken.*start this placedriver again$/),
      ]);
      expect(told).toBe(`metadata store at ${server.url}: put /a: 14 UNAVAILABLE: ${failures[0]}`);
      expect(await refusalOf(client.get('/a'))).toContain(failures[0]);
      expect(failures).toHaveLength(1);
    } finally {
      await client.close();
      await server.close();
    }
  });

  test('too much that waits', async () => {
    const held = new HeldDisk();
    const store = await LocalStore.open({ ...world, disk: held.disk, dir });
    const server = new Server();
    addServices(server, store, () => '');
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (failure, bound) =>
        failure ? reject(failure) : resolve(bound),
      ),
    );
    const url = `http://127.0.0.1:${port}`;
    const client = connect(url);
    try {
      held.hold();
      const writing = put(store, '/a', '1');
      await held.reached;
      const reads = Array.from({ length: limits.metaReadsWaitingMax }, () => store.read(() => 1));
      const busy = '8 RESOURCE_EXHAUSTED: too many metadata reads wait for the disk; try again';
      const told = await refusalOf(client.get('/a'));
      expect(told).toBe(`metadata store at ${url}: get /a: ${busy}`);
      held.release();
      await Promise.all([writing, ...reads]);
      expect((await client.get('/a'))?.value).toBe('1');
    } finally {
      held.release();
      await client.close();
      server.forceShutdown();
      await store.close();
    }
  });
});

function refusalOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'it was done',
    (failure: Error) => failure.message,
  );
}
