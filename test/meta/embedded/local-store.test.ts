import { describe, expect, test } from 'vitest';
import { crc32 } from '../../../src/common/checksum.ts';
import { messageOf } from '../../../src/common/errors.ts';
import { limits } from '../../../src/common/limits.ts';
import {
  decodeBatch,
  encodeBatch,
  encodeLogHeader,
  LOG_HEADER_BYTES,
} from '../../../src/meta/embedded/format.ts';
import { putRequestCodec, txnRequestCodec } from '../../../src/meta/embedded/messages.ts';
import { compact, contentsOf, grant, put, rangeOf, StoreLife } from './store-life.ts';

const noPut = putRequestCodec.decode(Buffer.alloc(0));

describe('durability', () => {
  test('after crashes everything answered is there, and the rest in the order it came', async () => {
    let crashesWithLoss = 0;
    for (let seed = 0; seed < 60; seed++) {
      const life = new StoreLife(`crash ${seed}`);
      let first = 0;
      for (let round = 0; round < 4; round++) {
        const store = await life.open();
        let answered = first;
        let sent = first;
        const burst = 1 + life.random.below(20);
        for (let at = 0; at < burst; at++) {
          const number = ++sent;
          put(store, '/last', String(number)).then(
            () => {
              answered = Math.max(answered, number);
            },
            () => {},
          );
          if (life.random.below(3) === 0) await life.pass(life.random.float() * 2);
        }
        life.crash(life.random.below(3) === 0 ? 'process' : 'os');
        const again = await life.open();
        const kept = Number(contentsOf(again)['/last'] ?? 0);
        expect(kept, `seed ${seed} round ${round}`).toBeGreaterThanOrEqual(answered);
        expect(kept).toBeLessThanOrEqual(sent);
        expect(again.state.revision).toBe(1 + kept);
        if (kept < sent) crashesWithLoss++;
        first = kept;
        await life.until(again.close());
      }
    }
    expect(crashesWithLoss).toBeGreaterThan(10);
  });

  test('a log that has grown is replaced by a snapshot, through crashes at any point', async () => {
    const value = Buffer.alloc(limits.metaValueBytesMax - 1, 'v');
    const puts = Math.ceil(limits.metaLogBytes / value.length) + 3;
    for (let seed = 0; seed < 6; seed++) {
      const life = new StoreLife(`rotation ${seed}`);
      const store = await life.open();
      let answered = 0;
      const work = (async () => {
        for (let at = 1; at <= puts; at++) {
          await put(store, `/${at % 2}`, value);
          await put(store, '/last', String(at));
          answered = at;
        }
      })();
      work.catch(() => {});
      await life.scheduler.runUntil(() => answered >= puts - 4, 60_000);
      await life.pass(life.random.float() * 12);
      life.crash('os');
      const again = await life.open();
      const kept = Number(contentsOf(again)['/last']);
      expect(kept === answered || kept === answered + 1, `${kept} of ${answered}`).toBe(true);
      await life.until(again.close());
    }
    const life = new StoreLife('rotation');
    const store = await life.open();
    for (let at = 0; at < puts; at++) await life.put(store, `/${at % 2}`, value);
    await life.until(store.close());
    expect(await life.names()).toEqual(['log-2', 'snapshot-2']);
    const again = await life.open();
    expect(again.state.revision).toBe(1 + puts);
    await life.until(again.close());
  });

  test('nor is the new log lost, whenever the power goes while it takes the place of the old one', async () => {
    const value = Buffer.alloc(limits.metaValueBytesMax - 1, 'v');
    const first = new StoreLife('full');
    const full = await first.open();
    while ((await first.bytesOf('log-1')).length < limits.metaLogBytes) {
      await first.put(full, '/a', value);
    }
    await first.until(full.close());
    const files = first.disk.copy();
    for (let seed = 0; seed < 30; seed++) {
      const life = new StoreLife(`replaced ${seed}`);
      life.disk.putBack(files);
      const store = await life.open();
      put(store, '/b', 'rotates').catch(() => {});
      // it takes 5 ms, and then nothing is written
      await life.pass(seed * 0.2);
      life.crash('os');
      const again = await life.open();
      expect(contentsOf(again)['/a']).toHaveLength(value.length);
      await life.until(again.close());
    }
  });

  test('what was shown after a restart is there after the next, synced before or not', async () => {
    let shown = 0;
    for (let seed = 0; seed < 20; seed++) {
      const life = new StoreLife(`shown ${seed}`);
      const store = await life.open();
      await life.put(store, '/a', '1');
      put(store, '/b', '2').catch(() => {});
      // written, and the sync is under way
      await life.pass(0.3);
      life.crash('process');
      const before = contentsOf(await life.open());
      if ('/b' in before) shown++;
      life.crash('os');
      const again = await life.open();
      expect(contentsOf(again), `seed ${seed}`).toEqual(before);
      await life.until(again.close());
    }
    expect(shown).toBeGreaterThan(10);
  });

  test('a log that is written to is not marked; once it is idle it is, once', async () => {
    const life = new StoreLife('marks');
    const store = await life.open();
    const size = async () => (await life.bytesOf('log-1')).length;
    const grown = async (waitMs: number) => {
      const before = await size();
      for (let at = 0; at < 20; at++) {
        await life.put(store, '/a', '1');
        await life.pass(waitMs);
      }
      return (await size()) - before;
    };
    expect(await grown(20)).toBe(await grown(0));
    await life.pass(100);
    const marked = await size();
    await life.pass(1_000);
    expect(await size()).toBe(marked);
    await life.until(store.close());
    expect(await size()).toBe(marked);
    await expect(put(store, '/a', '2')).rejects.toMatchObject({ code: 'STOPPING' });
  });

  test('what was accepted while history reached behind the snapshot is accepted after a restart', async () => {
    const life = new StoreLife('behind the snapshot');
    const store = await life.open();
    const value = Buffer.alloc(limits.metaValueBytesMax - 1, 'v');
    const puts = Math.ceil(limits.metaLogBytes / value.length) + 1;
    for (let at = 0; at < puts; at++) await life.put(store, `/${at % 2}`, value);
    expect(await life.names()).toEqual(['log-2', 'snapshot-2']);
    const { revision } = store.state;
    await life.put(store, '/last', '1');
    const range = rangeOf('/0', '', { revision: revision - 6 });
    const key = Buffer.from('/last');
    const putOf = { put: { ...noPut, key, value: Buffer.from('2') } };
    const txn = { success: [{ range }, putOf, { range }] };
    const { result } = await life.until(store.execute('transaction', txnRequestCodec.encode(txn)));
    expect(result.responses[0]?.range?.kvs[0]?.modRevision).toBeLessThan(revision - 5);
    await life.until(compact(store, revision - 4));
    // of what is forgotten already, and of what is not
    await expect(compact(store, revision - 5)).rejects.toMatchObject({ refusal: 'compacted' });
    await life.until(compact(store, revision + 1));
    await life.put(store, '/last', '3');
    life.crash('os');
    const again = await life.open();
    expect(contentsOf(again)['/last']).toBe('3');
    expect(again.state.revision).toBe(revision + 3);
    const past = (at: number) => again.state.range(rangeOf('/last', '', { revision: at }));
    expect(() => past(revision)).toThrow('compacted');
    expect(past(revision + 2).kvs[0]?.value.toString()).toBe('2');
    await life.until(again.close());
  });

  test('a read beside a write is answered without waiting for another write', async () => {
    const life = new StoreLife('read');
    const store = await life.open();
    for (let at = 0; at < 30; at++) {
      const writing = put(store, '/a', String(at));
      // the write is under way, and what follows it is the mark of an idle log
      await life.pass(at < 15 ? at * 0.1 : 50 + (at - 15) * 0.1);
      const before = life.scheduler.nowMs;
      const { result } = await life.until(store.read((state) => state.range(rangeOf('/a'))));
      expect(result.kvs[0]?.value.toString()).toBe(String(at));
      expect(life.scheduler.nowMs - before).toBeLessThan(5);
      await life.until(writing);
    }
    await life.until(store.close());
  });

  test('a disk that fails refuses what was not durable, and everything after it', async () => {
    const life = new StoreLife('EIO');
    const store = await life.open();
    await life.put(store, '/a', '1');
    life.disk.failNext('fdatasync');
    const failed = { code: 'DISK_FAILED', message: expect.stringMatching(/driver\/meta.*EIO/) };
    await expect(life.put(store, '/a', '2')).rejects.toMatchObject(failed);
    await expect(life.put(store, '/a', '3')).rejects.toMatchObject(failed);
    await expect(life.until(store.read((state) => state.revision))).rejects.toMatchObject(failed);
    expect(store.durableRevision).toBe(2);
    expect(life.failures).toMatchObject([failed]);
    expect(life.failures[0]?.message).toMatch(/replace the disk, then start this placedriver/);
    await life.until(store.close());
    expect(life.failures).toHaveLength(1);
  });

  test('a disk that fails while the idle log is marked is told of as well', async () => {
    const life = new StoreLife('mark');
    const store = await life.open();
    await life.put(store, '/a', '1');
    life.disk.failNext('pwrite');
    await life.pass(100);
    expect(life.failures).toMatchObject([{ code: 'DISK_FAILED' }]);
    await life.until(store.close());
  });

  test('leases that expire are not removed again and again on a disk that failed', async () => {
    const life = new StoreLife('expired');
    const store = await life.open();
    await life.until(grant(store, 7, 10));
    store.leases.start(7, 10_000);
    life.disk.failNext('fdatasync');
    await expect(life.put(store, '/a', '1')).rejects.toMatchObject({ code: 'DISK_FAILED' });
    let tries = 0;
    store.leases.tellAgain = () => tries++;
    await life.pass(60_000);
    expect([tries, life.failures.length]).toEqual([0, 1]);
    await life.until(store.close());
  });

  test('a disk that does not answer has failed after 20 s, not before', async () => {
    const life = new StoreLife('stall');
    const store = await life.open();
    await life.put(store, '/a', '1');
    await life.pass(100);
    // a write takes some 6 s, and a sync then half a minute
    life.disk.slow(60_000);
    const writing = put(store, '/a', '2');
    const reading = store.read((state) => state.revision);
    let refused = 0;
    for (const one of [writing, reading]) one.catch(() => refused++);
    await life.pass(19_000);
    expect([life.failures.length, refused]).toEqual([0, 0]);
    await life.pass(4_000);
    expect(life.failures).toMatchObject([
      { code: 'DISK_FAILED', message: expect.stringMatching(/driver\/meta.*no answer for 20 s/) },
    ]);
    expect(refused).toBe(2);
    await expect(put(store, '/a', '3')).rejects.toBe(life.failures[0]);
    // the answer comes after all: it changes nothing any more
    await life.pass(60_000);
    expect([store.durableRevision, life.failures.length]).toEqual([2, 1]);
    life.disk.slow(1);
    await life.until(store.close());
  });

  test('a full disk: a restart serves what was answered, and writes again once there is room', async () => {
    const life = new StoreLife('ENOSPC');
    const store = await life.open();
    await life.put(store, '/a', '1');
    const taken = life.disk.files().reduce((sum, { size }) => sum + size, 0);
    life.disk.fullAfterBytes(taken + 300);
    await expect(life.put(store, '/a', Buffer.alloc(1_000))).rejects.toThrow(/ENOSPC.*make room/);
    expect(life.failures).toHaveLength(1);
    life.crash('process');
    const again = await life.open();
    const { result } = await life.until(again.read((state) => state.range(rangeOf('/a'))));
    expect(result.kvs[0]?.value.toString()).toBe('1');
    await expect(life.put(again, '/a', Buffer.alloc(1_000))).rejects.toThrow('ENOSPC');
    life.crash('process');
    life.disk.fullAfterBytes(Number.POSITIVE_INFINITY);
    const third = await life.open();
    await life.put(third, '/a', Buffer.alloc(1_000, '2'));
    expect(contentsOf(third)['/a']).toBe('2'.repeat(1_000));
    expect(life.failures).toHaveLength(2);
    await life.until(third.close());
  });

  test('reads beyond the bound are refused while they wait; writes are not, and all are answered', async () => {
    const life = new StoreLife('reads');
    const store = await life.open();
    life.disk.slow(2_000);
    const writing = put(store, '/a', '1');
    const read = () => store.read((state) => state.revision);
    const reads = Array.from({ length: limits.metaReadsWaitingMax - 1 }, read);
    await expect(read()).rejects.toMatchObject({
      code: 'BUSY',
      message: expect.stringMatching('reads wait'),
    });
    const next = put(store, '/a', '2');
    const { result } = await life.until(next);
    expect(result).toEqual({});
    await writing;
    for (const one of await Promise.all(reads)) expect(one.result).toBe(2);
    await life.until(read());
    await life.until(store.close());
  });

  test.each([
    ['number', limits.metaWritesWaitingMax, 1],
    ['bytes', limits.metaLogBatchBytesMax / limits.metaValueBytesMax, limits.metaValueBytesMax],
  ])(
    'writes beyond the bound of %s are refused, and those before are done',
    async (_, most, bytes) => {
      const life = new StoreLife('writes');
      const store = await life.open();
      const value = Buffer.alloc(bytes);
      const writing = Array.from({ length: most }, (_, at) => put(store, `/${at % 8}`, value));
      const { revision } = store.state;
      await expect(put(store, '/x', value)).rejects.toMatchObject({
        code: 'BUSY',
        message: expect.stringMatching('writes wait'),
      });
      expect(store.state.revision).toBe(revision);
      await life.until(Promise.all(writing));
      await life.put(store, '/x', 'later');
      await life.until(store.close());
    },
  );

  test('compares that change nothing are refused too when too many wait', async () => {
    const life = new StoreLife('compares');
    const store = await life.open();
    life.disk.slow(2_000);
    const writing = put(store, '/a', '1');
    const payload = txnRequestCodec.encode({ compare: [], success: [], failure: [] });
    const compare = () => store.execute('transaction', payload);
    const most = limits.metaReadsWaitingMax + limits.metaWritesWaitingMax;
    const waiting = Array.from({ length: most - 1 }, compare);
    await expect(compare()).rejects.toMatchObject({ code: 'BUSY' });
    await life.until(writing);
    await life.until(Promise.all(waiting));
    await life.until(store.close());
  });
});

