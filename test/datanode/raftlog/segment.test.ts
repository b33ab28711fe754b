/** What the disk failed at is tried again: the creation of a segment, and room ahead in the next. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Disk, DiskFile } from '../../../src/common/disk.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { Segment, SegmentSet } from '../../../src/datanode/raftlog/segment.ts';

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

/** Writes fail with the code, if there is one. */
function failingAtWrites(code: () => string | undefined): Disk {
  const failing = (file: DiskFile): DiskFile =>
    new Proxy(file, {
      get(target, name) {
        const broken = name === 'pwrite' ? code() : undefined;
        if (broken) return () => Promise.reject(Object.assign(new Error(broken), { code: broken }));
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  return { ...fsDisk, open: async (...args) => failing(await fsDisk.open(...args)) };
}

test.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('%s leaves a segment without room ahead', async (code) => {
  const segment = new Segment(1, dir);
  const file = await segment.create(
    failingAtWrites(() => code),
    dir,
    AHEAD,
  );
  expect(segment.filled).toBe(0);
  expect(await file.size()).toBe(0);
  await file.close();
});

test('a segment without room ahead, since the disk failed at it, is followed by one with', async () => {
  const errors: unknown[] = [];
  let fails = true;
  const disk = failingAtWrites(() => (fails ? 'EIO' : undefined));
  const segments = new SegmentSet({
    ...{ disk, dir, segmentBytes: 8 * AHEAD },
    onBackgroundError: (error) => errors.push(error),
  });
  try {
    const first = await segments.writable(segments.begin(1));
    segments.prepareAhead(1);
    await expect.poll(() => errors.length).toBe(1);
    fails = false;
    segments.prepareAhead(1);
    const second = await segments.writable(segments.begin(2));
    segments.prepareAhead(2);
    await expect.poll(() => second.size()).toBeGreaterThan(0);
    expect(await first.size()).toBe(0);
    expect(errors).toHaveLength(1);
  } finally {
    await segments.close();
  }
});
