import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { yieldingCompactions } from '../../src/cli/compactions.ts';
import { NICER, threadsOfOwnPriority } from './priorities.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const built = join(root, 'dist', 'cli', 'compactions.js');

afterEach(() => void vi.unstubAllEnvs());

/** Removed when the test ends. */
function place(): string {
  const dir = mkdtempSync(join(tmpdir(), 'kvorum-gives-way-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test('where it can not be told, it stays as it is', async () => {
  vi.stubEnv('TMPDIR', '/proc/nowhere');
  expect(await yieldingCompactions()).toMatch(/^ENOENT/);
});

test.runIf(process.platform === 'linux')(
  'only the thread that compacts gives way, and nothing is left behind',
  async () => {
    // a place of its own: datanodes of tests beside this one make theirs in the usual one
    const dir = place();
    vi.stubEnv('TMPDIR', dir);
    const thread = await yieldingCompactions();
    expect(thread).toEqual(expect.any(Number));
    expect(threadsOfOwnPriority('self')).toEqual([[thread, NICER]]);
    expect(readdirSync(dir)).toEqual([]);
    // it is there by now: which one it is can't be told any more
    expect(await yieldingCompactions()).toMatch(/^0 threads came/);
  },
);

test('a process that ends meanwhile leaves nothing behind', async () => {
  const dir = place();
  // it ends so many milliseconds after it has begun; with 3 if it never has
  const program = `
    const { readdirSync } = await import('node:fs');
    const { yieldingCompactions } = await import(${JSON.stringify(pathToFileURL(built).href)});
    const look = () => {
      if (readdirSync(process.env.TMPDIR).length === 0) setImmediate(look);
      else setTimeout(() => process.exit(0), Number(process.argv[1]));
    };
    look();
    await yieldingCompactions();
    setTimeout(() => process.exit(3), 1_000);
  `;
  for (const delayMs of [0, 1, 2, 3, 4, 6, 8, 10, 14, 18, 22, 30]) {
    const argv = ['--input-type=module', '-e', program, `${delayMs}`];
    await run(process.execPath, argv, { env: { ...process.env, TMPDIR: dir }, cwd: root });
    expect(readdirSync(dir), `after ${delayMs} ms`).toEqual([]);
  }
});
