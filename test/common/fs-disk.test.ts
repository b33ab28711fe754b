import { mkdtemp, rm } from 'node:fs/promises';
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
