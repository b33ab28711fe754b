import { constants, existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
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

test('a directory that cannot be synced is a failure, unless it may not be read', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kvorum-disk-'));
  made.push(dir);
  const failing = (code: string) => {
    const syncDir = () => Promise.reject(Object.assign(new Error(code), { code }));
    return Object.assign(Object.create(fsDisk) as Disk, { syncDir });
  };
  await expect(failing('EIO').makeDir(`${dir}/a`)).rejects.toThrow('EIO');
  await failing('EACCES').makeDir(`${dir}/b`);
});

/** Flags of this process's open files at `path`, as the system has them. */
function openFlags(path: string): number[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`) !== path) return [];
      const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
      return [Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '', 8)];
    } catch {
      return []; // closed meanwhile
    }
  });
}

test.skipIf(!existsSync('/proc/self/fdinfo'))(
  'what is written synced goes through a file opened for that, which is closed with it',
  async () => {
    const dir = await mkdtemp(join(tmpdir(), 'kvorum-disk-'));
    made.push(dir);
    const path = join(dir, 'log');
    const file = await fsDisk.open(path, 'create');
    await file.pwriteSynced(0, Buffer.from('abc'));
    await file.pwriteSynced(3, Buffer.from('def'));
    const synced = openFlags(path).filter((flags) => (flags & constants.O_DSYNC) !== 0);
    expect(synced).toHaveLength(1);
    await file.close();
    expect(openFlags(path)).toEqual([]);
  },
);

test('what is no directory is not an empty one', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kvorum-disk-'));
  made.push(dir);
  await writeFile(join(dir, 'file'), '12345');
  await expect(fsDisk.list(join(dir, 'file'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  await expect(fsDisk.bytesBelow(join(dir, 'file'))).rejects.toMatchObject({ code: 'ENOTDIR' });
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
