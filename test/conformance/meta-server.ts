/** A server that is restarted, wiped, or set back to an older copy under its clients. */
import { expect, test } from 'vitest';
import type { LogFields, Logger } from '../../src/common/log.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { encodeRecord, keys } from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { Link } from '../meta/link.ts';
import { world } from '../meta/served.ts';
import { Ledger } from './meta-ledger.ts';

export interface StoppableStore {
  readonly url: string;
  stop(): Promise<void>;
  /** At the same address, on the data it has. */
  start(): Promise<void>;
  /** While stopped: keeps the data aside. */
  save(name: string): void;
  /** While stopped: no data, or what was saved. */
  wipe(saved?: string): void;
  close(): Promise<void>;
}

const CLUSTER = encodeRecord({ ...{ clusterId: 'c1', createdMs: 0 }, version: 1 });
const OTHER = encodeRecord({ ...{ clusterId: 'c2', createdMs: 0 }, version: 1 });
/** Of a call: what stands still for two seconds is not taken for a store that is away. */
const TIMEOUT_MS = 3_000;
const REMEDY = /Nothing is taken from it or written to it.*Bring the right store back; or/;

const connect = (url: string, logger: Logger = world.logger) =>
  connectEtcd({ ...world, logger, urls: [url], timeoutMs: TIMEOUT_MS });

/** Notes what is said at which level. */
function listening() {
  const said: string[] = [];
  const at = (level: string) => (message: string, _fields?: LogFields) => {
    said.push(`${level}: ${message}`);
  };
  const logger: Logger = {
    ...{ debug: () => {}, info: at('info'), warn: at('warn'), error: at('error') },
    child: () => logger,
  };
  return { said, logger };
}

async function untilPut(store: MetaStore, key: string): Promise<number> {
  let revision = 0;
  await expect
    .poll(async () => {
      revision = await store.put(key, 'x').catch(() => 0);
      return revision;
    })
    .toBeGreaterThan(0);
  return revision;
}

const refusal = (why: RegExp) => ({
  code: 'STORE_REPLACED',
  message: expect.stringMatching(new RegExp(`${why.source}.*${REMEDY.source}`)),
});

/** Polls: while the server comes up a call may also find it away. */
async function refusesWith(store: MetaStore, why: RegExp): Promise<void> {
  const failureOf = () =>
    store.get('/w/a').then(
      () => undefined,
      (failure: unknown) => failure,
    );
  await expect.poll(failureOf).toMatchObject(refusal(why));
  for (const call of [
    () => store.put('/w/alien', 'x'),
    () => store.transaction([], [{ type: 'put', key: '/w/alien', value: 'x' }]),
    () => store.delete('/w/a'),
    () => store.range('/w/'),
    () => store.grantLease(2_000),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'STORE_REPLACED' });
  }
}

export function restartSuite(open: () => Promise<StoppableStore>): void {
  test('restarted under its clients it loses no acknowledged change and no lease', async () => {
    const server = await open();
    const store = connect(server.url);
    const ledger = new Ledger();
    ledger.watch(store, '/w/');
    await expect.poll(() => ledger.lists).toBe(1);
    const lease = await store.grantLease(60_000);
    await store.put('/leased', 'x', lease);
    const counts = { acknowledged: 0, failed: 0, longestMs: 0 };
    let counting = true;
    const count = async () => {
      while (counting) {
        const began = performance.now();
        try {
          const item = await store.get('/w/count');
          const { succeeded, revision } = await store.transaction(
            [{ key: '/w/count', modRevision: item?.modRevision ?? 0 }],
            [{ type: 'put', key: '/w/count', value: String(Number(item?.value ?? 0) + 1) }],
          );
          if (succeeded) ledger.wrote('/w/count', revision);
          if (succeeded) counts.acknowledged++;
        } catch (failure) {
          expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE' });
          counts.failed++;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        counts.longestMs = Math.max(counts.longestMs, performance.now() - began);
      }
    };
    const counters = [count(), count(), count()];
    for (let round = 0; round < 3; round++) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await server.stop();
      await new Promise((resolve) => setTimeout(resolve, 300));
      await server.start();
    }
    const resumed = counts.acknowledged;
    await expect.poll(() => counts.acknowledged).toBeGreaterThan(resumed + 10);
    counting = false;
    await Promise.all(counters);
    ledger.wrote('/w/last', await untilPut(store, '/w/last'));
    await expect.poll(() => ledger.state.has('/w/last')).toBe(true);
    const total = Number((await store.get('/w/count'))?.value);
    process.stdout.write(`${JSON.stringify(counts)}, counted ${total}\n`);
    expect(total).toBeGreaterThanOrEqual(counts.acknowledged);
    expect(total).toBeLessThanOrEqual(counts.acknowledged + counts.failed);
    expect([ledger.lost(), ledger.twice, ledger.lists]).toEqual([[], 0, 1]);
    expect(counts.failed).toBeGreaterThan(0);
    expect(counts.longestMs).toBeLessThan(2 * TIMEOUT_MS + 1_000);
    expect(lease.lost.aborted).toBe(false);
    expect((await store.get('/leased'))?.value).toBe('x');
    await store.close();
    await server.close();
  });
}

