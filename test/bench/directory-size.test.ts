import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bytesOnDisk, untilQuiet } from '../../bench/directory-size.ts';

const directory = mkdtempSync(join(tmpdir(), 'kvorum-size-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('a directory takes what the blocks of its files are', async () => {
  mkdirSync(join(directory, 'a', 'b'), { recursive: true });
  const before = bytesOnDisk(directory);
  writeFileSync(join(directory, 'a', 'b', 'file'), Buffer.alloc(200_000, 1), { flush: true });
  const grown = bytesOnDisk(directory) - before;
  expect(grown).toBeGreaterThanOrEqual(200_000);
  expect(grown).toBeLessThan(300_000);
  expect(bytesOnDisk(join(directory, 'gone'))).toBe(0);
});

test('a directory that does not come to rest in time is told of', async () => {
  expect(await untilQuiet([directory], 1, 5_000)).toBe(true);
  expect(await untilQuiet([directory], 60_000, 10)).toBe(false);
});
