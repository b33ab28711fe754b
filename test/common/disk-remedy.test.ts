/** What a disk refuses, and what is said to be done about it. */
import { expect, test } from 'vitest';
import { diskRemedy, isFull } from '../../src/common/disk-remedy.ts';
import { faultOf } from '../../src/common/errors.ts';
import { engineError } from '../../src/datanode/engine/level-errors.ts';
import { diskFailed } from '../../src/datanode/raftlog/damage.ts';

test.each([
  ['ENOSPC: no space left on device, write', 'make room or replace the disk'],
  ['EIO: i/o error, write', 'make room or replace the disk'],
  ['EFBIG: file too large, write', 'ulimit -f'],
  ['EDQUOT: disk quota exceeded, write', 'quota of its user'],
  ['EMFILE: too many open files, open', 'ulimit -n'],
  ['EACCES: permission denied, open', 'let the user that runs this process read and write it'],
  ['EPERM: operation not permitted, open', 'let the user that runs this process read and write it'],
  ['EROFS: read-only file system, open', 'let its file system be written again'],
])('%s', (text, remedy) => {
  expect(diskRemedy(new Error(text))).toContain(remedy);
  expect(diskFailed('/d/log', 'writing', new Error(text)).message).toContain(remedy);
});

test('LevelDB says it in the same words', () => {
  const text = 'IO error: /d/engines/1-0/000003.log: File too large';
  const failure = engineError('engine 1-0', Object.assign(new Error(text), { code: 'LEVEL_IO' }));
  expect(failure.code).toBe('DISK_FAILED');
  expect(diskRemedy(failure)).toContain('ulimit -f');
});

test('a file that may grow no more is no defect of kvorum', () => {
  const refused = Object.assign(new Error('EFBIG: file too large, write'), { code: 'EFBIG' });
  expect(faultOf(refused, 'replica 1').code).toBe('DISK_FAILED');
});

test.each([
  ['ENOSPC', true],
  ['EDQUOT', true],
  ['EFBIG', true],
  ['EROFS', false],
])('%s says that no more is taken: %s', (code, full) => {
  expect(isFull(Object.assign(new Error('write'), { code }))).toBe(full);
});
