import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileBytes } from '../../../src/cli/import/rdb-file.ts';

test('what is no file is told by its path, with what to name', async () => {
  const directory = tmpdir();
  const none = join(directory, 'kvorum-none.rdb');
  const remedy = ': name an RDB file, or - for standard input';
  await expect(fileBytes(directory)).rejects.toThrow(`${directory} is a directory${remedy}`);
  await expect(fileBytes(none)).rejects.toThrow(`${none} cannot be read (ENOENT`);
  await expect(fileBytes(none)).rejects.toThrow(remedy);
  expect(await fileBytes(import.meta.filename)).toBeGreaterThan(0);
  expect(await fileBytes('-')).toBeUndefined();
});
