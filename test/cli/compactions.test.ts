import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { yieldingCompactions } from '../../src/cli/compactions.ts';
import { threadsOfOwnPriority } from './priorities.ts';

afterEach(() => void vi.unstubAllEnvs());

test('where it can not be told, it stays as it is', async () => {
  vi.stubEnv('TMPDIR', '/proc/nowhere');
  expect(await yieldingCompactions()).toMatch(/^ENOENT/);
});

test.runIf(process.platform === 'linux')(
  'only the thread that compacts gives way, and nothing is left behind',
  async () => {
    // a place of its own: datanodes of tests beside this one make theirs in the usual one
    const dir = mkdtempSync(join(tmpdir(), 'kvorum-gives-way-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    vi.stubEnv('TMPDIR', dir);
    const thread = await yieldingCompactions();
    expect(thread).toEqual(expect.any(Number));
    expect(threadsOfOwnPriority('self')).toEqual([[thread, 10]]);
    expect(readdirSync(dir)).toEqual([]);
    // it is there by now: which one it is can't be told any more
    expect(await yieldingCompactions()).toMatch(/^0 threads came/);
  },
);
