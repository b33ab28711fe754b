import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { metaSuite } from '../conformance/meta.ts';
import { linkSuite, replaySuite } from '../conformance/meta-links.ts';
import { type EtcdProcess, startEtcd } from './etcd-process.ts';
import { breakable, world } from './served.ts';

describe('a real etcd', () => {
  let etcd: EtcdProcess;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  metaSuite(async () => ({
    connect: () => connectEtcd({ ...world, urls: [etcd.url] }),
    close: async () => {},
  }));
});

describe('a real etcd over a link that breaks', () => {
  const open = async () => {
    const etcd = await startEtcd();
    return breakable({ url: etcd.url, close: () => etcd.stop() });
  };
  linkSuite(open);
  replaySuite(open);
});

describe('no store', () => {
  test('a call fails in its time and says what to look at', async () => {
    const store = connectEtcd({ ...world, urls: ['http://127.0.0.1:1'], timeoutMs: 300 });
    const began = performance.now();
    await expect(store.get('/a')).rejects.toThrow(
      /metadata store at http:\/\/127.0.0.1:1: get \/a: .*; is a placedriver \(or etcd\) running/,
    );
    expect(performance.now() - began).toBeLessThan(3_000);
    await store.close();
  });

  test('a watch waits for it', async () => {
    const etcd = await startEtcd();
    const store = connectEtcd({ ...world, urls: [etcd.url], timeoutMs: 500 });
    let lists = 0;
    store.watch('/x/', { onList: () => lists++, onEvents: () => {} });
    await expect.poll(() => lists).toBe(1);
    await etcd.stop();
    await expect(store.put('/x/a', '1')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.close();
  });
});
