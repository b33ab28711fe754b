import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
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