describe('damage', () => {
  const remedy =
    'restore the metadata directory from a copy, or move driver/meta away and make it anew from ' +
    'what the datanodes keep: kvorum meta restore --help';

  /** Two batches and the mark of a proper end. */
  async function written() {
    const life = new StoreLife('damage');
    const store = await life.open();
    await life.put(store, '/a', 'first');
    const firstEnds = (await life.bytesOf('log-1')).length;
    await life.put(store, '/b', 'second');
    const secondEnds = (await life.bytesOf('log-1')).length;
    return { life, store, firstEnds, secondEnds };
  }
  const refusal = async (life: StoreLife) => {
    const failure = await life.open().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ code: 'CORRUPT' });
    return messageOf(failure);
  };

  test('in the middle of the log is refused with file, offset and remedy', async () => {
    const { life, store, firstEnds } = await written();
    await life.until(store.close());
    life.disk.flip('driver/meta/log-1', firstEnds + 20);
    const before = await life.bytesOf('log-1');
    expect(await refusal(life)).toBe(
      `driver/meta/log-1: a damaged batch at offset ${firstEnds}; ${remedy}`,
    );
    expect(await life.bytesOf('log-1')).toEqual(before);
  });

  test.each([
    ['EACCES', 'open'],
    ['EISDIR', 'pread'],
  ] as const)(
    'is not what this process may not read, which is told with the remedy: %s',
    async (code, operation) => {
      const { life, store } = await written();
      await life.until(store.close());
      life.disk.failNext(operation, { code });
      await expect(life.open()).rejects.toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringMatching(
          new RegExp(
            `^driver/meta cannot be used \\(${code}: .*\\); let the user .* kvorum meta restore`,
          ),
        ),
      });
    },
  );

  test('whose checksum is right is told from a batch that was cut short', async () => {
    const { life, store, firstEnds } = await written();
    await life.until(store.close());
    const log = await life.bytesOf('log-1');
    // the number of a batch that no build has written, sealed as it should be
    const batch = log.subarray(firstEnds);
    batch.writeUInt32BE(0x20_0000, 12);
    const place = Buffer.alloc(16);
    place.writeBigUInt64BE(1n, 0);
    place.writeBigUInt64BE(BigInt(firstEnds), 8);
    const body = batch.subarray(12, 12 + batch.readUInt32BE(4));
    batch.writeUInt32BE(crc32(body, crc32(place)), 8);
    await life.write('log-1', log);
    expect(await refusal(life)).toBe(
      `driver/meta/log-1: a batch that does not decode at offset ${firstEnds}; ${remedy}`,
    );
  });

  test('of what its commands rely on is refused with file, record and remedy, and left alone', async () => {
    const life = new StoreLife('replay');
    const store = await life.open();
    await life.until(grant(store, 7, 10));
    const leased = (await life.bytesOf('log-1')).length;
    await life.put(store, '/leased', 'x', 7);
    const leasedEnds = (await life.bytesOf('log-1')).length;
    life.crash('process');
    // the put alone, sealed as the first batch: as of a log that two processes appended to
    const put = decodeBatch(await life.bytesOf('log-1'), 1, leased);
    if (put === undefined || put === 'unreadable') throw new Error('no batch');
    const alone = { number: 1, durable: 0, records: put.batch.records };
    const file = await life.until(life.disk.open('driver/meta/log-1', 'write'));
    await life.until(file.truncate(LOG_HEADER_BYTES));
    await life.until(file.pwrite(LOG_HEADER_BYTES, encodeBatch(1, LOG_HEADER_BYTES, alone)));
    const before = await life.bytesOf('log-1');
    expect(before.length).toBeLessThan(leasedEnds);
    expect(await refusal(life)).toBe(
      'driver/meta/log-1: record 1 of 1 cannot be replayed ' +
        `(etcdserver: requested lease not found); ${remedy}`,
    );
    await life.pass(1_000);
    expect(await life.bytesOf('log-1')).toEqual(before);
  });

  test('batches that are sound, and do not follow each other, are told', async () => {
    const { life, firstEnds } = await written();
    life.crash('process');
    const second = decodeBatch(await life.bytesOf('log-1'), 1, firstEnds);
    if (second === undefined || second === 'unreadable') throw new Error('no batch');
    const third = { number: 3, durable: 2, records: second.batch.records };
    const file = await life.until(life.disk.open('driver/meta/log-1', 'write'));
    await life.until(file.truncate(firstEnds));
    await life.until(file.pwrite(firstEnds, encodeBatch(1, firstEnds, third)));
    expect(await refusal(life)).toBe(
      `driver/meta/log-1: batches out of order at offset ${firstEnds}; ${remedy}`,
    );
  });

  test('an empty log of a later snapshot says that there was one', async () => {
    const life = new StoreLife('later');
    await life.until(life.disk.makeDir('driver/meta'));
    const file = await life.until(life.disk.open('driver/meta/log-2', 'create'));
    await life.until(file.pwrite(0, encodeLogHeader(2)));
    await life.until(file.close());
    expect(await refusal(life)).toMatch(/snapshot-2: is missing beside its log/);
  });

  test('of a snapshot whose checksum is right is told as well', async () => {
    const { life, store } = await written();
    await life.until(store.close());
    const snapshot = await life.bytesOf('snapshot-1');
    snapshot.writeUInt32BE(0x20_0000, 16);
    snapshot.writeUInt32BE(crc32(snapshot.subarray(16)), 12);
    await life.write('snapshot-1', snapshot);
    expect(await refusal(life)).toMatch(
      /snapshot-1: it does not decode \(.*\) at offset 0; restore the metadata directory/,
    );
  });

  test('of the last batch is refused too once the idle log was marked', async () => {
    const { life, store, firstEnds, secondEnds } = await written();
    await life.until(store.read((state) => state.revision));
    await life.pass(100);
    expect((await life.bytesOf('log-1')).length).toBeGreaterThan(secondEnds);
    life.crash('process');
    life.disk.flip('driver/meta/log-1', firstEnds + 20);
    expect(await refusal(life)).toContain(`at offset ${firstEnds};`);
  });

  test('an unfinished batch at the end is cut, and writing goes on in its place', async () => {
    for (const kept of [1, 11, 12, 30]) {
      const { life, firstEnds, secondEnds } = await written();
      life.crash('process');
      const file = await life.until(life.disk.open('driver/meta/log-1', 'write'));
      await life.until(file.truncate(Math.min(firstEnds + kept, secondEnds - 1)));
      const store = await life.open();
      expect(contentsOf(store)).toEqual({ '/a': 'first' });
      await life.put(store, '/c', 'third');
      await life.until(store.close());
      const again = await life.open();
      expect(contentsOf(again)).toEqual({ '/a': 'first', '/c': 'third' });
      await life.until(again.close());
    }
  });

  test.each([
    ['snapshot-1', 20, /snapshot-1: bad checksum at offset 0/],
    ['snapshot-1', 0, /snapshot-1: bad header at offset 0/],
    ['log-1', 9, /log-1: bad header at offset 0/],
  ])('of %s at %d is refused', async (name, offset, text) => {
    const { life, store } = await written();
    await life.until(store.close());
    life.disk.flip(`driver/meta/${name}`, offset);
    expect(await refusal(life)).toMatch(text);
  });

  test.each([
    ['log-1', /log-1: is missing/],
    ['snapshot-1', /snapshot-1: is missing beside its log/],
  ])('a missing %s is refused, not taken for a new store', async (name, text) => {
    const { life, store } = await written();
    await life.until(store.close());
    await life.until(life.disk.unlink(`driver/meta/${name}`));
    expect(await refusal(life)).toMatch(text);
  });
});

