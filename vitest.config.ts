import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    // Generous: tells what works from what hangs, also on a slow machine.
    expect: { poll: { timeout: 15_000 } },
    reporters: ['default'],
  },
});
