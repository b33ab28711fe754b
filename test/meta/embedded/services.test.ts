/** What answers of the embedded store say beside what they were asked for. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Etcd3, type ILeaseKeepAliveResponse, type IWatchResponse } from 'etcd3';
import { expect, test } from 'vitest';
import { startEmbeddedStore } from '../../../src/meta/embedded/server.ts';
import { world } from '../served.ts';
import { HeldDisk } from './held-disk.ts';

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
