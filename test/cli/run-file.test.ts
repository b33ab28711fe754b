import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  birthOf,
  isAlive,
  type RunFile,
  readRunFiles,
  tellRunFile,
  writeRunFile,
} from '../../src/cli/run-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-run-'));
  mkdirSync(join(dir, 'run'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const run: RunFile = {
  name: 'datanode1',
  role: 'datanode',
  pid: process.pid,
  host: '127.0.0.1',
  ports: { gateway: 6_379 },
};

test('what a process tells of itself is found; half a file is not', () => {
  expect(readRunFiles(dir)).toEqual([]);
  writeRunFile(join(dir, 'run', 'datanode1.json'), run);
  writeFileSync(join(dir, 'run', 'broken.json'), '{"name": ');
  expect(readRunFiles(dir)).toEqual([run]);
});

test('what may be there and cannot be read is no cluster that never ran', () => {
  expect(readRunFiles(join(dir, 'nowhere'))).toEqual([]);
  // root may read anything, but no link to itself
  symlinkSync('loop.json', join(dir, 'run', 'loop.json'));
  expect(() => readRunFiles(dir)).toThrow('ELOOP');
  rmSync(join(dir, 'run'), { recursive: true });
  symlinkSync('run', join(dir, 'run'));
  expect(() => readRunFiles(dir)).toThrow('ELOOP');
});

test('a process that cannot tell of itself goes on, and says so', () => {
  const warned: object[] = [];
  const logger = { warn: (message: string, fields?: object) => warned.push({ message, fields }) };
  tellRunFile(join(dir, 'run', 'datanode1.json'), run, logger);
  expect(warned).toEqual([]);
  const path = join(dir, 'run');
  tellRunFile(path, run, logger);
  expect(warned).toEqual([
    {
      message: expect.stringMatching(/^run-file cannot be written/),
      fields: { path, error: expect.stringContaining(path) },
    },
  ]);
});

test('a process is alive or not', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(2 ** 22 + 1)).toBe(false);
});

test.runIf(process.platform === 'linux')('a process has a birth that no other has', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
  const own = birthOf(process.pid);
  const other = birthOf(child.pid!);
  child.stdin.end();
  await once(child, 'close');
  expect(own).toMatch(/^[0-9a-f-]{36}\/\d+$/);
  expect(birthOf(process.pid)).toBe(own);
  expect(other).toMatch(/^[0-9a-f-]{36}\/\d+$/);
  expect(other).not.toBe(own);
  expect(birthOf(child.pid!)).toBeUndefined();
});
