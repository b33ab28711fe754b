import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Generous: these tell what works from what hangs, also on a slow machine.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    pool: 'forks',
    maxWorkers: 2,
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default'],
  },
});
