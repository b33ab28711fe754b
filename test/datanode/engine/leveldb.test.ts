import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { createLevelHost } from '../../../src/datanode/engine/leveldb.ts';
import { engineConformance, put, readAll } from '../../conformance/engine.ts';

const options = { logger: silentLogger, cacheBytes: 32 * 1024 * 1024 };
const makeDir = () => mkdtemp(join(tmpdir(), 'kvorum-engine-'));

describe('the LevelDB engine', () => {
  engineConformance(async () => {
    const dir = await makeDir();
    const create = () => createLevelHost({ ...options, dir, disk: fsDisk });
    return {
      host: create(),
      reopen: create,
      dispose: () => rm(dir, { recursive: true, force: true }),
    };
  });
});

test('an engine that another process holds is refused with its path', async () => {
  const dir = await makeDir();
  const first = await createLevelHost({ ...options, dir, disk: fsDisk }).open('1-1');
  const second = createLevelHost({ ...options, dir, disk: fsDisk }).open('1-1');
  await expect(second).rejects.toThrow(/1-1.*another process uses it/);
  await first.engine.close();
  await rm(dir, { recursive: true, force: true });
});

test('a removal that was cut short is ended by the next host', async () => {
  const dir = await makeDir();
  const host = createLevelHost({ ...options, dir, disk: fsDisk });
  const { engine } = await host.open('1-1');
  await engine.write([put('a', '1')]);
  await engine.close();
  await fsDisk.rename(join(dir, '1-1'), join(dir, 'removed-1-1'));
  const next = createLevelHost({ ...options, dir, disk: fsDisk });
  expect(await next.list()).toEqual([]);
  expect(await fsDisk.list(dir)).toEqual([]);
  const again = await next.open('1-1');
  expect(await readAll(again.engine)).toEqual([]);
  await next.remove('1-1'); // closes it first
  expect(await fsDisk.list(dir)).toEqual([]);
  await rm(dir, { recursive: true, force: true });
});
