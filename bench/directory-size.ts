/** What a directory takes on its disk. */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '../tools/children.ts';

const BLOCK_BYTES = 512;

/** Bytes of the blocks that all files below `path` have; files that go meanwhile count nothing. */
export function bytesOnDisk(path: string): number {
  let stat: ReturnType<typeof lstatSync>;
  try {
    stat = lstatSync(path);
    if (!stat.isDirectory()) return stat.blocks * BLOCK_BYTES;
    return readdirSync(path).reduce((sum, name) => sum + bytesOnDisk(join(path, name)), 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

const LOOK_MS = 1_000;

/**
 * Waits until directories have not changed their size for `quietMs`: what was written is compacted.
 * Resolves to false when that has not come within `ms`.
 */
export async function untilQuiet(
  paths: readonly string[],
  quietMs: number,
  ms: number,
): Promise<boolean> {
  const began = performance.now();
  let last = '';
  let sinceMs = began;
  while (performance.now() - began < ms) {
    const now = paths.map(bytesOnDisk).join();
    if (now !== last) sinceMs = performance.now();
    last = now;
    if (performance.now() - sinceMs >= quietMs) return true;
    await pause(LOOK_MS);
  }
  return false;
}
