import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { RESTORE_LEAP, restoreStore } from '../../../src/meta/embedded/restore.ts';
import { type EmbeddedStore, startEmbeddedStore } from '../../../src/meta/embedded/server.ts';
import { emptyImage } from '../../../src/meta/embedded/state.ts';
import { connectEtcd } from '../../../src/meta/etcd.ts';
import { decodeRecord, recordKinds } from '../../../src/meta/records.ts';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { MetaItem, MetaStore } from '../../../src/meta/store.ts';
import { freeStorePort } from '../../ports.ts';
import { world } from '../served.ts';

const cluster = encodeRecord({ version: 1, clusterId: 'c0ffee', createdMs: 1 } as never);
const counters = encodeRecord({ version: 1, nextGroup: 9, nextReplica: 25 } as never);

let dir: string;
let server: EmbeddedStore | undefined;
let client: MetaStore | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kvorum-restore-'));
});

afterEach(async () => {
  await client?.close();
  await server?.close();
  [client, server] = [undefined, undefined];
  rmSync(dir, { recursive: true, force: true });
});

async function serve(name: string, port = 0): Promise<EmbeddedStore> {
  const listen = { host: '127.0.0.1', port };
  server = await startEmbeddedStore({ ...world, disk: fsDisk, dir: join(dir, name), listen });
  return server;
}

function restore(name: string, lost: Parameters<typeof restoreStore>[1]): Promise<void> {
  return restoreStore({ ...world, disk: fsDisk, dir: join(dir, name) }, lost);
}

const kept = [
  { key: keys.cluster, value: cluster },
  { key: keys.counters, value: counters },
  { key: keys.setting('x'), value: 'kept' },
];

describe('a store made anew from what was kept of it', () => {
  test('is the same one for a client that knew it: its watch goes on, nothing goes back', async () => {
    const { port, url } = await serve('old', await freeStorePort());
    const store = connectEtcd({ ...world, urls: [url] });
    client = store;
    for (const { key, value } of kept) await store.put(key, value);
    store.bind('c0ffee');
    const lists: (readonly MetaItem[])[] = [];
    const events: string[] = [];
    store.watch(keys.root, {
      onList: (items) => lists.push(items),
      onEvents: (news) => events.push(...news.map((e) => (e.type === 'put' ? e.item.value : ''))),
    });
    await expect.poll(() => lists.length).toBe(1);
    const revision = await store.put(keys.setting('y'), 'not kept');
    const id = store.identity();
    await server?.close();

    await restore('new', { id, revision, items: kept });
    await serve('new', port);
    await expect.poll(() => lists.length, { timeout: 15_000 }).toBe(2);
    expect(lists[1]?.map((item) => item.key)).toEqual(kept.map((item) => item.key).sort());
    const next = await store.put(keys.setting('z'), 'after');
    expect(next).toBeGreaterThan(revision + RESTORE_LEAP - 1);
    await expect.poll(() => events).toContain('after');
    expect(store.identity()).toBe(id);
  });

  test('gives out no group or replica id again', async () => {
    await restore('new', { id: '77', revision: 5, items: kept });
    const { url } = await serve('new');
    client = connectEtcd({ ...world, urls: [url] });
    const item = await client.get(keys.counters);
    expect(decodeRecord(recordKinds.counters, keys.counters, item!.value)).toEqual({
      version: 1,
      nextGroup: 9 + RESTORE_LEAP,
      nextReplica: 25 + RESTORE_LEAP,
    });
  });

  test('gives out no lease id that the old one may have given out since', async () => {
    await restore('new', { id: '77', revision: 5, items: kept });
    const { url } = await serve('new');
    client = connectEtcd({ ...world, urls: [url] });
    const lease = await client.grantLease(30_000);
    expect(Number(lease.id)).toBeGreaterThan(emptyImage(77).nextLease + RESTORE_LEAP / 4);
  });

  test('is not written where a store is, nor from what names no cluster', async () => {
    await restore('new', { id: undefined, revision: 5, items: kept });
    await expect(restore('new', { id: undefined, revision: 5, items: kept })).rejects.toThrow(
      /holds a metadata store already; start the placedriver on it, or move it away/,
    );
    await expect(restore('other', { id: '1', revision: 5, items: [] })).rejects.toThrow(
      /has no \/kvorum\/cluster/,
    );
  });
});
