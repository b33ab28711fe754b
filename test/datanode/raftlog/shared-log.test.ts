import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import type { KvorumError } from '../../../src/common/errors.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import type { RaftLog } from '../../../src/datanode/raftlog/raft-log.ts';
import { openSharedLog, type SharedLogOptions } from '../../../src/datanode/raftlog/shared-log.ts';
import { entry, entryRange, reset } from './log-model.ts';

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
