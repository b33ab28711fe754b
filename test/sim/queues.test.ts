/** Clients that block for elements, in clusters under faults: see queues.ts. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { scale } from '../scale.ts';

const root = join(fileURLToPath(import.meta.url), '..', '..', '..');
const run = promisify(execFile);
const SHARE = 20;

test(
  'no element is given twice, none is lost, and every seed leaves the same trace twice',
  async () => {
    await run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(root, 'test', 'sim')]);
    const main = join(root, '.cache', 'sim', 'test', 'sim', 'main.js');
    const seeds = Math.ceil(scale.simulatorSeeds / SHARE);
    const { stdout } = await run(
      process.execPath,
      [main, '--seeds', String(seeds), '--consumers', '3'],
      { maxBuffer: 64 * 1024 * 1024 },
    );
    expect(stdout).toContain(`${seeds} seeds`);
  },
  scale.simulatorSeeds * 3_000,
);
