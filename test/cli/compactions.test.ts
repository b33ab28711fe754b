import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test, vi } from 'vitest';
import { yieldingCompactions } from '../../src/cli/compactions.ts';
import { threadsOfOwnPriority } from './priorities.ts';

const madeHere = () =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('kvorum-compactions-'));

test('where it can not be told, it stays as it is', async () => {
  vi.stubEnv('TMPDIR', '/proc/nowhere');
  expect(await yieldingCompactions()).toMatch(/^ENOENT/);
  vi.unstubAllEnvs();
});

test.runIf(process.platform === 'linux')(
  'only the thread that compacts gives way, and nothing is left behind',
  async () => {
    const before = madeHere();
    const thread = await yieldingCompactions();
    expect(thread).toEqual(expect.any(Number));
    expect(threadsOfOwnPriority('self')).toEqual([[thread, 10]]);
    expect(madeHere().filter((name) => !before.includes(name))).toEqual([]);
    // it is there by now: which one it is can't be told any more
    expect(await yieldingCompactions()).toMatch(/^0 threads came/);
  },
);
