import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { readFile, replaceFile } from '../../src/common/disk.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { checkLogIsThere, endQuarantine, quarantine } from '../../src/datanode/quarantine.ts';
import { SimDisk } from '../sim/disk.ts';

let disk: SimDisk;

beforeEach(async () => {
  disk = new SimDisk({ random: seededRandom(1), clock: systemClock });
  for (const dir of ['/d', '/d/log', '/d/engines']) await disk.makeDir(dir);
  for (const name of ['identity', 'table', 'log/1', 'engines/CURRENT']) {
    await replaceFile(disk, `/d/${name}`, Buffer.from(name));
  }
});

const damage = new Error('/d/log/1:4096: a batch is not sound');

describe('a data directory that cannot be trusted', () => {
  test('is set aside as a whole, and kept', async () => {
    await quarantine(disk, '/d', damage, silentLogger);
    expect(await disk.list('/d')).toEqual(['quarantine']);
    expect(await disk.list('/d/quarantine')).toEqual(['engines', 'identity', 'log', 'table']);
    expect((await readFile(disk, '/d/quarantine/log/1', 100)).toString()).toBe('log/1');
  });

  test('only once: the second time somebody has to look', async () => {
    await quarantine(disk, '/d', damage, silentLogger);
    await replaceFile(disk, '/d/identity', Buffer.from('another'));
    await expect(quarantine(disk, '/d', damage, silentLogger)).rejects.toThrow(
      /log\/1:4096: a batch is not sound; \/d\/quarantine holds what was set aside before: remove it/,
    );
    expect(await disk.exists('/d/identity')).toBe(true);
  });

  test.each(['pwrite', 'fdatasync', 'rename'] as const)(
    'is set aside by the next start where %s of the first mark failed',
    async (operation) => {
      disk.failNext(operation, { code: 'ENOSPC' });
      await expect(quarantine(disk, '/d', damage, silentLogger)).rejects.toThrow('ENOSPC');
      disk.crash('process');
      await endQuarantine(disk, '/d');
      await quarantine(disk, '/d', damage, silentLogger);
      expect(await disk.list('/d/quarantine')).toEqual(['engines', 'identity', 'log', 'table']);
    },
  );

  test('moved in part before a crash, is moved on before anything of it is read', async () => {
    for (let skip = 0; skip < 4; skip++) {
      const crashed = new SimDisk({ random: seededRandom(skip), clock: systemClock });
      for (const dir of ['/d', '/d/log', '/d/engines']) await crashed.makeDir(dir);
      for (const name of ['identity', 'table', 'log/1', 'engines/CURRENT']) {
        await replaceFile(crashed, `/d/${name}`, Buffer.from(name));
      }
      // the first rename is that of the mark itself
      crashed.failNext('rename', { skip: 1 + skip });
      await expect(quarantine(crashed, '/d', damage, silentLogger)).rejects.toThrow('EIO');
      crashed.crash('process');
      await endQuarantine(crashed, '/d');
      expect(await crashed.list('/d')).toEqual(['quarantine']);
      expect(await crashed.list('/d/quarantine')).toEqual(['engines', 'identity', 'log', 'table']);
      await endQuarantine(crashed, '/d');
    }
  });
});

test('a log that is gone beside its engines is damage', async () => {
  await checkLogIsThere(disk, '/d', ['1-0']);
  await disk.removeTree('/d/log');
  await checkLogIsThere(disk, '/d', []);
  await expect(checkLogIsThere(disk, '/d', ['1-0'])).rejects.toMatchObject({ code: 'CORRUPT' });
});
