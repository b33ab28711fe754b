/** What a watch does when who listens fails. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type EmbeddedStore, startEmbeddedStore } from '../../src/meta/embedded/server.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import type { MetaItem, MetaStore } from '../../src/meta/store.ts';
import { HeldDisk } from './embedded/held-disk.ts';
import { world } from './served.ts';

let dir: string;
let server: EmbeddedStore;
let store: MetaStore;
const errors: string[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-meta-'));
  errors.length = 0;
  const listen = { host: '127.0.0.1', port: 0 };
  server = await startEmbeddedStore({ ...world, disk: new HeldDisk().disk, dir, listen });
  const logger = { ...world.logger, error: (text: string) => errors.push(text) };
  store = connectEtcd({ ...world, logger, urls: [server.url] });
});

afterEach(async () => {
  await store.close();
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

test.each(['list', 'events'])('who fails at the %s is told all of it anew', async (what) => {
  await store.put('/a/1', 'one');
  let lists = 0;
  let failing = true;
  const failOnce = (told: string) => {
    if (told !== what || !failing) return;
    failing = false;
    throw new Error('a handler that fails');
  };
  const taken = new Map<string, string>();
  const take = ({ key, value }: MetaItem) => taken.set(key, value);
  store.watch('/a/', {
    onList: (items) => {
      lists++;
      failOnce('list');
      items.forEach(take);
    },
    onEvents: (events) => {
      failOnce('events');
      for (const event of events) if (event.type === 'put') take(event.item);
    },
  });
  await expect.poll(() => lists).toBe(what === 'list' ? 2 : 1);
  await store.put('/a/2', 'two');
  await expect.poll(() => taken.size).toBe(2);
  await store.put('/a/3', 'three');
  await expect.poll(() => [...taken.values()]).toEqual(['one', 'two', 'three']);
  expect([lists, failing]).toEqual([2, false]);
  expect(errors).toEqual(['what the metadata store told could not be taken; it is read anew']);
});
