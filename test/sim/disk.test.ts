import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/common/clock.ts';
import type { DiskFile } from '../../src/common/disk.ts';
import { systemCodeOf } from '../../src/common/errors.ts';
import { seededRandom } from '../../src/common/random.ts';
import { diskSuite } from '../common/disk-suite.ts';
import { ManualClock } from '../datanode/raftlog/manual-clock.ts';
import { SimDisk } from './disk.ts';
import { SimFile } from './sim-file.ts';

function newDisk(seed: number | string = 1, clock: Clock = systemClock, latencyMs = 0): SimDisk {
  return new SimDisk({ random: seededRandom(seed), clock, latencyMs });
}

diskSuite('the simulated disk', async () => {
  const disk = newDisk();
  await disk.makeDir('root/dir');
  return { disk, dir: 'root/dir' };
});

async function fileOf(disk: SimDisk, content: Buffer, durable: boolean): Promise<DiskFile> {
  await disk.makeDir('d');
  const file = await disk.open('d/a', 'create');
  await file.pwrite(0, content);
  if (durable) {
    await file.fdatasync();
    await disk.syncDir('d');
  }
  return file;
}

async function contentOf(disk: SimDisk): Promise<Buffer | undefined> {
  if (!(await disk.exists('d/a'))) return undefined;
  const file = await disk.open('d/a', 'read');
  return file.pread(0, await file.size());
}

const ones = Buffer.alloc(8192, 1);
const twos = Buffer.alloc(8192, 2);

describe('a crash', () => {
  test('of the operating system keeps what was synced', async () => {
    for (let seed = 0; seed < 50; seed++) {
      const disk = newDisk(seed);
      await fileOf(disk, ones, true);
      disk.crash('os');
      expect(await contentOf(disk)).toEqual(ones);
    }
  });

  test('of the process keeps the page cache and every name', async () => {
    const disk = newDisk();
    await fileOf(disk, ones, false);
    disk.crash('process');
    expect(await contentOf(disk)).toEqual(ones);
  });

  test('keeps, loses or garbles each un-synced sector by itself', async () => {
    const kinds = { kept: 0, lost: 0, garbage: 0, mixed: 0 };
    for (let seed = 0; seed < 60; seed++) {
      const disk = newDisk(seed);
      const file = await fileOf(disk, ones, true);
      await file.pwrite(0, twos);
      disk.crash('os');
      const bytes = (await contentOf(disk))!;
      expect(bytes).toHaveLength(8192);
      const seen = new Set<string>();
      for (let at = 0; at < 8192; at += 512) {
        const sector = bytes.subarray(at, at + 512);
        if (sector.equals(ones.subarray(0, 512))) seen.add('lost');
        else if (sector.equals(twos.subarray(0, 512))) seen.add('kept');
        else seen.add('garbage');
      }
      for (const kind of seen) kinds[kind as 'kept']++;
      if (seen.size > 1) kinds.mixed++;
    }
    for (const count of Object.values(kinds)) expect(count).toBeGreaterThan(3);
  });

  test('may lose a name that was not synced, and bring back one that was removed', async () => {
    const seen = { created: 0, missing: 0, removed: 0, back: 0, old: 0, renamed: 0 };
    for (let seed = 0; seed < 40; seed++) {
      const disk = newDisk(seed);
      const file = await fileOf(disk, ones, false);
      await file.fdatasync();
      disk.crash('os');
      seen[(await disk.exists('d/a')) ? 'created' : 'missing']++;

      const second = newDisk(seed);
      await fileOf(second, ones, true);
      await second.unlink('d/a');
      second.crash('os');
      seen[(await second.exists('d/a')) ? 'back' : 'removed']++;

      const third = newDisk(seed);
      await fileOf(third, ones, true);
      await third.rename('d/a', 'd/b');
      third.crash('os');
      const names = await third.list('d');
      expect(names).toHaveLength(1); // a rename is one change: never both, never neither
      seen[names[0] === 'a' ? 'old' : 'renamed']++;
    }
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(3);
  });

  test('may happen in the middle of a write and of a sync', async () => {
    const lengths = new Set<number>();
    for (let seed = 0; seed < 30; seed++) {
      const clock = new ManualClock();
      const disk = newDisk(seed, clock, 1);
      const file = await clock.until(fileOf(disk, ones, true));
      let ended = false;
      file.pwrite(0, twos).then(() => {
        ended = true;
      });
      disk.crash('process');
      clock.clear();
      const bytes = (await clock.until(contentOf(disk)))!;
      lengths.add(bytes.lastIndexOf(2) + 1);
      expect(ended).toBe(false);
    }
    expect(lengths.size).toBeGreaterThan(8);
  });

  test('a sync covers what was written before it began, not what came during it', async () => {
    let lost = 0;
    for (let seed = 0; seed < 40; seed++) {
      const clock = new ManualClock();
      const disk = newDisk(seed, clock, 1);
      const file = await clock.until(fileOf(disk, Buffer.alloc(512, 9), true));
      await clock.until(file.pwrite(0, ones.subarray(0, 512)));
      const synced = file.fdatasync();
      disk.slow(0);
      await file.pwrite(0, twos.subarray(0, 512));
      await clock.until(synced);
      disk.crash('os');
      const byte = (await contentOf(disk))![511]!;
      expect(byte).not.toBe(9);
      if (byte === 1) lost++;
    }
    expect(lost).toBeGreaterThan(3);
  });

  test('of the process in the midst of a sync leaves nothing out that the next one covers', () => {
    const file = new SimFile();
    file.write(0, ones.subarray(0, 512));
    file.beginSync();
    file.write(0, twos.subarray(0, 512));
    file.endLife();
    file.endSync(file.beginSync(), false);
    file.crash(seededRandom(1), { lost: 1, garbage: 0 });
    expect(file.read(511, 1)[0]).toBe(2);
  });

  test('a write that is synced at once makes only itself durable', async () => {
    let lost = 0;
    for (let seed = 0; seed < 40; seed++) {
      const clock = new ManualClock();
      const disk = newDisk(seed, clock, 1);
      const file = await clock.until(fileOf(disk, Buffer.alloc(1_536, 9), true));
      await clock.until(file.pwrite(0, ones.subarray(0, 512)));
      await clock.until(file.pwriteSynced(512, ones.subarray(0, 512)));
      disk.slow(0);
      disk.crash('os');
      const content = (await contentOf(disk))!;
      expect(content[1_023]).toBe(1);
      expect(content[1_024]).toBe(9);
      if (content[511] === 9) lost++;
    }
    expect(lost).toBeGreaterThan(3);
  });

  test('ends every handle and session of before', async () => {
    const disk = newDisk();
    const file = await fileOf(disk, ones, true);
    const session = disk.session();
    disk.crash('process');
    await expect(file.pread(0, 1)).rejects.toThrow('EBADF');
    await expect(file.pwrite(0, ones)).rejects.toThrow('EBADF');
    expect(() => file.preadSync(0, 1)).toThrow('EBADF');
    await expect(session.list('d')).rejects.toThrow('EBADF');
    expect(await disk.session().list('d')).toEqual(['a']);
  });
});

