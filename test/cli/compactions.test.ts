import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { yieldingCompactions } from '../../src/cli/compactions.ts';
import { threadsOfOwnPriority } from './priorities.ts';

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
    expect(threadsOfOwnPriority('self')).toEqual([[thread, 10]]);
    expect(readdirSync(dir)).toEqual([]);
    // it is there by now: which one it is can't be told any more
    expect(await yieldingCompactions()).toMatch(/^0 threads came/);
  },
);

test('a process that ends meanwhile leaves nothing behind', async () => {
  const dir = place();
  const program = `
    const { yieldingCompactions } = await import(${JSON.stringify(pathToFileURL(built).href)});
    await import('classic-level');
    void yieldingCompactions();
    setTimeout(() => process.exit(0), Number(process.argv[1]));
  `;
  const seen: string[] = [];
  const watcher = watch(dir, (_event, name) => seen.push(`${name}`));
  for (const delayMs of [0, 2, 4, 6, 8, 10, 14, 18, 22, 26, 30, 40]) {
    const argv = ['--input-type=module', '-e', program, `${delayMs}`];
    await run(process.execPath, argv, { env: { ...process.env, TMPDIR: dir }, cwd: root });
    expect(readdirSync(dir), `after ${delayMs} ms`).toEqual([]);
  }
  watcher.close();
  // some had begun
  expect(seen.length).toBeGreaterThan(0);
});
