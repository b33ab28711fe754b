import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Disk } from '../../../src/common/disk.ts';
import { codeOf } from '../../../src/common/errors.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { LevelLogSync } from '../../../src/datanode/engine/level-sync.ts';
import { createLevelHost } from '../../../src/datanode/engine/leveldb.ts';
import { key, put } from '../../conformance/engine.ts';

const options = { logger: silentLogger, cacheBytes: 32 * 1024 * 1024 };

describe('sync of LevelDB', () => {
  let dir: string;
  const synced: string[] = [];
  let failing = false;

  /** The real disk; notes what is synced, and fails when told to. */
  const noting: Disk = {
    ...fsDisk,
    async open(path, mode) {
      const file = await fsDisk.open(path, mode);
      const fdatasync = async () => {
        if (failing) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
        await file.fdatasync();
        synced.push(path);
      };
      return {
        path,
        size: () => file.size(),
        pread: (offset, length) => file.pread(offset, length),
        preadSync: (offset, length) => file.preadSync(offset, length),
        pwrite: (offset, bytes) => file.pwrite(offset, bytes),
        pwriteSynced: (offset, bytes) => file.pwriteSynced(offset, bytes),
        truncate: (size) => file.truncate(size),
        close: () => file.close(),
        fdatasync,
      };
    },
    async syncDir(path) {
      await fsDisk.syncDir(path);
      synced.push(path);
    },
  };

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'kvorum-sync-'));
    failing = false;
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  test('reaches every log, and the directory when a log is new', async () => {
    const host = createLevelHost({ ...options, dir, disk: noting, writeBufferBytes: 65_536 });
    const { engine } = await host.open('1-1');
    const path = join(dir, '1-1');
    await engine.write([put('a', '1')]);
    synced.length = 0;
    await engine.sync();
    expect(synced).toEqual([expect.stringMatching(/1-1\/\d+\.log$/), path]);
    await engine.write([put('b', '1')]);
    synced.length = 0;
    await engine.sync();
    expect(synced).toEqual([expect.stringMatching(/1-1\/\d+\.log$/)]);
    for (let i = 0; i < 40; i++) await engine.write([put(`k${i}`, Buffer.alloc(10_000, i))]);
    const logs = (await fsDisk.list(path)).filter((name) => name.endsWith('.log'));
    synced.length = 0;
    await engine.sync();
    expect(synced).toContain(join(path, logs.at(-1)!));
    expect(synced.at(-1)).toBe(path);
    await engine.close();
  });

  test('reaches a log that is being made into a table, too, before the one that follows it', async () => {
    for (const name of ['000010.log', '000009.log', '000008.ldb'])
      await writeFile(join(dir, name), '');
    const sync = new LevelLogSync(noting, dir);
    synced.length = 0;
    await sync.sync();
    expect(synced).toEqual([join(dir, '000009.log'), join(dir, '000010.log'), dir]);
    // it is one by now, and the next was there when the logs were listed
    const listing: Disk = {
      ...noting,
      list: async () => ['000009.log', '000010.log', '000011.log'],
    };
    await rm(join(dir, '000009.log'));
    await writeFile(join(dir, '000011.log'), '');
    synced.length = 0;
    await new LevelLogSync(listing, dir).sync();
    expect(synced).toEqual([join(dir, '000010.log'), join(dir, '000011.log'), dir]);
  });

  test('that fails ends all writing, and reading goes on', async () => {
    const { engine } = await createLevelHost({ ...options, dir, disk: noting }).open('1-1');
    await engine.write([put('a', '1')]);
    failing = true;
    expect(await engine.sync().catch(codeOf)).toBe('DISK_FAILED');
    failing = false;
    expect(await engine.sync().catch(codeOf)).toBe('DISK_FAILED');
    expect(await engine.write([put('a', '2')]).catch(codeOf)).toBe('DISK_FAILED');
    expect(engine.getSync(key('a'))).toEqual(key('1'));
    await engine.close();
  });

  test('a new engine is in its directory for good before it is handed out', async () => {
    synced.length = 0;
    const { engine } = await createLevelHost({ ...options, dir, disk: noting }).open('1-1');
    expect(new Set(synced)).toEqual(new Set([join(dir, '1-1'), dir, dirname(dir)]));
    await engine.close();
  });
});
