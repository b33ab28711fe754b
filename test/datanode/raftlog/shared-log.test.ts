import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AssertionError } from '../../../src/common/assert.ts';
import { POOL_MEMORY_MAX } from '../../../src/common/buffer-pools.ts';
import { systemClock } from '../../../src/common/clock.ts';
import { codeOf, type KvorumError } from '../../../src/common/errors.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import type { Entry } from '../../../src/datanode/raft/message.ts';
import type { RaftLog } from '../../../src/datanode/raftlog/raft-log.ts';
import { openSharedLog, type SharedLogOptions } from '../../../src/datanode/raftlog/shared-log.ts';
import { withSmallPools } from '../../common/small-pools.ts';
import { SimDisk } from '../../sim/disk.ts';
import { digestOf, entry, entryRange, LogModel, randomPart, reset } from './log-model.ts';
import { ManualClock } from './manual-clock.ts';

let dir = '';
const failures: KvorumError[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kvorum-raftlog-'));
  failures.length = 0;
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function openLog(options: Partial<SharedLogOptions> = {}): Promise<RaftLog> {
  return openSharedLog({
    disk: fsDisk,
    dir: join(dir, 'raftlog'),
    clock: systemClock,
    logger: silentLogger,
    onFailure: (error) => failures.push(error),
    ...options,
  });
}

const noted = () => {};

describe('on the real disk', () => {
  test('counts what it writes, and how long syncing took', async () => {
    const log = await openLog();
    const before = log.stats();
    log.append({ replica: 7, reset: reset(0, 0, 3), entries: entryRange(1, 5, 1) }, noted);
    await log.flush();
    const after = log.stats();
    expect(after.syncTime.count).toBe(after.syncs);
    expect(after.syncs).toBeGreaterThan(0);
    expect(after.syncTime.sumMicroseconds).toBeGreaterThan(0);
    const bytes = entryRange(1, 5, 1).reduce((sum, { data }) => sum + data.length, 0);
    expect(after.writtenBytes - before.writtenBytes).toBeGreaterThan(bytes);
    await log.close();
  });

  test('what was flushed is there after closing and opening', async () => {
    const log = await openLog();
    log.append({ replica: 7, reset: reset(0, 0, 3) }, noted);
    log.append(
      { replica: 7, entries: entryRange(1, 5, 1), hardState: { term: 1, vote: 7, commit: 3 } },
      noted,
    );
    await log.flush();
    await log.close();
    const again = await openLog();
    const replica = again.replica(7)!;
    expect(again.replicas()).toEqual([7]);
    expect(replica.generation).toBe(3);
    expect(replica.hardState).toEqual({ term: 1, vote: 7, commit: 3 });
    expect(replica.firstIndex()).toBe(1);
    expect(replica.lastIndex()).toBe(5);
    expect(replica.entries(1, 6, 1e9)).toEqual(entryRange(1, 5, 1));
    await again.close();
    expect(failures).toEqual([]);
  });

  test('what nobody waits for is written with the next batch, or by itself soon', async () => {
    const log = await openLog();
    log.append({ replica: 7, reset: reset(0, 0, 3) }, noted);
    await log.flush();
    const { batches } = log.stats();
    const durable: string[] = [];
    const part = (index: number) => ({ replica: 7, entries: [entry(index, 1)] });
    log.append(part(1), () => durable.push('later'), 'later');
    // its acknowledgement is worth what any other is
    expect(durable).toEqual([]);
    await new Promise((resolve) => log.append(part(2), () => resolve(durable.push('now'))));
    expect(durable).toEqual(['later', 'now']);
    expect(log.stats().batches).toBe(batches + 1);
    await new Promise((resolve) => setTimeout(resolve, 2));
    await new Promise<void>((resolve) => log.append(part(3), resolve, 'later'));
    expect(log.replica(7)!.lastIndex()).toBe(3);
    log.append(part(4), () => durable.push('closed'), 'later');
    await log.close();
    expect(durable).toEqual(['later', 'now', 'closed']);
  });

  test('a log closed without a flush holds everything appended', async () => {
    const log = await openLog();
    let durable = 0;
    log.append({ replica: 1, reset: reset(10, 2, 1), entries: [entry(11, 2)] }, () => durable++);
    await log.close();
    expect(durable).toBe(1);
    const again = await openLog();
    expect(again.replica(1)!.base).toEqual({ index: 10, term: 2 });
    expect(again.replica(1)!.entries(11, 12, 1)).toEqual([entry(11, 2)]);
    await again.close();
  });

  test('entries of megabytes are copied in later turns, beside what comes meanwhile', async () => {
    const log = await openLog({ cacheBytes: 1_000 });
    const large = (index: number) => entry(index, 1, `${index}`.repeat(2_500_000));
    const told: number[] = [];
    const append = (index: number, one: Entry) =>
      log.append({ replica: 7, entries: [one] }, () => told.push(index));
    log.append({ replica: 7, reset: reset(0, 0, 1), entries: [entry(1, 1)] }, () => told.push(1));
    append(2, large(2));
    append(3, entry(3, 1));
    append(4, large(4));
    await new Promise((resolve) => setImmediate(resolve));
    append(5, entry(5, 1));
    append(6, large(6));
    expect(told).toEqual([]);
    await log.flush();
    expect(told).toEqual([1, 2, 3, 4, 5, 6]);
    const wanted = [entry(1, 1), large(2), entry(3, 1), large(4), entry(5, 1), large(6)];
    const equal = (entries: readonly Entry[] | 'compacted') =>
      entries !== 'compacted' &&
      entries.length === wanted.length &&
      entries.every(({ data }, at) => Buffer.from(wanted[at]!.data).equals(data));
    expect(equal(log.replica(7)!.entries(1, 7, 1e9))).toBe(true);
    await log.close();
    const again = await openLog();
    expect(equal(again.replica(7)!.entries(1, 7, 1e9))).toBe(true);
    await again.close();
    expect(failures).toEqual([]);
  });

  test('a large entry stays in memory until it is applied, or some batches later', async () => {
    const log = await openLog({ cacheBytes: 1_000 });
    const large = entry(1, 1, 'x'.repeat(200_000));
    const held = () => {
      const read = log.replica(7)!.entries(1, 2, 1e9);
      expect(read).toEqual([large]);
      return read !== 'compacted' && read[0] === large;
    };
    const append = async (replica: number, one: Entry, isNew: boolean) => {
      log.append({ replica, entries: [one], ...(isNew && { reset: reset(0, 0, 1) }) }, noted);
      await log.flush();
    };
    await append(7, large, true);
    expect(held()).toBe(true);
    for (let index = 1; index <= 4; index++) {
      await append(8, entry(index, 1), index === 1);
      expect([index, held()]).toEqual([index, index < 4]);
    }
    await append(7, entry(2, 1, 'y'.repeat(200_000)), false);
    expect(held()).toBe(false);
    await log.close();
    expect(failures).toEqual([]);
  });

  test('a random history with small segments survives closing and opening', async () => {
    const random = seededRandom('real disk');
    const model = new LogModel();
    let most = 0;
    for (let life = 0; life < 4; life++) {
      const log = await openLog({ segmentBytes: 32 * 1024, cacheBytes: 1_000 });
      expect(digestOf(log)).toBe(model.digest());
      for (let i = 0; i < 300; i++) {
        const part = randomPart(model, random, 4);
        model.apply(part);
        log.append(part, noted);
        if (random.below(4) === 0) await log.flush();
      }
      expect(digestOf(log)).toBe(model.digest());
      most = Math.max(most, log.stats().segments);
      await log.close();
    }
    expect(most).toBeGreaterThan(3);
    expect(failures).toEqual([]);
  });

  test('small appends of eight groups go through at full speed (printed)', async () => {
    const log = await openLog();
    const [groups, rounds, perGroup] = [8, 1500, 4];
    const data = Buffer.alloc(128, 7);
    for (let g = 1; g <= groups; g++) log.append({ replica: g, reset: reset(0, 0, 0) }, noted);
    await log.flush();
    const started = performance.now();
    let cpu = 0;
    for (let round = 0; round < rounds; round++) {
      const turn = performance.now();
      for (let g = 1; g <= groups; g++) {
        for (let i = 0; i < perGroup; i++) {
          const index = round * perGroup + i + 1;
          log.append(
            {
              replica: g,
              entries: [{ term: 1, index, kind: 'normal', data }],
              hardState: { term: 1, vote: 1, commit: index - 1 },
            },
            noted,
          );
        }
      }
      cpu += performance.now() - turn;
      await log.flush();
    }
    const ms = performance.now() - started;
    const appends = groups * rounds * perGroup;
    console.log(
      `raft log: ${Math.round((rounds * 1000) / ms)} batches/s, ` +
        `${Math.round((appends * 1000) / ms)} appends/s, ` +
        `${((cpu * 1000) / appends).toFixed(2)} µs of the turn per append`,
    );
    expect(log.replica(1)!.lastIndex()).toBe(rounds * perGroup);
    await log.close();
  });
});

describe('on the simulated disk', () => {
  let clock: ManualClock;
  let disk: SimDisk;

  beforeEach(() => {
    clock = new ManualClock();
    const latencyMs = { write: 1, sync: 5 };
    disk = new SimDisk({ random: seededRandom('shared log'), clock, latencyMs });
  });

  const openSim = (options: Partial<SharedLogOptions> = {}) =>
    clock.until(openLog({ disk, clock, dir: 'node/raftlog', ...options }));

  async function openWith(replicas: readonly number[]): Promise<RaftLog> {
    const log = await openSim();
    for (const replica of replicas) log.append({ replica, reset: reset(0, 0, 1) }, noted);
    await clock.until(log.flush());
    return log;
  }

  test('one turn of all groups is one batch and one sync, told in the order of the calls', async () => {
    const log = await openWith([1, 2, 3]);
    const before = log.stats();
    const order: number[] = [];
    for (let i = 0; i < 9; i++) {
      const replica = 1 + (i % 3);
      const next = log.replica(replica)!.lastIndex() + 1;
      log.append({ replica, entries: [entry(next, 1)] }, () => order.push(i));
      expect(log.replica(replica)!.lastIndex()).toBe(next); // readers see it at once
    }
    expect(log.replica(1)!.entries(1, 4, 1e9)).toEqual(entryRange(1, 3, 1));
    expect(order).toEqual([]);
    await clock.until(log.flush());
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(log.stats().batches).toBe(before.batches + 1);
    expect(log.stats().syncs).toBe(before.syncs + 1);
  });

  test('what is appended while a batch is in flight leaves together right after it', async () => {
    const log = await openWith([1]);
    const before = log.stats().batches;
    const done: number[] = [];
    log.append({ replica: 1, entries: [entry(1, 1)] }, () => done.push(1));
    await clock.step(); // the turn ends, the write begins
    log.append({ replica: 1, entries: [entry(2, 1)] }, () => done.push(2));
    await clock.step();
    log.append({ replica: 1, entries: [entry(3, 1)] }, () => done.push(3));
    await clock.until(log.flush());
    expect(done).toEqual([1, 2, 3]);
    expect(log.stats().batches).toBe(before + 2);
  });

  test('an entry at or before the last index truncates the log there first', async () => {
    const log = await openWith([1]);
    log.append({ replica: 1, entries: entryRange(1, 5, 1) }, noted);
    log.append({ replica: 1, entries: entryRange(3, 4, 2) }, noted);
    const expected = [...entryRange(1, 2, 1), ...entryRange(3, 4, 2)];
    expect(log.replica(1)!.entries(1, 5, 1e9)).toEqual(expected);
    await clock.until(log.close());
    const again = await openSim();
    expect(again.replica(1)!.entries(1, 5, 1e9)).toEqual(expected);
    expect(again.replica(1)!.lastIndex()).toBe(4);
  });

  test('compaction moves the base and answers below it with compacted', async () => {
    const log = await openWith([1]);
    log.append({ replica: 1, entries: entryRange(1, 5, 1), compact: { index: 3, term: 1 } }, noted);
    const replica = log.replica(1)!;
    expect(replica.firstIndex()).toBe(4);
    expect(replica.term(3)).toBe(1);
    expect(replica.term(2)).toBe('compacted');
    expect(replica.term(6)).toBe('unavailable');
    expect(replica.entries(3, 5, 1e9)).toBe('compacted');
    expect(replica.dataBytes).toBe(6);
    log.append({ replica: 1, compact: { index: 2, term: 1 } }, noted); // already gone
    expect(replica.base).toEqual({ index: 3, term: 1 });
  });

  test('entries are cut at the asked bytes, but at least one is given', async () => {
    const log = await openWith([1]);
    log.append({ replica: 1, entries: entryRange(1, 5, 1) }, noted); // three bytes each
    expect(log.replica(1)!.entries(1, 6, 0)).toHaveLength(1);
    expect(log.replica(1)!.entries(1, 6, 8)).toHaveLength(2);
    expect(log.replica(1)!.entries(1, 6, 9)).toHaveLength(3);
    expect(log.replica(1)!.entries(6, 6, 9)).toEqual([]);
  });

  test('entries that left memory are read back from the files', async () => {
    const log = await openSim({ cacheBytes: 40, segmentBytes: 2048 });
    log.append({ replica: 1, reset: reset(0, 0, 1) }, noted);
    for (let i = 1; i <= 60; i++) {
      log.append({ replica: 1, entries: [entry(i, 1, `entry ${i} `.repeat(10))] }, noted);
      if (i % 7 === 0) await clock.until(log.flush());
    }
    await clock.until(log.flush());
    expect(log.stats().segments).toBeGreaterThan(2);
    const all = log.replica(1)!.entries(1, 61, 1e9);
    const expected = Array.from({ length: 60 }, (_, i) =>
      entry(i + 1, 1, `entry ${i + 1} `.repeat(10)),
    );
    expect(all).toEqual(expected);
  });

  test('entries that are not written yet stay in memory, however little there may be', async () => {
    const log = await openSim({ cacheBytes: 0 });
    log.append({ replica: 1, reset: reset(0, 0, 1) }, noted);
    await clock.until(log.flush());
    const read: unknown[] = [];
    log.append({ replica: 1, entries: [entry(1, 1)] }, () => {
      read.push(log.replica(1)!.entries(1, 5, 1e9));
    });
    await clock.step(); // the write begins
    log.append({ replica: 1, entries: entryRange(2, 4, 1) }, noted);
    await clock.until(log.flush());
    expect(read).toEqual([entryRange(1, 4, 1)]);
  });

  test('what is on its way when a read finds damage is not told of as durable', async () => {
    let failures = 0;
    const log = await openSim({ cacheBytes: 0, onFailure: () => failures++ });
    log.append({ replica: 1, reset: reset(0, 0, 1), entries: entryRange(1, 3, 1) }, noted);
    await clock.until(log.flush());
    const file = await disk.open('node/raftlog/000000000001.log', 'read');
    const bytes = await clock.until(file.size().then((size) => file.pread(0, size)));
    disk.flip(file.path, bytes.lastIndexOf(entry(1, 1).data));
    let isDurable = false;
    log.append({ replica: 2, reset: reset(0, 0, 1) }, () => {
      isDurable = true;
    });
    await clock.step(); // the write begins
    expect(() => log.replica(1)!.entries(1, 2, 1e9)).toThrow('damaged at offset');
    await clock.steps(20);
    expect([failures, isDurable]).toEqual([1, false]);
    await clock.until(log.close());
  });

  test('misuse throws before anything changes', async () => {
    const log = await openWith([1, 2]);
    const hardState = { term: 3, vote: 1, commit: 2 };
    log.append({ replica: 1, entries: entryRange(1, 3, 3), hardState }, noted);
    log.append({ replica: 2, tombstone: true }, noted);
    const digest = digestOf(log);
    const misuses: (() => void)[] = [
      () => log.append({ replica: 9, entries: [entry(1, 1)] }, noted),
      () => log.append({ replica: 1, entries: [entry(5, 3)] }, noted),
      () => log.append({ replica: 1, entries: [entry(4, 3), entry(6, 3)] }, noted),
      () => log.append({ replica: 1, entries: [entry(4, 3), entry(5, 2)] }, noted),
      () => log.append({ replica: 1, hardState: { ...hardState, term: 2 } }, noted),
      () => log.append({ replica: 1, hardState: { ...hardState, vote: 2 } }, noted),
      () => log.append({ replica: 1, hardState: { ...hardState, commit: 1 } }, noted),
      () => log.append({ replica: 1, compact: { index: 4, term: 3 } }, noted),
      () => log.append({ replica: 1, compact: { index: 3, term: 2 } }, noted),
      () => log.replica(1)!.entries(1, 5, 1),
    ];
    for (const misuse of misuses) expect(misuse).toThrow(AssertionError);
    const gone = () => log.append({ replica: 2, reset: reset(0, 0, 2) }, noted);
    expect(gone).toThrow('replica 2 was removed from this node');
    expect(digestOf(log)).toBe(digest);
    await clock.until(log.close());
    expect(() => log.append({ replica: 1 }, noted)).toThrow('the raft log is closed');
    const again = await openSim();
    expect(digestOf(again)).toBe(digest);
    expect(again.isTombstone(2)).toBe(true);
    expect(again.replica(2)).toBeUndefined();
    expect(() => again.append({ replica: 2, reset: reset(0, 0, 2) }, noted)).toThrow('was removed');
  });

  test('the few entries of a group do not keep a frame of many groups in memory', async () => {
    withSmallPools();
    const log = await openWith([1, 2]);
    const frame = Buffer.alloc(1_000_000, 'x');
    const cut = (index: number, from: number, to: number): Entry => ({
      ...{ term: 1, index, kind: 'normal', data: frame.subarray(from, to) },
    });
    const few = [cut(1, 0, 300), cut(2, 300, 300), entry(3, 1), cut(4, 300, 900)];
    const most = [cut(1, 900, 600_000)];
    log.append({ replica: 1, entries: few }, noted);
    log.append({ replica: 2, entries: most }, noted);
    const kept = log.replica(1)!.entries(1, 5, 1e9) as readonly Entry[];
    expect(kept).toEqual(few);
    const memory = new Set(kept.map(({ data }) => data.buffer));
    expect([...memory].every(({ byteLength }) => byteLength <= POOL_MEMORY_MAX)).toBe(true);
    expect((log.replica(2)!.entries(1, 2, 1e9) as readonly Entry[])[0]).toBe(most[0]);
    await clock.until(log.close());
    const again = await openSim();
    expect(again.replica(1)!.entries(1, 5, 1e9)).toEqual(few);
  });

  test('a part beyond the batch bound takes several batches and leaves no half state', async () => {
    const seen = new Set<string>();
    const hardState = { term: 5, vote: 3, commit: 39 }; // of an entry in the last batch
    for (let stop = 0; stop < 40; stop++) {
      clock = new ManualClock();
      disk = new SimDisk({ random: seededRandom(stop), clock, latencyMs: { write: 1, sync: 5 } });
      const log = await openSim({ batchBytesMax: 600 });
      log.append({ replica: 1, reset: reset(0, 0, 1), entries: entryRange(1, 4, 4) }, noted);
      log.append({ replica: 1, hardState: { term: 4, vote: 0, commit: 3 } }, noted);
      await clock.until(log.flush());
      let durable = false;
      log.append({ replica: 1, entries: entryRange(4, 40, 5), hardState }, () => {
        durable = true;
      });
      await clock.steps(stop);
      disk.crash('process');
      clock.clear();
      const again = await openSim();
      const replica = again.replica(1)!;
      expect(replica.hardState.commit).toBeLessThanOrEqual(replica.lastIndex());
      const lastTerm = Number(replica.term(replica.lastIndex()));
      expect(lastTerm).toBeLessThanOrEqual(replica.hardState.term);
      seen.add(`${replica.lastIndex()} ${replica.hardState.commit}`);
      const known = lastTerm === 5 ? Math.min(hardState.commit, replica.lastIndex()) : 3;
      if (lastTerm > 0 && replica.lastIndex() > 3) expect(replica.hardState.commit).toBe(known);
      if (durable) expect(replica.hardState).toEqual(hardState);
    }
    expect(seen.size).toBeGreaterThan(3); // before, between and after
    expect(seen).toContain('4 3');
    expect(seen).toContain('40 39');
  });

  test('when the log falls idle a mark follows, and only one', async () => {
    const log = await openWith([1]);
    const before = log.stats().batches;
    log.append({ replica: 1, entries: [entry(1, 1)] }, noted);
    await clock.until(log.flush());
    expect(log.stats().batches).toBe(before + 1);
    await clock.steps(1_000);
    expect(log.stats().batches).toBe(before + 2);
    expect(await clock.step()).toBe(false);
  });

  test.each(['pwrite', 'fdatasync'] as const)(
    'after a failed %s nothing is durable any more',
    async (operation) => {
      const log = await openWith([1]);
      log.append({ replica: 1, entries: entryRange(1, 3, 1) }, noted);
      await clock.until(log.flush());
      disk.failNext(operation);
      let durable = 0;
      log.append({ replica: 1, entries: [entry(4, 1)] }, () => durable++);
      const flushed = log.flush();
      await expect(clock.until(flushed)).rejects.toThrow('no write is acknowledged any more');
      log.append({ replica: 1, entries: [entry(5, 1)] }, () => durable++);
      // what the core hands out next goes on from what was ignored
      log.append({ replica: 1, entries: [entry(6, 1)] }, () => durable++);
      await clock.steps(100);
      await expect(log.flush()).rejects.toThrow('EIO');
      expect(failures.map(codeOf)).toEqual(['DISK_FAILED']);
      expect(log.replica(1)!.entries(1, 4, 1e9)).toEqual(entryRange(1, 3, 1));
      await clock.until(log.close());
      expect(durable).toBe(0);
      disk.crash('os');
      const again = await openSim();
      expect(again.replica(1)!.entries(1, 4, 1e9)).toEqual(entryRange(1, 3, 1));
    },
  );

  test('a full disk stops acknowledging; with room again the log opens and goes on', async () => {
    const log = await openSim({ segmentBytes: 8192 });
    log.append({ replica: 1, reset: reset(0, 0, 1) }, noted);
    await clock.until(log.flush());
    disk.fullAfterBytes(disk.usedBytes + 10_000);
    let durable = 0;
    for (let i = 1; i <= 100 && failures.length === 0; i++) {
      const acknowledge = () => {
        durable = i;
      };
      log.append({ replica: 1, entries: [entry(i, 1, 'x'.repeat(1000))] }, acknowledge);
      await clock.until(log.flush().catch(noted));
    }
    expect(failures.map(codeOf)).toEqual(['DISK_FAILED']);
    expect(failures[0]!.message).toContain('ENOSPC');
    expect(durable).toBeGreaterThan(5); // what was allocated ahead is used up first
    await clock.until(log.close());
    disk.fullAfterBytes(Number.POSITIVE_INFINITY);
    const again = await openSim({ segmentBytes: 8192 });
    expect(again.replica(1)!.lastIndex()).toBeGreaterThanOrEqual(durable);
    again.append({ replica: 1, entries: [entry(durable + 1, 1)] }, noted);
    await clock.until(again.flush());
  });

  test('a log that cannot be created says why', async () => {
    disk.fullAfterBytes(0);
    await expect(openSim()).rejects.toThrow('ENOSPC');
    expect(failures).toEqual([]); // told by the throw alone
  });

  test('what a callback appends while the log closes is ignored, not an error', async () => {
    const log = await openWith([1]);
    log.append({ replica: 1, entries: [entry(1, 1)] }, () => {
      log.append({ replica: 1, entries: [entry(2, 1)] }, noted);
    });
    await clock.until(log.close());
    const again = await openSim();
    expect(again.replica(1)!.lastIndex()).toBe(1);
  });
});
