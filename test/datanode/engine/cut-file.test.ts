import { expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { type Disk, readFile } from '../../../src/common/disk.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { cutFile, removeUnfinishedCut } from '../../../src/datanode/engine/cut-file.ts';
import { SimDisk } from '../../sim/disk.ts';

const SIZE = 1_374;
const kept = Buffer.alloc(SIZE, 'kept');
const whole = Buffer.concat([kept, Buffer.alloc(700, 'lost')]);

async function diskWithFile(seed: number): Promise<SimDisk> {
  const disk = new SimDisk({ random: seededRandom(seed), clock: systemClock });
  await disk.makeDir('/e');
  const file = await disk.open('/e/000004.log', 'create');
  await file.pwrite(0, whole);
  await file.fdatasync();
  await file.close();
  await disk.syncDir('/e');
  return disk;
}

const read = (disk: Disk) => readFile(disk, '/e/000004.log', 10_000);

test('what is kept is durable when the cut has ended', async () => {
  for (let seed = 0; seed < 20; seed++) {
    const disk = await diskWithFile(seed);
    expect(await cutFile(disk, '/e/000004.log', SIZE)).toBe(700);
    disk.crash('os');
    expect(await read(disk)).toEqual(kept);
    expect(await disk.list('/e')).toEqual(['000004.log']);
  }
});

test('a loss of power at any moment of the cut spoils nothing of what is kept', async () => {
  let uncut = 0;
  let unfinished = 0;
  for (let seed = 0; seed < 400; seed++) {
    const disk = await diskWithFile(seed);
    void cutFile(disk.session(), '/e/000004.log', SIZE).catch(() => {});
    for (let turn = seed % 80; turn > 0; turn--) await Promise.resolve();
    disk.crash('os');
    const bytes = await read(disk);
    expect(bytes.subarray(0, SIZE), `seed ${seed}`).toEqual(kept);
    if (bytes.length > SIZE) uncut++;
    const names = await disk.list('/e');
    if (names.length > 1) unfinished++;
    await removeUnfinishedCut(disk, '/e', names);
    expect(await disk.list('/e')).toEqual(['000004.log']);
  }
  expect(uncut).toBeGreaterThan(50);
  expect(uncut).toBeLessThan(350);
  expect(unfinished).toBeGreaterThan(5);
});
