import { defineConfig } from 'vitest/config';
import { nodeEnvironment } from './src/cli/node-flags.ts';
import { LongestFirst } from './test/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Generous: these tell what works from what hangs, also on a slow machine.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    pool: 'forks',
    // as `kvorum start` gives it to its processes
    env: { GLIBC_TUNABLES: nodeEnvironment(process.env)['GLIBC_TUNABLES'] },
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default'],
  },
});