describe('leases', () => {
  test('start anew after a restart, and end with their keys when nobody renews', async () => {
    const life = new StoreLife('leases');
    const store = await life.open();
    await life.until(grant(store, 7, 10));
    store.leases.start(7, 10_000);
    await life.put(store, '/leased', 'x', 7);
    await life.pass(8_000);
    life.crash('os');
    const again = await life.open();
    await life.pass(9_000);
    expect(contentsOf(again)).toEqual({ '/leased': 'x' });
    expect(again.leases.keepAlive(7)).toBe(true);
    await life.pass(9_000);
    expect(contentsOf(again)).toEqual({ '/leased': 'x' });
    await life.pass(1_100);
    expect(contentsOf(again)).toEqual({});
    expect(again.leases.keepAlive(7)).toBe(false);
    life.crash('os');
    const third = await life.open();
    expect(contentsOf(third)).toEqual({});
    expect([...third.state.leases.keys()]).toEqual([]);
    await life.until(third.close());
  });

  test('that cannot be removed because too much waits is removed later', async () => {
    const life = new StoreLife('busy');
    const store = await life.open();
    await life.until(grant(store, 7, 10));
    store.leases.start(7, 10_000);
    await life.put(store, '/leased', 'x', 7);
    const endsMs = life.scheduler.nowMs + (store.leases.remainingMs(7) ?? 0);
    life.disk.slow(2_000);
    await life.pass(endsMs - 500 - life.scheduler.nowMs);
    const first = put(store, '/a', '1');
    await life.pass(10);
    const more = Array.from({ length: limits.metaWritesWaitingMax }, () => put(store, '/a', '2'));
    await life.pass(600);
    // nobody is told that it lives on
    expect([store.leases.keepAlive(7), store.leases.remainingMs(7)]).toEqual([false, 0]);
    expect(contentsOf(store)).toHaveProperty('/leased');
    await life.until(Promise.all([first, ...more]));
    await life.pass(3_000);
    expect(contentsOf(store)).not.toHaveProperty('/leased');
    life.disk.slow(1);
    await life.until(store.close());
  });

  test('end no more, and are not tried again, once the store is closed', async () => {
    const life = new StoreLife('closed');
    const store = await life.open();
    await life.until(grant(store, 7, 10));
    store.leases.start(7, 10_000);
    await life.until(store.close());
    let tries = 0;
    store.leases.tellAgain = () => tries++;
    await life.pass(60_000);
    expect([tries, [...store.state.leases.keys()]]).toEqual([0, [7]]);
  });
});
