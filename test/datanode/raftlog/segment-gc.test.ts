/** Segments come and go; a cold replica's tail is copied forward and never lost. */
import { beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import type { RaftLog } from '../../../src/datanode/raftlog/raft-log.ts';
import { openSharedLog } from '../../../src/datanode/raftlog/shared-log.ts';
import { SimDisk } from '../../sim/disk.ts';
import { digestOf, entry, entryRange, reset } from './log-model.ts';
import { ManualClock } from './manual-clock.ts';

const noted = () => {};
const segmentBytes = 4096;
let clock: ManualClock;
let disk: SimDisk;

const openLog = () =>
  clock.until(
    openSharedLog({
      disk,
      dir: 'node/raftlog',
      clock,
      logger: silentLogger,
      segmentBytes,
      cacheBytes: 0,
      onFailure: (error) => {
        throw error;
      },
    }),
  );

beforeEach(() => {
  clock = new ManualClock();
  disk = new SimDisk({
    random: seededRandom('segments'),
    clock,
    latencyMs: { read: 0.1, write: 0.2, sync: 1, name: 0.1 },
  });
});

/** Appends to replica `hot` and compacts it right behind, so that only cold ones hold segments. */
async function churn(log: RaftLog, hot: number, rounds: number, keep = 3): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const from = log.replica(hot)!.lastIndex() + 1;
    const entries = [entry(from, 1, 'h'.repeat(600)), entry(from + 1, 1, 'h'.repeat(600))];
    const behind = Math.max(log.replica(hot)!.base.index, from + 1 - keep);
    const compact = { index: behind, term: behind === 0 ? 0 : 1 };
    log.append({ replica: hot, entries, compact }, noted);
    await clock.until(log.flush());
  }
}

const firstSegment = async () => (await clock.until(disk.list('node/raftlog')))[0];

describe('old segments', () => {
  test('go one by one when nobody needs them', async () => {
    const log = await openLog();
    log.append({ replica: 1, reset: reset(0, 0, 1) }, noted);
    await churn(log, 1, 60);
    expect(log.stats().segments).toBeLessThanOrEqual(3);
    expect(await firstSegment()).not.toBe('000000000001.log');
    const digest = digestOf(log);
    await clock.until(log.close());
    disk.crash('os');
    expect(digestOf(await openLog())).toBe(digest);
  });

  test('held by cold replicas go too, after the tails were copied forward', async () => {
    const log = await openLog();
    for (const replica of [1, 2, 3]) {
      const part = { reset: reset(0, 0, 1), entries: entryRange(1, 4, 1) };
      log.append({ replica, ...part, hardState: { term: 1, vote: replica, commit: 4 } }, noted);
    }
    log.append({ replica: 9, reset: reset(0, 0, 1) }, noted);
    await churn(log, 9, 60);
    expect(log.stats().segments).toBeLessThanOrEqual(8);
    expect(await firstSegment()).not.toBe('000000000001.log');
    for (const replica of [1, 2, 3]) {
      expect(log.replica(replica)!.entries(1, 5, 1e9)).toEqual(entryRange(1, 4, 1));
    }
    const digest = digestOf(log);
    await clock.until(log.close());
    disk.crash('os');
    const again = await openLog();
    expect(digestOf(again)).toBe(digest);
    await churn(again, 9, 60); // copied once more, from where they were copied to
    expect(again.replica(2)!.entries(1, 5, 1e9)).toEqual(entryRange(1, 4, 1));
    expect(again.replica(2)!.hardState).toEqual({ term: 1, vote: 2, commit: 4 });
  });

  test('are bounded by what is alive, however much is written', async () => {
    const log = await openLog();
    log.append({ replica: 1, reset: reset(0, 0, 1) }, noted);
    for (const replica of [2, 3, 4]) log.append({ replica, reset: reset(0, 0, 1) }, noted);
    let most = 0;
    for (let round = 0; round < 40; round++) {
      await churn(log, 1, 3, 10);
      const replica = 2 + (round % 3);
      const next = log.replica(replica)!.lastIndex() + 1;
      log.append({ replica, entries: [entry(next, 1, 'cold'.repeat(50))] }, noted);
      await clock.until(log.flush());
      await clock.steps(40);
      most = Math.max(most, log.stats().bytes);
    }
    const alive = [...log.replicas()].reduce((sum, id) => sum + log.replica(id)!.dataBytes, 0);
    expect(most).toBeLessThan(2.5 * alive + 8 * segmentBytes);
  });

  test('are there until what freed them is on disk', async () => {
    for (let seed = 0; seed < 24; seed++) {
      clock = new ManualClock();
      const latencyMs = { read: 0.1, write: 3, sync: 3, name: 0.1 };
      disk = new SimDisk({ random: seededRandom(seed), clock, latencyMs });
      const log = await openLog();
      log.append({ replica: 1, reset: reset(0, 0, 1), entries: entryRange(1, 4, 1) }, noted);
      log.append({ replica: 9, reset: reset(0, 0, 1) }, noted);
      await churn(log, 9, 8);
      expect(await firstSegment()).toBe('000000000001.log');
      // one batch is on its way, and the next will free the first segment
      log.append({ replica: 9, entries: [entry(17, 1, 'h')] }, noted);
      await clock.step();
      log.append({ replica: 1, compact: { index: 4, term: 1 } }, noted);
      await clock.steps(4 + (seed % 4));
      disk.crash('process');
      clock.clear();
      expect((await openLog()).replica(1)!.lastIndex()).toBe(4);
    }
  });

  test('a log that moved on while its tail was being copied keeps what it moved on to', async () => {
    for (let pause = 0; pause < 40; pause++) {
      clock = new ManualClock();
      disk = new SimDisk({
        random: seededRandom(pause),
        clock,
        latencyMs: { read: 1, write: 0.2, sync: 1, name: 0.1 },
      });
      const log = await openLog();
      const cold = { reset: reset(0, 0, 1), entries: entryRange(1, 8, 1) };
      for (const replica of [1, 2]) log.append({ replica, ...cold }, noted);
      log.append({ replica: 9, reset: reset(0, 0, 1) }, noted);
      await churn(log, 9, 14);
      await clock.steps(pause);
      log.append({ replica: 1, entries: entryRange(3, 5, 2) }, noted);
      log.append({ replica: 2, compact: { index: 4, term: 1 } }, noted);
      await churn(log, 9, 6);
      expect(log.replica(1)!.entries(1, 6, 1e9)).toEqual([
        ...entryRange(1, 2, 1),
        ...entryRange(3, 5, 2),
      ]);
      const digest = digestOf(log);
      disk.crash('os');
      clock.clear();
      expect(digestOf(await openLog())).toBe(digest);
    }
  });

  test('votes and tombstones outlive every segment they were written in', async () => {
    const log = await openLog();
    const hardState = { term: 7, vote: 5, commit: 0 };
    log.append({ replica: 5, reset: reset(0, 0, 1), hardState }, noted);
    log.append({ replica: 6, reset: reset(0, 0, 1) }, noted);
    log.append({ replica: 6, tombstone: true }, noted);
    log.append({ replica: 9, reset: reset(0, 0, 1) }, noted);
    await churn(log, 9, 60);
    disk.crash('os');
    clock.clear();
    const again = await openLog();
    expect(await firstSegment()).not.toBe('000000000001.log');
    expect(again.replica(5)!.hardState).toEqual(hardState);
    expect(again.isTombstone(6)).toBe(true);
  });
});
