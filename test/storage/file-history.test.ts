import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readHistory } from './file-history.ts';

const temporary = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
afterAll(() => rmSync(temporary, { recursive: true }));

test('a directory comes before what another thread makes in it before its own call is seen to end', async () => {
  const dir = '/data';
  const trace = join(temporary, 'trace');
  const lines = [
    '11 mkdir("/data/engines", 0777 <unfinished ...>',
    '12 mkdir("/data/engines/1-0", 0777 <unfinished ...>',
    '12 <... mkdir resumed>) = 0',
    '11 <... mkdir resumed>) = 0',
  ];
  writeFileSync(trace, `${lines.join('\n')}\n`);
  const { files } = await readHistory(trace, dir);
  expect(files.map(({ path }) => path)).toEqual(['/data/engines', '/data/engines/1-0']);
});
