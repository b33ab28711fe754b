/** A segment whose creation failed is created when it is needed, once the disk is mended. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Disk } from '../../../src/common/disk.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { Segment } from '../../../src/datanode/raftlog/segment.ts';

const AHEAD = 8_192;
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-segment-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test.each(['syncDir', 'open'] as const)(
  'a %s that failed is no failure for ever',
  async (broken) => {
    let fails = true;
    const failing = () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' }));
    const disk: Disk = {
      ...fsDisk,
      open: (path, mode) => (fails && broken === 'open' ? failing() : fsDisk.open(path, mode)),
      syncDir: (path) => (fails && broken === 'syncDir' ? failing() : fsDisk.syncDir(path)),
    };
    const segment = new Segment(2, dir);
    await expect(segment.create(disk, dir, AHEAD)).rejects.toThrow('EIO');
    expect(segment.file).toBeUndefined();
    expect(segment.filled).toBe(0);
    expect(readdirSync(dir)).toEqual([]);
    fails = false;
    const file = await segment.create(disk, dir, AHEAD);
    expect(segment.file).toBe(file);
    expect(await file.size()).toBe(AHEAD);
    expect(await segment.create(disk, dir, 0)).toBe(file);
    await file.close();
  },
);
