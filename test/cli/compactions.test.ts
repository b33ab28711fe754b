import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { yieldingCompactions } from '../../src/cli/compactions.ts';
import { threadsOfOwnPriority } from './priorities.ts';

const madeHere = () =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('kvorum-compactions-'));

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
