import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeOf, messageOf } from '../../../src/common/errors.ts';
import { seededRandom } from '../../../src/common/random.ts';
import {
  emptyImage,
  flipBit,
  hostAt,
  type Image,
  NAME,
  removeImage,
  writeBatches,
} from './level-directory.ts';

let image: Image;

beforeAll(async () => {
  image = await emptyImage();
  await writeBatches(image, 700, 128 * 1024);
  await writeBatches(image, 0); // moves the last batches from the log into a table
});
afterAll(() => removeImage(image));

const tables = async () =>
  (await readdir(image.path))
    .filter((name) => name.endsWith('.ldb'))
    .map((n) => join(image.path, n));

const verify = (pace: (bytes: number) => Promise<void> = async () => {}) =>
  hostAt(image.root).verifyTables(NAME, pace);

test('sound tables pass, every byte of them read, also while the engine is open', async () => {
  let read = 0;
  const pace = async (bytes: number) => {
    read += bytes;
  };
  await verify(pace);
  let size = 0;
  for (const table of await tables()) size += (await readFile(table)).length;
  expect((await tables()).length).toBeGreaterThan(1);
  expect(read).toBeGreaterThan(size - (await tables()).length * 48);
  const host = hostAt(image.root);
  const { engine } = await host.open(NAME);
  await host.verifyTables(NAME, pace);
  await engine.close();
});

test('a flipped bit anywhere in a table is found, and named', async () => {
  const random = seededRandom('tables');
  const found = new Set<string>();
  for (let round = 0; round < 60; round++) {
    const all = await tables();
    const table = all[random.below(all.length)]!;
    const bytes = await readFile(table);
    // the footer's padding means nothing, so bits are flipped before it and in its magic number
    const bits = (bytes.length - 48) * 8;
    const bit = round % 10 === 0 ? (bytes.length - 8) * 8 + random.below(64) : random.below(bits);
    await writeFile(table, flipBit(bytes, bit));
    const error = await verify().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    await writeFile(table, bytes);
    expect(codeOf(error)).toBe('CORRUPT');
    expect(messageOf(error)).toContain(table);
    found.add(/:\d+: ([^;]+)/.exec(messageOf(error))?.[1] ?? '');
  }
  expect(found).toContain('checksum mismatch');
  expect(found).toContain('no table footer');
  await verify();
});

test('a table that MANIFEST does not name may be anything', async () => {
  await writeFile(join(image.path, '009999.ldb'), 'unfinished');
  await verify();
});

test('a check ends when its pace does', async () => {
  const stop = async () => {
    throw new Error('stopping');
  };
  await expect(verify(stop)).rejects.toThrow('stopping');
});
