/** What every MetaStore must do; run over the store in memory, the embedded one, and a real etcd. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { encodeRecord, keys } from '../../src/meta/schema.ts';
import type { MetaEvent, MetaItem, MetaStore } from '../../src/meta/store.ts';

export interface MetaUnderTest {
  /** A client of its own to the same store. */
  connect(): MetaStore;
  /** The store stands still together with its clients, so no lease ends meanwhile. */
  readonly sharesPauses?: boolean;
  close(): Promise<void>;
}

const WAIT_MS = 10_000;

async function eventually(what: string, condition: () => boolean | Promise<boolean>) {
  const deadline = performance.now() + WAIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The whole process, as under SIGSTOP: no timer runs and no answer is read. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Everything a watch has told, and the state that follows from it. */
function watched(store: MetaStore, prefix: string) {
  const state = new Map<string, string>();
  const events: MetaEvent[] = [];
  const revisions: number[] = [];
  let lists = 0;
  const watch = store.watch(prefix, {
    onList(items: readonly MetaItem[], revision) {
      lists++;
      revisions.push(revision);
      state.clear();
      for (const { key, value } of items) state.set(key, value);
    },
    onEvents(told, revision) {
      revisions.push(revision);
      events.push(...told);
      for (const event of told) {
        if (event.type === 'put') state.set(event.item.key, event.item.value);
        else state.delete(event.key);
      }
    },
  });
  return { state, events, revisions, lists: () => lists, close: () => watch.close() };
}

export function metaSuite(open: () => Promise<MetaUnderTest>): void {
  let meta: MetaUnderTest;
  let store: MetaStore;
  let root: string;
  let clients: MetaStore[];
  let run = 0;

  const another = () => {
    const client = meta.connect();
    clients.push(client);
    return client;
  };

  beforeEach(async () => {
    meta = await open();
    clients = [];
    store = another();
    root = `/suite/${process.pid}-${run++}/`;
  });

  afterEach(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await meta.close();
  });

  test('a key is absent, is put, is put again, is deleted', async () => {
    const key = `${root}a`;
    expect(await store.get(key)).toBeUndefined();
    const first = await store.put(key, 'one');
    expect(await store.get(key)).toEqual({
      key,
      value: 'one',
      createRevision: first,
      modRevision: first,
    });
    const second = await store.put(key, 'two ✓');
    expect(second).toBeGreaterThan(first);
    expect(await store.get(key)).toEqual({
      key,
      value: 'two ✓',
      createRevision: first,
      modRevision: second,
    });
    await store.delete(key);
    expect(await store.get(key)).toBeUndefined();
  });

  test('a range is the keys of a prefix in order, as of one revision', async () => {
    for (const name of ['b/2', 'a', 'b/1', 'c']) await store.put(root + name, name);
    const { items, revision } = await store.range(`${root}b/`);
    expect(items.map(({ value }) => value)).toEqual(['b/1', 'b/2']);
    expect(revision).toBeGreaterThanOrEqual(items[1]!.modRevision);
  });

  test('a transaction applies everything or nothing', async () => {
    const [a, b] = [`${root}a`, `${root}b`];
    const made = await store.transaction(
      [{ key: a, modRevision: 0 }],
      [
        { type: 'put', key: a, value: '1' },
        { type: 'put', key: b, value: '1' },
      ],
    );
    expect(made.succeeded).toBe(true);
    const refused = await store.transaction(
      [
        { key: a, modRevision: made.revision },
        { key: b, modRevision: made.revision - 1 },
      ],
      [{ type: 'put', key: a, value: '2' }],
    );
    expect(refused.succeeded).toBe(false);
    expect((await store.get(a))?.value).toBe('1');
    const done = await store.transaction(
      [{ key: a, createRevision: made.revision }],
      [
        { type: 'put', key: a, value: '3' },
        { type: 'delete', key: b },
      ],
    );
    expect(done.succeeded).toBe(true);
    expect((await store.get(a))?.value).toBe('3');
    expect(await store.get(b)).toBeUndefined();
  });

  test('of many that compare and put one key at once, one wins', async () => {
    const key = `${root}contested`;
    const rivals = [store, another(), another(), another()];
    const results = await Promise.all(
      rivals.map((rival, at) =>
        rival.transaction([{ key, modRevision: 0 }], [{ type: 'put', key, value: String(at) }]),
      ),
    );
    const winners = results.flatMap(({ succeeded }, at) => (succeeded ? [String(at)] : []));
    expect(winners).toHaveLength(1);
    expect((await store.get(key))?.value).toBe(winners[0]);
  });

  test('a watch tells the list, then each change once and in order', async () => {
    await store.put(`${root}w/old`, '0');
    await store.put(`${root}other`, '0');
    const seen = watched(another(), `${root}w/`);
    await eventually('the list', () => seen.lists() === 1);
    expect([...seen.state]).toEqual([[`${root}w/old`, '0']]);
    for (let at = 0; at < 50; at++) await store.put(`${root}w/${at % 7}`, String(at));
    await store.delete(`${root}w/old`);
    await store.put(`${root}other`, '1');
    await eventually('all changes', () => seen.events.length === 51);
    expect(seen.events.slice(0, 50).map((e) => e.type === 'put' && e.item.value)).toEqual(
      Array.from({ length: 50 }, (_, at) => String(at)),
    );
    expect(seen.events[50]).toMatchObject({ type: 'delete', key: `${root}w/old` });
    expect([...seen.revisions].sort((a, b) => a - b)).toEqual(seen.revisions);
    seen.close();
    await store.put(`${root}w/late`, 'x');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen.events).toHaveLength(51);
  });

  test('a watch that was closed is forgotten, with all that it told', async () => {
    await store.put(`${root}f/old`, '0');
    const client = another();
    const follow = async () => {
      const seen = watched(client, `${root}f/`);
      await eventually('the list', () => seen.lists() === 1);
      seen.close();
      return new WeakRef(seen.state);
    };
    const state = await follow();
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    await eventually('nobody holds it', () => {
      gc();
      return state.deref() === undefined;
    });
  });

  test('a watch that begins while others write misses nothing', async () => {
    let writing = true;
    const writes = (async () => {
      for (let at = 0; writing; at++) await store.put(`${root}r/${at % 5}`, String(at));
    })();
    const watches = Array.from({ length: 5 }, () => watched(another(), `${root}r/`));
    await eventually('lists', () => watches.every((seen) => seen.lists() > 0));
    await new Promise((resolve) => setTimeout(resolve, 100));
    writing = false;
    await writes;
    const { items } = await store.range(`${root}r/`);
    const wanted = new Map(items.map(({ key, value }) => [key, value]));
    for (const seen of watches) {
      await eventually('the same state', () =>
        [...wanted].every(([key, value]) => seen.state.get(key) === value),
      );
      seen.close();
    }
  });

  test('keys live with their lease: kept while it is renewed, gone when it is revoked', async () => {
    // what a machine that stands still for two seconds does not end
    const lease = await store.grantLease(4_000);
    const key = `${root}leased`;
    await store.put(key, 'x', lease);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect(lease.lost.aborted).toBe(false);
    expect((await store.get(key))?.value).toBe('x');
    await lease.revoke();
    expect(lease.lost.aborted).toBe(true);
    await eventually('the key is gone', async () => (await store.get(key)) === undefined);
    await expect(store.put(key, 'y', lease)).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  test('the lease of a client that has gone ends, and watches are told', async () => {
    const dying = another();
    const lease = await dying.grantLease(3_000);
    const key = `${root}dying`;
    await dying.put(key, 'x', lease);
    const seen = watched(store, root);
    await eventually('the list', () => seen.state.get(key) === 'x');
    await dying.close();
    await eventually('the key is deleted', () => !seen.state.has(key));
    seen.close();
  });

  test('a lease that ends while its holder stands still is lost to it before it does anything', async () => {
    const key = `${root}paused`;
    const lease = await store.grantLease(2_000);
    await store.put(key, 'x', lease);
    expect(lease.lost.aborted).toBe(false);
    standStill(3_000);
    // in the same turn: nothing was heard from the store, and no timer has run
    expect(lease.lost.aborted).toBe(meta.sharesPauses !== true);
    if (meta.sharesPauses) {
      await store.put(key, 'y', lease);
      expect((await store.get(key))?.value).toBe('y');
      return;
    }
    await expect(store.put(key, 'y', lease)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await eventually('the key is gone', async () => (await store.get(key)) === undefined);
    const next = await another().grantLease(2_000);
    expect(next.lost.aborted).toBe(false);
  });

  test('one candidate is master at a time, and the fence grows', async () => {
    const prefix = `${root}election/`;
    const [first, second] = [another(), another()];
    const [leaseA, leaseB] = [await first.grantLease(30_000), await second.grantLease(30_000)];
    const a = await first.campaign(prefix, 'a', leaseA);
    let b: Awaited<ReturnType<MetaStore['campaign']>> | undefined;
    const waiting = second.campaign(prefix, 'b', leaseB).then((leadership) => {
      b = leadership;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(b).toBeUndefined();
    expect((await store.get(a.key))?.createRevision).toBe(a.revision);
    await a.resign();
    await waiting;
    expect(b!.revision).toBeGreaterThan(0);
    expect(b!.key).not.toBe(a.key);
    const stale = await first.transaction(
      [{ key: a.key, createRevision: a.revision }],
      [{ type: 'put', key: `${root}wanted`, value: 'of a deposed master' }],
    );
    expect(stale.succeeded).toBe(false);
    const fresh = await second.transaction(
      [{ key: b!.key, createRevision: b!.revision }],
      [{ type: 'put', key: `${root}wanted`, value: 'of the master' }],
    );
    expect(fresh.succeeded).toBe(true);
  });

  test('a candidate gives up when it is told to', async () => {
    const prefix = `${root}election/`;
    const lease = await store.grantLease(30_000);
    await store.campaign(prefix, 'a', lease);
    const rival = another();
    const stop = new AbortController();
    const campaign = rival.campaign(prefix, 'b', await rival.grantLease(30_000), stop.signal);
    setTimeout(() => stop.abort(new Error('enough')), 50);
    await expect(campaign).rejects.toMatchObject({ code: 'CANCELLED' });
    expect((await store.range(prefix)).items).toHaveLength(1);
  });

  test('a candidate whose key is taken away is told', async () => {
    const prefix = `${root}election/`;
    await store.campaign(prefix, 'a', await store.grantLease(30_000));
    const rival = another();
    const lease = await rival.grantLease(30_000);
    // expected from the start: it may be told before the call that takes its key is answered
    const told = expect(rival.campaign(prefix, 'b', lease)).rejects.toMatchObject({
      code: 'LEASE_LOST',
    });
    await expect.poll(async () => (await store.range(prefix)).items.length).toBe(2);
    await store.delete(`${prefix}${lease.id}`);
    await told;
    expect(lease.lost.aborted).toBe(false);
  });

  test('what the store must take it takes', async () => {
    const { metaValueBytesMax, metaTxnOperationsMax, metaTxnBytesMax } = limits;
    const large = 'v'.repeat(metaValueBytesMax);
    await store.put(`${root}large`, large);
    expect((await store.get(`${root}large`))?.value).toBe(large);
    const keys = Array.from({ length: metaTxnOperationsMax }, (_, at) => `${root}many/${at}`);
    const bytes = Math.floor(metaTxnBytesMax / keys.length) - 2 * (root.length + 8);
    const { succeeded } = await store.transaction(
      keys.map((key) => ({ key, modRevision: 0 })),
      keys.map((key) => ({ type: 'put', key, value: 'v'.repeat(bytes) })),
    );
    expect(succeeded).toBe(true);
    expect((await store.range(`${root}many/`)).items).toHaveLength(metaTxnOperationsMax);
    await store.delete(`${root}large`);
  });

  test('what is too much is refused before it is sent, with what to do instead', async () => {
    const { metaValueBytesMax, metaTxnOperationsMax, metaKeyBytesMax } = limits;
    const a = `${root}a`;
    const put = (key: string, value = 'x') => ({ type: 'put', key, value }) as const;
    const many = Array.from({ length: metaTxnOperationsMax + 1 }, (_, at) => `${root}${at}`);
    const half = 'v'.repeat(metaValueBytesMax / 2);
    const refused = async (call: Promise<unknown>, text: RegExp) => {
      await expect(call).rejects.toMatchObject({
        code: 'STORE_LIMIT',
        message: expect.stringMatching(text),
      });
    };
    await refused(store.put(a, `${half}${half}x`), /a: 1048577 bytes.*spread the record over/);
    await refused(store.put(`${root}${'k'.repeat(metaKeyBytesMax)}`, 'x'), /shorten it/);
    await refused(store.put('', 'x'), /empty key/);
    await refused(store.delete(''), /empty key/);
    await refused(
      store.transaction(
        [],
        many.map((key) => put(key)),
      ),
      /129 operations.*several transactions/,
    );
    await refused(
      store.transaction(
        many.map((key) => ({ key, modRevision: 0 })),
        [put(a)],
      ),
      /129 compares.*several transactions/,
    );
    await refused(
      store.transaction([], [put(a, half), put(`${a}b`, half), put(`${a}c`, half)]),
      /transaction of \d+ bytes.*several transactions/,
    );
    await refused(store.transaction([], [put(a), put(a, 'y')]), /changes \S*a twice/);
    expect((await store.range(root)).items).toEqual([]);
  });

  test('a client that is bound to a cluster refuses a store that holds another, or none', async () => {
    const record = { version: 1, clusterId: `of-${process.pid}`, createdMs: 0 };
    const bound = another();
    bound.bind(record.clusterId);
    const refusal = {
      code: 'STORE_REPLACED',
      message: expect.stringMatching(
        /wiped.*the data directory of another cluster.*Bring the right store back/,
      ),
    };
    const seen = watched(bound, root);
    await store.put(`${root}a`, '1');
    for (const call of [
      () => bound.get(`${root}a`),
      () => bound.range(root),
      () => bound.put(`${root}b`, '1'),
      () => bound.delete(`${root}a`),
      () => bound.transaction([], [{ type: 'put', key: `${root}b`, value: '1' }]),
      () => bound.grantLease(2_000),
    ]) {
      await expect(call()).rejects.toMatchObject(refusal);
    }
    expect(seen.lists()).toBe(0);
    await store.put(keys.cluster, encodeRecord(record));
    await eventually('the list', () => seen.lists() === 1);
    expect((await bound.range(root)).items.map(({ value }) => value)).toEqual(['1']);
    const stranger = another();
    stranger.bind('elsewhere');
    await expect(stranger.get(`${root}a`)).rejects.toMatchObject({
      code: 'STORE_REPLACED',
      message: expect.stringContaining(`it holds cluster ${record.clusterId}, not elsewhere`),
    });
    await store.delete(keys.cluster);
    seen.close();
  });

  test('a closed client refuses', async () => {
    const client = another();
    await client.close();
    await expect(client.get(`${root}a`)).rejects.toMatchObject({ code: 'STOPPING' });
  });
}
