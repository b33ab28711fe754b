import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/cli/logger.ts';

test('a level that changes changes for the children too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kvorum-log-'));
  try {
    const file = join(folder, 'x.log');
    const logger = createLogger('pd1', { level: 'info', file });
    const child = logger.child({ room: 'a' });
    child.debug('one');
    logger.info('two');
    logger.setLevel('debug');
    child.debug('three', { of: 4 });
    logger.setLevel('error');
    logger.warn('four');
    child.error('five');
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { name: 'pd1', msg: 'two' },
      { name: 'pd1', msg: 'three', room: 'a', of: 4 },
      { name: 'pd1', msg: 'five', room: 'a' },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
