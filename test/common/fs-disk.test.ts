import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Disk } from '../../src/common/disk.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { diskSuite } from './disk-suite.ts';

const made: string[] = [];

afterAll(async () => {
  for (const dir of made) await rm(dir, { recursive: true, force: true });
});

diskSuite('the disk over node:fs', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kvorum-disk-'));
  made.push(dir);
  return { disk: fsDisk, dir };
});

test('every directory that is made has its name synced', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kvorum-disk-'));
  made.push(dir);
  const synced: string[] = [];
  const syncDir: Disk['syncDir'] = async (path) => void synced.push(path);
  const disk = Object.assign(Object.create(fsDisk) as Disk, { syncDir });
  await disk.makeDir(`${dir}/a/b/c`);
  expect(synced).toEqual([`${dir}/a/b`, `${dir}/a`, dir]);
  await disk.makeDir(`${dir}/a/b/c`);
  expect(synced.length).toBe(3);
});

test('what vanishes while the bytes below are summed leaves the others in the sum', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kvorum-disk-'));
  made.push(dir);
  await mkdir(join(dir, 'below'));
  // listed, and not there when it is asked for its size
  for (const at of [dir, join(dir, 'below')]) await symlink(join(dir, 'none'), join(at, 'a'));
  for (const name of ['0', 'b', 'below/b', 'c']) await writeFile(join(dir, name), '12345');
  expect(await fsDisk.bytesBelow(dir)).toBe(20);
  expect(await fsDisk.bytesBelow(join(dir, 'none'))).toBe(0);
});

test.skipIf(!existsSync('/dev/full'))('a write that fails names its file', async () => {
  const file = await fsDisk.open('/dev/full', 'write');
  try {
    const writes = [file.pwrite(0, Buffer.of(1)), file.pwriteSynced(0, Buffer.of(1))];
    for (const write of writes) {
      await expect(write).rejects.toMatchObject({
        code: 'ENOSPC',
        message: expect.stringMatching(/no space left on device, write '\/dev\/full'$/),
      });
    }
    await expect(file.truncate(1)).rejects.toThrow(`'${file.path}'`);
  } finally {
    await file.close();
  }
});

test('a read that fails names its file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kvorum-disk-'));
  made.push(dir);
  const file = await fsDisk.open(dir, 'read');
  try {
    await expect(file.pread(0, 1)).rejects.toMatchObject({
      code: 'EISDIR',
      message: expect.stringContaining(`'${dir}'`),
    });
  } finally {
    await file.close();
  }
});
