import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TxnRequest, txnRequestCodec } from '../../src/meta/embedded/messages.ts';
import { message } from '../../src/meta/embedded/wire.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { metaSuite } from '../conformance/meta.ts';
import { linkSuite, replaySuite } from '../conformance/meta-links.ts';
import { replacedSuite, restartSuite } from '../conformance/meta-server.ts';
import { compareRows } from './embedded/compare-rows.ts';
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

  test('a refusal of its own is not taken for its absence', async () => {
    const store = connectEtcd({ ...world, urls: [etcd.url] });
    await expect(store.grantLease(1e13)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(
        /etcdserver: too large lease TTL; the store is there: its log/,
      ),
    });
    await store.close();
  });

  test('compares of ranges as the embedded store does', async () => {
    const store = connectEtcd({ ...world, urls: [etcd.url] });
    for (const key of ['/cmp/a', '/cmp/b']) await store.put(key, 'x');
    await store.close();
    for (const { of, request, succeeds } of compareRows) {
      expect((await ask(etcd.url, request)).succeeded, of).toBe(succeeds);
    }
  });
});

/** Of its answer; ids in the header are larger than ours. */
const outcome = message<{ succeeded: boolean }>({
  succeeded: { number: 2, kind: 'bool' },
});

/** Without etcd3, which knows no compares of ranges. */
async function ask(url: string, request: TxnRequest): Promise<{ succeeded: boolean }> {
  const client = new Client(new URL(url).host, credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest<TxnRequest, { succeeded: boolean }>(
        '/etcdserverpb.KV/Txn',
        (value) => txnRequestCodec.encode(value),
        (bytes) => outcome.decode(bytes),
        request,
        (failure, answer) => (answer ? resolve(answer) : reject(failure)),
      );
    });
  } finally {
    client.close();
  }
}

describe('a real etcd over a link that breaks', () => {
  const open = async () => {
    const etcd = await startEtcd();
    return breakable({ url: etcd.url, close: () => etcd.stop() });
  };
  linkSuite(open);
  replaySuite(open);
});

describe('a real etcd that is killed', () => {
  const open = async () => {
    const etcd = await startEtcd();
    return {
      url: etcd.url,
      stop: () => etcd.kill(),
      start: () => etcd.start(),
      save: (name: string) => etcd.save(name),
      wipe: (saved?: string) => etcd.wipe(saved),
      close: () => etcd.stop(),
    };
  };
  restartSuite(open);
  replacedSuite(open);
});

describe('a real etcd that takes less', () => {
  test('small requests: the refusal names the option', async () => {
    const etcd = await startEtcd('--max-request-bytes', '65536', '--max-txn-ops', '8');
    const store = connectEtcd({ ...world, urls: [etcd.url] });
    await expect(store.put('/a', 'v'.repeat(100_000))).rejects.toMatchObject({
      code: 'STORE_LIMIT',
      message: expect.stringContaining('start etcd with --max-request-bytes 1572864'),
    });
    await expect(store.put('/a', 'v'.repeat(1_000_000))).rejects.toMatchObject({
      code: 'STORE_LIMIT',
      message: expect.stringContaining('start etcd with --max-request-bytes 1572864'),
    });
    const puts = Array.from(
      { length: 9 },
      (_, at) => ({ type: 'put', key: `/${at}`, value: '' }) as const,
    );
    await expect(store.transaction([], puts)).rejects.toMatchObject({
      code: 'STORE_LIMIT',
      message: expect.stringContaining('start etcd with --max-txn-ops 128'),
    });
    await store.close();
    await etcd.stop();
  });

  test('a full disk quota: the failure says how to make room', async () => {
    const etcd = await startEtcd('--quota-backend-bytes', '1000000');
    const store = connectEtcd({ ...world, urls: [etcd.url] });
    // etcd sees what its file takes when it commits, ten times a second: a quick disk comes further
    const fill = async () => {
      for (let at = 0; at < 200; at++) await store.put(`/${at}`, 'v'.repeat(500_000));
    };
    await expect(fill()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/the store is full: .*alarm disarm.*--quota-backend-bytes/),
    });
    expect((await store.get('/0'))?.value.length).toBe(500_000);
    await store.close();
    await etcd.stop();
  });
});

describe('no store', () => {
  test('a call fails and says what to look at', async () => {
    const store = connectEtcd({ ...world, urls: ['http://127.0.0.1:1'] });
    await expect(store.get('/a')).rejects.toThrow(
      /metadata store at http:\/\/127.0.0.1:1: get \/a: .*; is a placedriver \(or etcd\) running/,
    );
    await store.close();
  });

  test('a call that nobody answers fails in its time', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const stores = [undefined, 300].map((timeoutMs) =>
      connectEtcd({ ...world, urls: [url], ...(timeoutMs !== undefined && { timeoutMs }) }),
    );
    // the order of the two tells it on any machine: each fails when its own time is over
    const failed = stores.map((store, at) => store.get('/a').catch(() => at));
    expect(await Promise.race(failed)).toBe(1);
    for (const socket of sockets) socket.destroy();
    silent.close();
    for (const store of stores) await store.close();
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