describe('faults', () => {
  test('the next operation of a kind fails once, on the path and after the skips asked for', async () => {
    const disk = newDisk();
    const file = await fileOf(disk, ones, true);
    disk.failNext('pwrite', { code: 'EIO', skip: 1, path: 'd/a' });
    await file.pwrite(0, twos);
    await expect(file.pwrite(0, twos)).rejects.toThrow('EIO');
    await file.pwrite(0, twos);
  });

  test('what a failed sync left is lost even if a later sync succeeds', async () => {
    let lost = 0;
    for (let seed = 0; seed < 30; seed++) {
      const disk = newDisk(seed);
      const file = await fileOf(disk, ones, true);
      await file.pwrite(0, twos.subarray(0, 512));
      disk.failNext('fdatasync');
      await expect(file.fdatasync()).rejects.toThrow('EIO');
      await file.fdatasync();
      disk.crash('os');
      if ((await contentOf(disk))![0] !== 2) lost++;
    }
    expect(lost).toBeGreaterThan(3);
  });

  test('a full disk takes what fits and then says ENOSPC; overwriting goes on', async () => {
    const disk = newDisk();
    const file = await fileOf(disk, ones, true);
    disk.fullAfterBytes(8192 + 1000);
    const code = await file.pwrite(8192, ones).then(
      () => 'written',
      (error: unknown) => systemCodeOf(error),
    );
    expect(code).toBe('ENOSPC');
    expect(await file.size()).toBe(8192 + 1000);
    await file.pwrite(0, twos);
  });

  test('a flipped bit stays', async () => {
    const disk = newDisk();
    await fileOf(disk, ones, true);
    disk.flip('d/a', 5000, 0x80);
    disk.crash('os');
    expect((await contentOf(disk))![5000]).toBe(0x81);
  });

  test('the same seed gives the same crash', async () => {
    const images: (Buffer | undefined)[] = [];
    for (let run = 0; run < 2; run++) {
      const disk = newDisk('same');
      const file = await fileOf(disk, ones, true);
      await file.pwrite(100, twos);
      disk.crash('os');
      images.push(await contentOf(disk));
    }
    expect(images[0]).toEqual(images[1]);
  });

  test('waiting goes through the clock and slow makes it longer', async () => {
    const clock = new ManualClock();
    const disk = newDisk(1, clock, 2);
    await clock.until(disk.makeDir('d'));
    const first = clock.monotonicMs();
    expect(first).toBeGreaterThanOrEqual(1);
    disk.slow(100);
    await clock.until(disk.list('d'));
    expect(clock.monotonicMs() - first).toBeGreaterThanOrEqual(100);
  });
});
