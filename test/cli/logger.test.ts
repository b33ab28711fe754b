import fs, { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createLogger } from '../../src/cli/logger.ts';
import { limits } from '../../src/common/limits.ts';

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

test('a file that is copied and truncated, as it is rotated, begins anew without a hole', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kvorum-log-'));
  try {
    const file = join(folder, 'x.log');
    const logger = createLogger('dn1', { level: 'info', file });
    logger.info('one');
    truncateSync(file);
    logger.info('two');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ msg: 'two' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('a log that cannot be written', () => {
  test.skipIf(!existsSync('/dev/full'))('ends nobody, and is told once', () => {
    const told: string[] = [];
    const settings = { level: 'info', file: '/dev/full' } as const;
    const logger = createLogger('dn1', settings, (line) => told.push(line));
    const child = logger.child({ room: 'a' });
    for (let line = 0; line < 100; line++) child.error('x', { line });
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/^kvorum: \/dev\/full: log lines cannot be written \(ENOSPC.*1048576/);
  });

  test('keeps the first lines until there is room, and no more than fit', () => {
    const folder = mkdtempSync(join(tmpdir(), 'kvorum-log-'));
    const file = join(folder, 'x.log');
    const logger = createLogger('dn1', { level: 'info', file }, () => {});
    const full = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    });
    try {
      const long = 'x'.repeat(64 * 1_024);
      for (let at = 0; at < 100; at++) logger.info(`${at}`, { long });
      full.mockRestore();
      logger.info('there is room', { long });
      logger.info('again');
      const lines = readFileSync(file, 'utf8').trim().split('\n');
      const messages = lines.map((line) => JSON.parse(line).msg);
      expect(messages.slice(0, 3)).toEqual(['0', '1', '2']);
      expect(messages.slice(-2)).toEqual(['there is room', 'again']);
      expect(messages.length).toBeLessThan(20);
      expect(lines.join('').length).toBeLessThan(limits.logLinesKeptBytesMax + 70_000);
    } finally {
      full.mockRestore();
      rmSync(folder, { recursive: true });
    }
  });
});