export function replacedSuite(open: () => Promise<StoppableStore>): void {
  test('wiped: refused with the remedy, untouched, and the right one is taken again', async () => {
    const server = await open();
    const { said, logger } = listening();
    const store = connect(server.url, logger);
    const ledger = new Ledger();
    await store.put(keys.cluster, CLUSTER);
    for (let at = 0; at < 10; at++) await store.put(`/w/${at}`, 'x');
    ledger.watch(store, '/w/');
    await expect.poll(() => ledger.state.size).toBe(10);
    await server.stop();
    server.save('right');
    server.wipe();
    await server.start();
    await refusesWith(store, /(cluster id was \d+ and is \d+|revision was \d+ and went back to 1)/);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect([ledger.lists, ledger.told, ledger.state.size]).toEqual([1, 0, 10]);
    expect(said.filter((line) => line.startsWith('error:'))).toHaveLength(1);
    expect(said.at(-1)).toMatch(REMEDY);
    const newcomer = connect(server.url);
    expect((await newcomer.range('/')).items).toEqual([]);
    await newcomer.close();

    await server.stop();
    server.wipe('right');
    await server.start();
    ledger.wrote('/w/back', await untilPut(store, '/w/back'));
    await expect.poll(() => ledger.state.get('/w/back')).toBe('x');
    expect([ledger.lists, ledger.lost(), ledger.twice]).toEqual([1, [], 0]);
    expect(said.at(-1)).toBe('info: the metadata store is the right one again');
    await store.close();
    await server.close();
  });

  test('begun beside another store, a client of the cluster takes the right one once it is back', async () => {
    const server = await open();
    const first = connect(server.url);
    await first.put(keys.cluster, CLUSTER);
    await first.put('/w/a', 'right');
    await first.close();
    await server.stop();
    server.save('right');
    server.wipe();
    await server.start();
    const { said, logger } = listening();
    const store = connect(server.url, logger);
    store.bind('c1');
    await refusesWith(store, /it holds no \/kvorum\/cluster, and cluster c1 was made long ago/);
    await server.stop();
    server.wipe('right');
    await server.start();
    await untilPut(store, '/w/b');
    expect((await store.get('/w/a'))?.value).toBe('right');
    expect(said.at(-1)).toBe('info: the metadata store is the right one again');
    await store.close();
    await server.close();
  });

  test('set back to an older copy: refused by who knew better, taken by who starts anew', async () => {
    const server = await open();
    const store = connect(server.url);
    await store.put(keys.cluster, CLUSTER);
    await store.put('/w/a', 'old');
    await server.stop();
    server.save('old');
    await server.start();
    await untilPut(store, '/w/b');
    for (let at = 0; at < 10; at++) await store.put('/w/a', 'new');
    let lists = 0;
    store.watch('/w/', { onList: () => lists++, onEvents: () => lists++ });
    await expect.poll(() => lists).toBe(1);
    await server.stop();
    server.wipe('old');
    await server.start();
    await refusesWith(store, /revision was \d+ and went back to \d+/);
    expect(lists).toBe(1);
    const newcomer = connect(server.url);
    newcomer.bind('c1');
    expect((await newcomer.get('/w/a'))?.value).toBe('old');
    expect(await newcomer.get('/w/alien')).toBeUndefined();
    await newcomer.close();
    await store.close();
    await server.close();
  });

  test('made anew, and overtaken before the client is back: the cluster in it tells', async () => {
    const server = await open();
    const link = await Link.open(Number(new URL(server.url).port));
    const store = connect(`http://127.0.0.1:${link.port}`);
    await store.put(keys.cluster, CLUSTER);
    let told = 0;
    store.watch('/w/', { onList: () => told++, onEvents: () => told++ });
    await expect.poll(() => told).toBe(1);
    await link.cut();
    await server.stop();
    server.wipe();
    await server.start();
    const stranger = connect(server.url);
    await untilPut(stranger, '/w/a');
    await stranger.put(keys.cluster, OTHER);
    for (let at = 0; at < 50; at++) await stranger.put('/w/a', String(at));
    link.mend();
    const granted = () =>
      store.grantLease(2_000).then(
        () => undefined,
        (failure: unknown) => failure,
      );
    await expect
      .poll(granted)
      .toMatchObject(refusal(/(cluster id was \d+ and is \d+|it holds cluster c2, not c1)/));
    await refusesWith(store, /(cluster id was|it holds cluster c2, not c1)/);
    expect(told).toBe(1);
    expect(await stranger.get('/w/alien')).toBeUndefined();
    await stranger.close();
    await store.close();
    await link.close();
    await server.close();
  });
}
