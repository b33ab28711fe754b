import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { openFilesMax } from '../../src/cli/open-files.ts';

const table = (
  files: string,
) => `Limit                     Soft Limit           Hard Limit           Units
Max resident set          unlimited            unlimited            bytes
Max open files            ${files}              files
Max locked memory         67108864             67108864             bytes
`;

test('the soft limit is what counts', () => {
  expect(openFilesMax(() => table('256                  4096'))).toBe(256);
});

test('no limit, and no table, are none', () => {
  expect(openFilesMax(() => table('unlimited            unlimited'))).toBeUndefined();
  expect(openFilesMax(() => '')).toBeUndefined();
  const missing = () => {
    throw new Error('ENOENT');
  };
  expect(openFilesMax(missing)).toBeUndefined();
});

test.runIf(process.platform === 'linux')('Linux tells it of this process', () => {
  const soft = execFileSync('sh', ['-c', 'ulimit -Sn'], { encoding: 'utf8' }).trim();
  expect(openFilesMax()).toBe(soft === 'unlimited' ? undefined : Number(soft));
});
