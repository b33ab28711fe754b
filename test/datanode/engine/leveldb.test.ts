import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Disk } from '../../../src/common/disk.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { createLevelHost } from '../../../src/datanode/engine/leveldb.ts';
import { encodeMark, encodeRedo } from '../../../src/datanode/engine/redo.ts';
import { engineConformance, put, readAll } from '../../conformance/engine.ts';

const options = { logger: silentLogger, cacheBytes: 32 * 1024 * 1024 };
const makeDir = () => mkdtemp(join(tmpdir(), 'kvorum-engine-'));

const small = {
  ...{ operationsMin: 1, bytesMax: 10, operationsMax: 1_000 },
  ...{ partBytes: 20_000, redoBytes: 10_000 },
};

describe.each([
  { name: 'the LevelDB engine' },
  { name: 'the LevelDB engine, all writes in parts', largeWrites: small },
])('$name', ({ largeWrites }) => {
  engineConformance(async () => {
    const dir = await makeDir();
    const create = () =>
      createLevelHost({ ...options, dir, disk: fsDisk, ...(largeWrites && { largeWrites }) });
    return {
      host: create(),
      reopen: create,
      dispose: () => rm(dir, { recursive: true, force: true }),
    };
  });
});

test('an engine is there after a loss of power, with the directories above it', async () => {
  const data = await makeDir();
  const synced: string[] = [];
  const syncDir: Disk['syncDir'] = (path) => {
    synced.push(path);
    return fsDisk.syncDir(path);
  };
  const disk = Object.assign(Object.create(fsDisk) as Disk, { syncDir });
  const host = createLevelHost({ ...options, dir: `${data}/engines`, disk });
  // the second one's directories are there: who made them may have died before they were synced
  for (const name of ['1-0', '2-0']) {
    synced.length = 0;
    const { engine } = await host.open(name);
    const names = [data, `${data}/engines`, `${data}/engines/${name}`];
    expect(names.filter((one) => !synced.includes(one))).toEqual([]);
    await engine.close();
  }
  await rm(data, { recursive: true });
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

test('a large write that a crash cut off is ended when the engine opens', async () => {
  const dir = await makeDir();
  const host = createLevelHost({ ...options, dir, disk: fsDisk });
  const { engine } = await host.open('1-1');
  const large = [put('a', '1'), put('b', '2'), put('c', '3')];
  await engine.write([encodeRedo(0, large.slice(0, 2)), encodeRedo(1, large.slice(2))]);
  await engine.write([encodeMark(2)]);
  await engine.write([large[0]!]);
  await engine.close();
  const next = await host.open('1-1');
  expect((await readAll(next.engine)).map(String)).toEqual(['a,1', 'b,2', 'c,3']);
  await next.engine.write([encodeRedo(0, [put('a', 'never')])]);
  await next.engine.close();
  const last = await host.open('1-1');
  expect((await readAll(last.engine)).map(String)).toEqual(['a,1', 'b,2', 'c,3']);
  await last.engine.close();
  await rm(dir, { recursive: true, force: true });
});
