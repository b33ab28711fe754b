import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import type { Disk } from '../../../src/common/disk.ts';
import type { KvorumError } from '../../../src/common/errors.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { WriteWatch } from '../../../src/common/write-watch.ts';
import { openSharedLog } from '../../../src/datanode/raftlog/shared-log.ts';
import { entryRange, reset } from './log-model.ts';
import { ManualClock } from './manual-clock.ts';

/** A watch of a second, and writes that end when they are told to. */
function setup() {
  const clock = new ManualClock();
  const stalls: string[] = [];
  const watch = new WriteWatch(clock, 1_000, (why) => stalls.push(why.message));
  const begin = () => {
    let end = (_failure?: Error) => {};
    const write = new Promise<void>((resolve, reject) => {
      end = (failure) => (failure ? reject(failure) : resolve());
    });
    return { done: watch.during(watch.timed(write)), end };
  };
  /** Lets so much time pass; whoever waits for it is called then. */
  const pass = async (ms: number) => {
    const untilMs = clock.monotonicMs() + ms;
    clock.setTimer(ms, () => {});
    while (clock.monotonicMs() < untilMs) await clock.step();
  };
  return { clock, watch, stalls, begin, pass };
}

describe('a write of the log', () => {
  test('that is not answered in time is told of once', async () => {
    const { stalls, begin, pass } = setup();
    begin();
    await pass(1_000);
    expect(stalls).toEqual([]);
    await pass(150);
    expect(stalls).toEqual(['no answer for 1 s']);
    await pass(10_000);
    expect(stalls).toHaveLength(1);
  });

  test('does not take the time of those before it', async () => {
    const { stalls, begin, pass, clock } = setup();
    for (let at = 0; at < 20; at++) {
      const { done, end } = begin();
      await pass(700);
      end();
      await done;
    }
    expect(stalls).toEqual([]);
    await pass(200);
    expect(await clock.step()).toBe(false);
  });

  test('has not waited while the process stood still', async () => {
    const { stalls, begin, pass, clock } = setup();
    const { done, end } = begin();
    await pass(500);
    clock.spend(60_000);
    await pass(300);
    expect(stalls).toEqual([]);
    end();
    await done;
  });

  test('is timed, unless it fails', async () => {
    const { watch, begin, pass } = setup();
    const first = begin();
    await pass(40);
    first.end();
    await first.done;
    const second = begin();
    second.end(new Error('EIO'));
    await expect(second.done).rejects.toThrow('EIO');
    expect([watch.time.count, watch.time.sumMicroseconds]).toEqual([1, 40_000]);
  });
});

describe('the log of a node', () => {
  let dir = '';
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'kvorum-write-watch-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  /** A log on a disk that answers nothing of that kind once it is told to hang. */
  async function openOn(kind: 'pwriteSynced' | 'pwrite' | 'create', segmentBytes?: number) {
    let hangs = false;
    const never = <Done>(): Promise<Done> => new Promise(() => {});
    const disk: Disk = Object.create(fsDisk, {
      open: {
        value: async (...asked: Parameters<Disk['open']>) => {
          if (hangs && asked[1] === kind) return never();
          const file = await fsDisk.open(...asked);
          if (kind === 'create') return file;
          const write = file[kind].bind(file);
          file[kind] = (offset, bytes) => (hangs ? never() : write(offset, bytes));
          return file;
        },
      },
    });
    const failures: KvorumError[] = [];
    const onFailure = (failure: KvorumError) => failures.push(failure);
    const world = { disk, dir: join(dir, 'raftlog'), clock: systemClock, logger: silentLogger };
    const sizes = segmentBytes === undefined ? {} : { segmentBytes };
    const log = await openSharedLog({ ...world, ...sizes, onFailure, stallMs: 200 });
    log.append({ replica: 7, reset: reset(0, 0, 3) }, () => {});
    await log.flush();
    hangs = true;
    return { log, failures };
  }

  test('fails when its disk does not answer, and says what to do', async () => {
    const { log, failures } = await openOn('pwriteSynced');
    let durable = false;
    log.append({ replica: 7, entries: entryRange(1, 5, 1) }, () => {
      durable = true;
    });
    await expect(log.flush()).rejects.toThrow(/no answer for 0.2 s.*replace the disk/);
    expect(failures.map(({ code }) => code)).toEqual(['DISK_FAILED']);
    expect(durable).toBe(false);
  });

  test.each(['create', 'pwrite'] as const)(
    'fails as well when it waits for the next segment: %s',
    async (kind) => {
      const { log, failures } = await openOn(kind, 16_384);
      for (let from = 1; failures.length === 0; from += 5) {
        log.append({ replica: 7, entries: entryRange(from, from + 4, 1) }, () => {});
        await log.flush().catch(() => {});
      }
      expect(failures.map(({ message }) => message)).toEqual([
        expect.stringMatching(/no answer for 0.2 s/),
      ]);
    },
  );
});
