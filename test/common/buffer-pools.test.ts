import { afterEach, expect, test } from 'vitest';
import { POOL_MEMORY_MAX } from '../../src/common/buffer-pools.ts';
import { withSmallPools } from './small-pools.ts';

const before = Buffer.poolSize;
afterEach(() => {
  Buffer.poolSize = before;
});

const kept = () => Buffer.allocUnsafe(100).buffer.byteLength;

test('small buffers keep no more than bounds count with, whatever Node.js would do', () => {
  Buffer.poolSize = 65_536;
  for (let bytes = 0; bytes < 2 * before; bytes += 1_000) Buffer.allocUnsafe(1_000);
  expect(kept()).toBeGreaterThanOrEqual(65_536);
  withSmallPools();
  expect(kept()).toBeLessThanOrEqual(POOL_MEMORY_MAX);
});
