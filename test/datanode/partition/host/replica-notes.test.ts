/** What a node remembers of its replicas beside their logs: whose they are, and which may have promised their vote. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readChecked, writeChecked } from '../../../../src/common/checked-file.ts';
import type { Disk } from '../../../../src/common/disk.ts';
import { fsDisk } from '../../../../src/common/fs-disk.ts';
import { ReplicaNotes } from '../../../../src/datanode/partition/host/replica-notes.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true });
});

const open = (disk: Disk = fsDisk) => ReplicaNotes.open(disk, dir, 'i');
const ORIGINS = new Map([1, 2].map((id) => [id, { group: 7, epoch: 1 }]));

describe('notes and logs of another', () => {
  test('are not taken for its own by a node that has become another incarnation', async () => {
    await (await open()).addOrigins(ORIGINS);
    const other = ReplicaNotes.open(fsDisk, dir, 'j');
    await expect(other).rejects.toMatchObject({ code: 'CORRUPT' });
    await expect(other).rejects.toThrow('belongs to incarnation i, this is j');
    expect([...(await open()).origins().keys()]).toEqual([1, 2]);
  });

  test('a log may hold what is noted, and nothing else', async () => {
    const notes = await open();
    await notes.addOrigins(ORIGINS);
    expect(() => notes.checkLog([2])).not.toThrow();
    expect(() => notes.checkLog([1, 3])).toThrow('does not know replica 3');
  });
});

describe('a promise of a vote', () => {
  test('is outlived by its note, until the replica is forgotten', async () => {
    const notes = await open();
    await notes.addOrigins(ORIGINS);
    await notes.addPromising([1]);
    const later = await open();
    expect([1, 2].map((id) => later.mayPromise(id))).toEqual([true, false]);
    await later.forget([1]);
    expect(later.mayPromise(1)).toBe(false);
    expect((await open()).mayPromise(1)).toBe(false);
  });

  test('may be given only when the note is on disk', async () => {
    const { disk, release } = heldDisk();
    const notes = await open(disk);
    const written = notes.addPromising([1]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(notes.mayPromise(1)).toBe(false);
    release();
    await written;
    expect(notes.mayPromise(1)).toBe(true);
  });

  test('is not given when the note could not be written, and is when it can', async () => {
    let full = true;
    const rename: Disk['rename'] = (from, to) =>
      full ? Promise.reject(new Error('no space')) : fsDisk.rename(from, to);
    const notes = await open(Object.assign(Object.create(fsDisk) as Disk, { rename }));
    await expect(notes.addPromising([1])).rejects.toThrow('no space');
    expect(notes.mayPromise(1)).toBe(false);
    full = false;
    await notes.addPromising([1]);
    expect((await open()).mayPromise(1)).toBe(true);
  });

  test('may have been given by any replica of notes that do not say', async () => {
    const notes = await open();
    await notes.addOrigins(ORIGINS);
    const path = `${dir}/replicas`;
    const { promised, ...older } = (await readChecked<{ promised: unknown }>(fsDisk, path, ''))!;
    expect(promised).toEqual([]);
    await writeChecked(fsDisk, path, older);
    const later = await open();
    expect([1, 2, 3].map((id) => later.mayPromise(id))).toEqual([true, true, false]);
  });
});

test('the count of starts outlives the process, and other notes keep it', async () => {
  const notes = await open();
  expect(notes.life).toBeUndefined();
  await notes.beginLife(3);
  await notes.addOrigins(ORIGINS);
  expect((await open()).life).toBe(3);
});

/** Nothing gets its name on it before `release`. */
function heldDisk(): { readonly disk: Disk; release(): void } {
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const rename: Disk['rename'] = async (from, to) => {
    await held;
    return fsDisk.rename(from, to);
  };
  const disk = Object.assign(Object.create(fsDisk) as Disk, { rename });
  return { disk, release: () => release() };
}
