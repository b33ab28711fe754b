import { beforeEach, expect, test } from 'vitest';
import { readChecked, writeChecked } from '../../src/common/checked-file.ts';
import { systemClock } from '../../src/common/clock.ts';
import { seededRandom } from '../../src/common/random.ts';
import { SimDisk } from '../sim/disk.ts';

let disk: SimDisk;
beforeEach(async () => {
  disk = new SimDisk({ random: seededRandom(1), clock: systemClock });
  await disk.makeDir('/d');
});

test('what is written is read, and replaced as a whole', async () => {
  expect(await readChecked(disk, '/d/file', 'remedy')).toBeUndefined();
  await writeChecked(disk, '/d/file', { a: 1 });
  await writeChecked(disk, '/d/file', { a: 2 });
  expect(await readChecked(disk, '/d/file', 'remedy')).toEqual({ a: 2 });
  disk.crash('os');
  expect(await readChecked(disk, '/d/file', 'remedy')).toEqual({ a: 2 });
});

test('every flipped bit and every cut is refused with the remedy', async () => {
  await writeChecked(disk, '/d/file', { name: 'n1' });
  const file = await disk.open('/d/file', 'write');
  const whole = await file.pread(0, await file.size());
  for (let at = 0; at < whole.length; at++) {
    const bad = Buffer.from(whole);
    bad[at]! ^= 0x10;
    await file.pwrite(0, bad);
    await expect(readChecked(disk, '/d/file', 'do this')).rejects.toThrow(/\/d\/file.*do this/);
  }
  for (let length = 0; length < whole.length; length++) {
    await file.pwrite(0, whole);
    await file.truncate(length);
    await expect(readChecked(disk, '/d/file', 'do this')).rejects.toMatchObject({
      code: 'CORRUPT',
    });
  }
});

test('a sum of nothing is damage, although it matches', async () => {
  const file = await disk.open('/d/file', 'create');
  await file.pwrite(0, Buffer.from('00000000\n'));
  await file.close();
  await expect(readChecked(disk, '/d/file', 'do this')).rejects.toMatchObject({ code: 'CORRUPT' });
});
