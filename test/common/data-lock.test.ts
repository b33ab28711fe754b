import { expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { lockDataDir } from '../../src/common/data-lock.ts';
import { seededRandom } from '../../src/common/random.ts';
import { SimDisk } from '../sim/disk.ts';

test('a data directory has one process; a dead one’s lock is taken over', async () => {
  const disk = new SimDisk({ random: seededRandom(1), clock: systemClock });
  const alive = new Set([10, 11]);
  const take = (processId: number) => lockDataDir(disk, '/d', processId, (id) => alive.has(id));
  const first = await take(10);
  await expect(take(11)).rejects.toThrow(/\/d is in use by process 10; stop it/);
  alive.delete(10);
  const second = await take(11);
  await expect(take(12)).rejects.toThrow(/in use by process 11/);
  await second.release();
  await take(12);
  expect(first).toBeDefined();
});
