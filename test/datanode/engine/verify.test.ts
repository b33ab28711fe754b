import { readdir, readFile, rm, stat, truncate, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { codeOf, messageOf } from '../../../src/common/errors.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { verifyLevelDirectory } from '../../../src/datanode/engine/verify.ts';
import { encodeLog, physical } from '../../sim/level-format.ts';
import {
  copyImage,
  editFile,
  emptyImage,
  fileOf,
  flipBit,
  type Image,
  logOf,
  manifestOf,
  openImage,
  recordsOf,
  removeImage,
  writeBatches,
} from './level-directory.ts';

const BATCHES = 600;
const random = seededRandom('verify');
let original: Image;
let image: Image;

beforeAll(async () => {
  original = await emptyImage();
  await writeBatches(original, BATCHES);
});
afterAll(() => removeImage(original));
afterEach(() => removeImage(image));

async function openExpecting(applied: number): Promise<void> {
  const outcome = await openImage(image);
  expect(outcome).toMatchObject({ kind: 'open', applied });
}

/** Verifies without opening: what was cut, or the text of the CORRUPT error. */
async function verify(): Promise<{ cut?: number; corrupt?: string }> {
  try {
    return { cut: (await verifyLevelDirectory(fsDisk, image.path)).cutBytes };
  } catch (error) {
    expect(codeOf(error)).toBe('CORRUPT');
    return { corrupt: messageOf(error) };
  }
}

describe('an undamaged directory', () => {
  test('opens with nothing cut, again and again', async () => {
    image = await copyImage(original);
    for (let round = 0; round < 3; round++) {
      const outcome = await openImage(image);
      expect(outcome).toEqual({
        kind: 'open',
        applied: BATCHES,
        report: { cutBytes: 0, cuts: [] },
      });
    }
  });

  test('with tables and compactions behind it opens with nothing cut', async () => {
    image = await emptyImage();
    await writeBatches(image, 900, 128 * 1024);
    expect((await readdir(image.path)).some((name) => name.endsWith('.ldb'))).toBe(true);
    const outcome = await openImage(image);
    expect(outcome).toMatchObject({ kind: 'open', applied: 900, report: { cutBytes: 0 } });
  });

  test('that is missing, empty, or was never finished counts as new', async () => {
    image = await emptyImage();
    await openExpecting(0);
    await rm(image.path, { recursive: true });
    await fsDisk.makeDir(image.path);
    await openExpecting(0);
    // as a process killed in LevelDB's creation leaves it
    await unlink(join(image.path, 'CURRENT'));
    await openExpecting(0);
  });
});

describe('a damaged log', () => {
  test('with a lost page is cut there: batches before it remain, none after it', async () => {
    const size = (await stat(await logOf(original))).size;
    const pages = Math.floor(size / 4096);
    for (const page of [0, 1, Math.floor(pages / 2), pages - 2, ...draw(6, pages)]) {
      image = await copyImage(original);
      const log = await logOf(image);
      await editFile(log, (bytes) => bytes.fill(0, page * 4096, (page + 1) * 4096));
      const outcome = await openImage(image);
      if (outcome.kind !== 'open') throw new Error(outcome.message);
      expect(outcome.applied).toBeLessThan(BATCHES);
      const { report } = outcome;
      expect(report.cuts).toHaveLength(1);
      const offset = Number(/\.log:(\d+): /.exec(report.cuts[0]!)?.[1]);
      expect(report.cuts[0]).toContain(log);
      expect(offset).toBeLessThan((page + 1) * 4096);
      expect(offset + report.cutBytes).toBe(size);
      const again = await openImage(image);
      expect(again).toMatchObject({ applied: outcome.applied, report: { cutBytes: 0 } });
      await removeImage(image);
    }
  });

  test('with any bit flipped keeps a prefix of the batches', async () => {
    const bytes = await readFile(await logOf(original));
    let lost = 0;
    for (const bit of [...range(0, 112), ...draw(60, bytes.length * 8)]) {
      image = await copyImage(original);
      await writeFile(await logOf(image), flipBit(bytes, bit));
      const outcome = await openImage(image);
      if (outcome.kind !== 'open') throw new Error(outcome.message);
      // a flip that was not cut may only be in the padding of a block
      expect(outcome.applied < BATCHES).toBe(outcome.report.cutBytes > 0);
      if (outcome.applied < BATCHES) lost++;
      await removeImage(image);
    }
    expect(lost).toBeGreaterThan(160);
  });

  test('cut short anywhere keeps a prefix of the batches', async () => {
    const size = (await stat(await logOf(original))).size;
    for (const length of [0, 1, 6, 7, 8, size - 1, ...draw(20, size)]) {
      image = await copyImage(original);
      await truncate(await logOf(image), length);
      const outcome = await openImage(image);
      if (outcome.kind !== 'open') throw new Error(outcome.message);
      expect(outcome.applied).toBeLessThan(BATCHES);
      await removeImage(image);
    }
  });

  test('followed by zeros alone is whole, followed by anything else is cut', async () => {
    image = await copyImage(original);
    const log = await logOf(image);
    const bytes = await readFile(log);
    await writeFile(log, Buffer.concat([bytes, Buffer.alloc(100_000)]));
    expect(await verify()).toEqual({ cut: 0 });
    await writeFile(log, Buffer.concat([bytes, Buffer.alloc(99_999), Buffer.from([1])]));
    expect(await verify()).toEqual({ cut: 100_000 });
    expect(bytes.equals(await readFile(log))).toBe(true);
    await writeFile(log, Buffer.concat([bytes, Buffer.from([1, 2, 3])]));
    expect(await verify()).toEqual({ cut: 3 });
    await openExpecting(BATCHES);
  });

  test('with whole batches missing from its middle is cut at the gap', async () => {
    image = await copyImage(original);
    const log = await logOf(image);
    const records = await recordsOf(log);
    expect(encodeLog(records).equals(await readFile(log))).toBe(true);
    await writeFile(log, encodeLog([...records.slice(0, 300), ...records.slice(301)]));
    await openExpecting(300);
  });

  test('with a batch twice is cut before the second', async () => {
    image = await copyImage(original);
    const log = await logOf(image);
    const records = await recordsOf(log);
    await writeFile(log, encodeLog([...records.slice(0, 300), ...records.slice(299)]));
    await openExpecting(300);
  });

  test('with its first batches missing is cut whole', async () => {
    image = await copyImage(original);
    const log = await logOf(image);
    await writeFile(log, encodeLog((await recordsOf(log)).slice(1)));
    await openExpecting(0);
  });

  test('with a single operation missing before its first batch is cut whole', async () => {
    image = await copyImage(original);
    const log = await logOf(image);
    const records = await recordsOf(log);
    for (const record of records) record.writeUInt32LE(record.readUInt32LE(0) + 1, 0);
    await writeFile(log, encodeLog(records));
    await openExpecting(0);
  });

  test('with a record too short for a batch is cut there', async () => {
    image = await copyImage(original);
    const log = await logOf(image);
    const records = (await recordsOf(log)).slice(0, 20);
    await writeFile(log, encodeLog([...records, Buffer.alloc(11, 1)]));
    await openExpecting(20);
  });

  test('with fragments out of order is cut there', async () => {
    for (const types of [[2, 2], [2, 1], [3], [4], [2, 3], [9]]) {
      image = await copyImage(original);
      const log = await logOf(image);
      const good = encodeLog((await recordsOf(log)).slice(0, 20));
      const bad = types.map((type) => physical(type, Buffer.alloc(20, 1)));
      await writeFile(log, Buffer.concat([good, ...bad]));
      expect(await verify()).toEqual({ cut: bad.length * 27 });
      await openExpecting(20);
      await removeImage(image);
    }
  });
});

describe('several logs', () => {
  /** The image's log in three, as when LevelDB has switched logs twice. */
  async function splitLog(): Promise<readonly string[]> {
    image = await copyImage(original);
    const log = await logOf(image);
    const records = await recordsOf(log);
    const paths = [log, join(image.path, '000101.log'), join(image.path, '000202.log')] as const;
    await writeFile(paths[0], encodeLog(records.slice(0, 200)));
    await writeFile(paths[1], encodeLog(records.slice(200, 400)));
    await writeFile(paths[2], encodeLog(records.slice(400)));
    return paths;
  }

  test('in one unbroken sequence are all kept', async () => {
    await splitLog();
    expect(await verify()).toEqual({ cut: 0 });
    await openExpecting(BATCHES);
  });

  test('the logs after a damaged one go with it', async () => {
    for (const [damaged, limit] of [
      [0, 200],
      [1, 400],
    ] as const) {
      const paths = await splitLog();
      await editFile(paths[damaged]!, (bytes) => flipBit(bytes, bytes.length * 4));
      const outcome = await openImage(image);
      if (outcome.kind !== 'open') throw new Error(outcome.message);
      expect(outcome.applied).toBeGreaterThan(limit - 200);
      expect(outcome.applied).toBeLessThan(limit);
      expect(outcome.report.cuts).toHaveLength(paths.length - damaged);
      await removeImage(image);
    }
  });

  test('the logs after one that lost its end at a record go with it', async () => {
    const paths = await splitLog();
    await writeFile(paths[0]!, '');
    await openExpecting(0);
    await removeImage(image);
    const [first] = await splitLog();
    await writeFile(first!, encodeLog((await recordsOf(first!)).slice(0, 150)));
    await openExpecting(150);
  });

  test('the logs after a missing one go', async () => {
    const [, second] = await splitLog();
    await unlink(second!);
    await openExpecting(200);
    await removeImage(image);
    const [first] = await splitLog();
    await unlink(first!);
    const outcome = await openImage(image);
    expect(outcome).toMatchObject({ kind: 'open', applied: 0 });
  });

  test('a lost first log is noticed where MANIFEST’s last sequence is past it', async () => {
    // as after a flush: it records the newest sequence, not that of the log's beginning
    const flushed = physical(1, Buffer.from([4, 0xff, 0xff, 0x7f]));
    for (const lose of [unlink, (path: string) => writeFile(path, '')]) {
      const [first] = await splitLog();
      await editFile(await manifestOf(image), (bytes) => Buffer.concat([bytes, flushed]));
      expect(await verify()).toEqual({ cut: 0 });
      await lose(first!);
      expect((await verify()).cut).toBeGreaterThan(100_000);
      await openExpecting(0);
      await removeImage(image);
    }
  });

  test('an empty last log is no damage', async () => {
    await splitLog();
    await writeFile(join(image.path, '000303.log'), '');
    expect(await verify()).toEqual({ cut: 0 });
    await openExpecting(BATCHES);
  });

  test('with random pages lost keep a prefix of the batches', async () => {
    for (let round = 0; round < 12; round++) {
      const paths = await splitLog();
      for (let lost = 0; lost <= random.below(3); lost++) {
        await editFile(paths[random.below(3)]!, (bytes) => {
          const page = random.below(Math.ceil(bytes.length / 4096)) * 4096;
          return random.below(4) === 0 ? bytes.subarray(0, page) : bytes.fill(0, page, page + 4096);
        });
      }
      expect(await openImage(image)).toMatchObject({ kind: 'open' });
      await removeImage(image);
    }
  });

  test('that MANIFEST no longer needs are not looked at', async () => {
    image = await emptyImage();
    await writeBatches(image, 100);
    await openExpecting(100);
    await writeFile(join(image.path, '000001.log'), 'an old log');
    expect(await verify()).toEqual({ cut: 0 });
    await openExpecting(100);
  });
});

describe('damage that cannot be cut', () => {
  beforeAll(async () => {
    await writeBatches(original, 0); // a second opening: MANIFEST names tables now
  });

  test('any flipped bit of MANIFEST is corruption, not another state', async () => {
    image = await copyImage(original);
    const manifest = await manifestOf(image);
    const bytes = await readFile(manifest);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      await writeFile(manifest, flipBit(bytes, bit));
      expect((await verify()).corrupt).toContain(manifest);
    }
    await writeFile(manifest, bytes);
    await openExpecting(BATCHES);
  });

  test('any flipped bit of CURRENT is corruption', async () => {
    image = await copyImage(original);
    const current = join(image.path, 'CURRENT');
    const bytes = await readFile(current);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      await writeFile(current, flipBit(bytes, bit));
      expect((await verify()).corrupt).toMatch(/CURRENT|MANIFEST/);
    }
    await writeFile(current, '');
    expect((await verify()).corrupt).toContain('CURRENT');
  });

  test('a MANIFEST that ends inside its last record is as good as without it', async () => {
    image = await copyImage(original);
    const manifest = await manifestOf(image);
    const unfinished = physical(1, Buffer.alloc(60, 7)).subarray(0, 40);
    await editFile(manifest, (bytes) => Buffer.concat([bytes, unfinished]));
    await openExpecting(BATCHES);
  });

  test('a last MANIFEST record that power cut short is cut: sectors of it are missing', async () => {
    const torn = physical(1, Buffer.alloc(1_500, 7));
    for (const [from, to] of [
      [0, 300],
      [300, 812],
      [1_000, 1_507],
      [0, 1_507],
    ] as const) {
      image = await copyImage(original);
      const manifest = await manifestOf(image);
      const { size } = await stat(manifest);
      const left = Buffer.from(torn).fill(0, from, to);
      await editFile(manifest, (bytes) => Buffer.concat([bytes, left]));
      const outcome = await openImage(image);
      expect(outcome).toMatchObject({ kind: 'open', applied: BATCHES });
      const cuts = outcome.kind === 'open' ? outcome.report.cuts : [];
      // nothing but zeros is room that was made ahead
      if (from > 0 || to < torn.length) expect(cuts[0]).toContain(`${manifest}:${size}: `);
      await removeImage(image);
    }
  });

  test('a last MANIFEST record that names a table whose name never reached the disk is cut', async () => {
    image = await copyImage(original);
    const manifest = await manifestOf(image);
    const { size } = await stat(manifest);
    // tag of a new table, level 0, number 99, 100 bytes, smallest and largest key
    const edit = Buffer.from([7, 0, 99, 100, 1, 97, 1, 98]);
    await editFile(manifest, (bytes) => Buffer.concat([bytes, physical(1, edit)]));
    const outcome = await openImage(image);
    expect(outcome).toMatchObject({ kind: 'open', applied: BATCHES });
    const cuts = outcome.kind === 'open' ? outcome.report.cuts : [];
    expect(cuts).toEqual([`${manifest}:${size}: names table 99, which is missing`]);
  });

  test('a last MANIFEST record that went bad after it was acted upon is corruption', async () => {
    image = await copyImage(original);
    const manifest = await manifestOf(image);
    const { size } = await stat(manifest);
    const acted = flipBit(physical(1, Buffer.alloc(60, 7)), 300);
    await editFile(manifest, (bytes) => Buffer.concat([bytes, acted]));
    await unlink(await fileOf(image, /\.ldb$/));
    const text = `${manifest}:${size}: checksum mismatch, and the records before need table`;
    expect((await verify()).corrupt).toContain(text);
  });

  test('a bad MANIFEST record before a sound one, or a sound one that makes no sense, is corruption', async () => {
    image = await copyImage(original);
    const manifest = await manifestOf(image);
    const bytes = await readFile(manifest);
    const bad = flipBit(physical(1, Buffer.alloc(900, 7)), 4_000);
    const sound = physical(1, Buffer.from([2, 200, 1]));
    await writeFile(manifest, Buffer.concat([bytes, bad, sound]));
    expect((await verify()).corrupt).toContain(`${manifest}:${bytes.length}: checksum mismatch`);
    await writeFile(manifest, Buffer.concat([bytes, physical(1, Buffer.from([99]))]));
    expect((await verify()).corrupt).toContain(`${manifest}:${bytes.length}: unknown field 99`);
  });

  test('a MANIFEST without records, or missing, is corruption', async () => {
    image = await copyImage(original);
    const manifest = await manifestOf(image);
    await writeFile(manifest, '');
    expect((await verify()).corrupt).toContain('lacks');
    await writeFile(manifest, Buffer.alloc(4096));
    expect((await verify()).corrupt).toContain('lacks');
    await unlink(manifest);
    expect((await verify()).corrupt).toContain('missing');
  });

  test('a missing or shortened table is corruption', async () => {
    image = await copyImage(original);
    const table = await fileOf(image, /\.ldb$/);
    await truncate(table, (await stat(table)).size - 1);
    expect((await verify()).corrupt).toContain(table);
    await unlink(table);
    expect((await verify()).corrupt).toContain('table is missing');
  });

  test('a flipped bit in any block of a table is corruption, before LevelDB serves or copies it', async () => {
    image = await copyImage(original);
    const table = await fileOf(image, /\.ldb$/);
    const bytes = await readFile(table);
    for (const bit of draw(60, (bytes.length - 48) * 8)) {
      await writeFile(table, flipBit(bytes, bit));
      expect((await verify()).corrupt).toContain(`${table}:`);
    }
    await writeFile(table, bytes);
    await openExpecting(BATCHES);
  });

  test('data without CURRENT is corruption', async () => {
    image = await copyImage(original);
    await unlink(join(image.path, 'CURRENT'));
    expect((await verify()).corrupt).toContain('CURRENT');
  });
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

function draw(count: number, below: number): number[] {
  return Array.from({ length: count }, () => random.below(below));
}
