import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { LocalStore } from '../../src/meta/embedded/local-store.ts';
import { addServices } from '../../src/meta/embedded/services.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { SimDisk } from '../sim/disk.ts';
import { world } from './served.ts';

const servers: Server[] = [];
const clients: MetaStore[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const server of servers.splice(0)) server.forceShutdown();
});

async function openStore(): Promise<LocalStore> {
  const random = seededRandom(1);
  const disk = new SimDisk({ random, clock: world.clock });
  return LocalStore.open({ ...world, random, disk, dir: '/meta' });
}

async function serve(store: LocalStore): Promise<string> {
  const server = new Server();
  servers.push(server);
  addServices(server, store, () => '');
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (failure: Error | null, at: number) => (failure ? reject(failure) : resolve(at));
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), bound);
  });
  return `http://127.0.0.1:${port}`;
}

function connect(urls: readonly string[]): MetaStore {
  const client = connectEtcd({ ...world, urls, watchProbeMs: 50 });
  clients.push(client);
  return client;
}

/** A member of the cluster that `store` stands for. */
class Member {
  watches = 0;
  reads = 0;
  readonly store: LocalStore;

  /** `behind`: no entry reaches it any more; its streams stay, and tell of nothing new. */
  constructor(store: LocalStore, behind: boolean) {
    const header = store.durableHeader();
    const told = () => (behind ? header : store.durableHeader());
    const read: LocalStore['read'] = (run) => {
      this.reads++;
      return store.read(run);
    };
    const onDurable = (listener: () => void) => {
      this.watches++;
      return behind ? () => {} : store.onDurable(listener);
    };
    this.store = Object.create(store, {
      durableRevision: { get: () => told().revision },
      durableHeader: { value: told },
      onDurable: { value: onDurable },
      read: { value: read },
      execute: { value: store.execute.bind(store) },
    });
  }
}

test('a watch leaves a member that hears of no changes, and misses none', async () => {
  const store = await openStore();
  const [sound, behind] = [new Member(store, false), new Member(store, true)];
  const urls = [await serve(sound.store), await serve(behind.store)];
  const told: string[][] = [];
  while (behind.watches === 0) {
    const values: string[] = [];
    told.push(values);
    connect(urls).watch('/x/', {
      onList: () => {},
      onEvents: (events) => {
        for (const event of events) if (event.type === 'put') values.push(event.item.value);
      },
    });
    await expect.poll(() => sound.watches + behind.watches).toBe(told.length);
  }
  const writer = connect(urls.slice(0, 1));
  for (const value of ['1', '2', '3']) await writer.put('/x/key', value);
  await expect.poll(() => told).toEqual(told.map(() => ['1', '2', '3']));
});

test('a quiet watch stays where it is while its member keeps up', async () => {
  const member = new Member(await openStore(), false);
  let lists = 0;
  connect([await serve(member.store)]).watch('/x/', { onList: () => lists++, onEvents: () => {} });
  await expect.poll(() => member.reads).toBeGreaterThan(8);
  expect([lists, member.watches]).toEqual([1, 1]);
});
