/** A crash while a segment's first batch is written, and more than half of it is spoken for. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { openSharedLog } from '../../../src/datanode/raftlog/shared-log.ts';
import { SimDisk } from '../../sim/disk.ts';
import { entry, reset } from './log-model.ts';
import { ManualClock } from './manual-clock.ts';

const KIB = 1_024;
/** A batch may be twice as long as a segment, as in production. */
const sizes = { segmentBytes: 64 * KIB, batchBytesMax: 128 * KIB };
const STEPS_MS = 40;
const noted = () => {};

/** Last index of the first group once the log is open again, `afterMs` behind the appends. */
async function lastAfterCrash(afterMs: number, how: 'process' | 'os'): Promise<number> {
  const clock = new ManualClock();
  const latencyMs = { read: 0.05, write: 5, sync: 1, name: 0.1 };
  const disk = new SimDisk({ random: seededRandom('spare'), clock, latencyMs });
  const open = () => {
    const rest = { clock, logger: silentLogger, cacheBytes: 0, onFailure: noted, ...sizes };
    return clock.until(openSharedLog({ disk: disk.session(), dir: 'node/raftlog', ...rest }));
  };
  const log = await open();
  for (const replica of [1, 2]) log.append({ replica, reset: reset(0, 0, 1) }, noted);
  log.append({ replica: 1, entries: [entry(1, 1, 'a'.repeat(60 * KIB))] }, noted);
  await clock.until(log.flush());
  await clock.steps(60);
  // fills the segment, and is under way …
  log.append({ replica: 1, entries: [entry(2, 1, 'b'.repeat(8 * KIB))] }, noted);
  await clock.steps(1);
  // … while two groups append what is no batch together
  log.append({ replica: 1, entries: [entry(3, 1, 'c'.repeat(40 * KIB))] }, noted);
  log.append({ replica: 2, entries: [entry(1, 1, 'd'.repeat(100 * KIB))] }, noted);
  await clock.steps(afterMs);
  disk.crash(how);
  return (await open()).replica(1)!.lastIndex();
}

test.each(['process', 'os'] as const)('the log opens again after a crash (%s)', async (how) => {
  const lasts = new Set<number>();
  for (let ms = 0; ms < STEPS_MS; ms++) lasts.add(await lastAfterCrash(ms, how));
  // cut off before each of the batches, and behind the last
  expect([...lasts].sort()).toEqual([1, 2, 3]);
});
