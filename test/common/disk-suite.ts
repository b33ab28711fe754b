/** What every Disk must do; the adapter over node:fs and the simulated one both run it. */
import { describe, expect, test } from 'vitest';
import { type Disk, readFile, replaceFile } from '../../src/common/disk.ts';
import { systemCodeOf } from '../../src/common/errors.ts';

async function codeOfFailure(run: Promise<unknown>): Promise<string | undefined> {
  try {
    await run;
  } catch (error) {
    return systemCodeOf(error);
  }
  return 'no failure';
}

export function diskSuite(name: string, make: () => Promise<{ disk: Disk; dir: string }>): void {
  describe(name, () => {
    test('reads back what was written, at any offset', async () => {
      const { disk, dir } = await make();
      const file = await disk.open(`${dir}/a`, 'create');
      await file.pwrite(0, Buffer.from('hello world'));
      await file.pwrite(6, Buffer.from('there'));
      await file.fdatasync();
      expect(await file.size()).toBe(11);
      expect((await file.pread(0, 100)).toString()).toBe('hello there');
      expect(file.preadSync(6, 3).toString()).toBe('the');
      expect(await file.pread(11, 5)).toHaveLength(0);
      expect(file.path).toBe(`${dir}/a`);
      await file.close();
    });

    test('writes that are synced at once are part of the same file', async () => {
      const { disk, dir } = await make();
      const file = await disk.open(`${dir}/a`, 'create');
      await file.pwrite(0, Buffer.from('hello world'));
      await file.pwriteSynced(6, Buffer.from('there'));
      await file.pwriteSynced(11, Buffer.alloc(300_000, 'x'));
      expect((await file.pread(0, 12)).toString()).toBe('hello therex');
      expect(await file.size()).toBe(300_011);
      await file.close();
      const reader = await disk.open(`${dir}/a`, 'read');
      expect(reader.preadSync(300_010, 2).toString()).toBe('x');
      await reader.close();
    });

    test('a gap before a write reads as zeros', async () => {
      const { disk, dir } = await make();
      const file = await disk.open(`${dir}/a`, 'create');
      await file.pwrite(70_000, Buffer.from('x'));
      expect(await file.size()).toBe(70_001);
      expect(await file.pread(69_998, 3)).toEqual(Buffer.from([0, 0, 0x78]));
      await file.close();
    });

    test('truncation cuts, and what grows again is zeros', async () => {
      const { disk, dir } = await make();
      const file = await disk.open(`${dir}/a`, 'create');
      await file.pwrite(0, Buffer.from('abcdef'));
      await file.truncate(2);
      expect(await file.size()).toBe(2);
      await file.truncate(4);
      expect(await file.pread(0, 10)).toEqual(Buffer.from([0x61, 0x62, 0, 0]));
      await file.close();
    });

    test('open modes say what must and must not exist', async () => {
      const { disk, dir } = await make();
      expect(await codeOfFailure(disk.open(`${dir}/a`, 'read'))).toBe('ENOENT');
      expect(await codeOfFailure(disk.open(`${dir}/a`, 'write'))).toBe('ENOENT');
      expect(await codeOfFailure(disk.open(`${dir}/no/a`, 'create'))).toBe('ENOENT');
      await (await disk.open(`${dir}/a`, 'create')).close();
      expect(await codeOfFailure(disk.open(`${dir}/a`, 'create'))).toBe('EEXIST');
      const reader = await disk.open(`${dir}/a`, 'read');
      expect(await codeOfFailure(reader.pwrite(0, Buffer.from('x')))).toBe('EBADF');
      await reader.close();
      expect(await codeOfFailure(reader.pread(0, 1))).toBe('EBADF');
    });

    test('names are listed sorted, renamed, removed', async () => {
      const { disk, dir } = await make();
      await disk.makeDir(`${dir}/sub/deep`);
      await disk.makeDir(`${dir}/sub`);
      for (const name of ['b', 'a'])
        await (await disk.open(`${dir}/sub/${name}`, 'create')).close();
      expect(await disk.list(`${dir}/sub`)).toEqual(['a', 'b', 'deep']);
      await disk.rename(`${dir}/sub/a`, `${dir}/sub/b`);
      expect(await disk.list(`${dir}/sub`)).toEqual(['b', 'deep']);
      await disk.syncDir(`${dir}/sub`);
      await disk.rename(`${dir}/sub`, `${dir}/moved`);
      expect(await disk.list(`${dir}/moved`)).toEqual(['b', 'deep']);
      expect(await disk.exists(`${dir}/moved/b`)).toBe(true);
      await disk.unlink(`${dir}/moved/b`);
      expect(await disk.exists(`${dir}/moved/b`)).toBe(false);
      expect(await codeOfFailure(disk.unlink(`${dir}/moved/b`))).toBe('ENOENT');
      await disk.removeTree(`${dir}/moved`);
      await disk.removeTree(`${dir}/moved`);
      expect(await disk.exists(`${dir}/moved`)).toBe(false);
      expect(await disk.list(`${dir}/moved`)).toEqual([]);
    });

    test('an open file outlives its name', async () => {
      const { disk, dir } = await make();
      const file = await disk.open(`${dir}/a`, 'create');
      await file.pwrite(0, Buffer.from('still'));
      await disk.unlink(`${dir}/a`);
      expect((await file.pread(0, 9)).toString()).toBe('still');
      await file.close();
    });

    test('a file has a second name until that is removed, and takes none that is there', async () => {
      const { disk, dir } = await make();
      const file = await disk.open(`${dir}/a`, 'create');
      await file.pwrite(0, Buffer.from('one'));
      await disk.link(`${dir}/a`, `${dir}/b`);
      await file.pwrite(0, Buffer.from('two'));
      await file.close();
      expect((await readFile(disk, `${dir}/b`, 3)).toString()).toBe('two');
      expect(await codeOfFailure(disk.link(`${dir}/a`, `${dir}/b`))).toBe('EEXIST');
      expect(await codeOfFailure(disk.link(`${dir}/no`, `${dir}/c`))).toBe('ENOENT');
      await disk.unlink(`${dir}/a`);
      expect(await disk.list(dir)).toEqual(['b']);
      expect((await readFile(disk, `${dir}/b`, 3)).toString()).toBe('two');
    });

    test('replaceFile replaces as a whole and readFile is bounded', async () => {
      const { disk, dir } = await make();
      await replaceFile(disk, `${dir}/a`, Buffer.from('one'));
      await replaceFile(disk, `${dir}/a`, Buffer.from('second'));
      expect((await readFile(disk, `${dir}/a`, 6)).toString()).toBe('second');
      await expect(readFile(disk, `${dir}/a`, 5)).rejects.toThrow('6 bytes, more than 5 allowed');
      expect(await disk.list(dir)).toEqual(['a']);
    });
  });
}
