/**
 * Whole clusters under faults, each seed run twice with equal traces. In processes of their own: the
 * traps against real time would catch the test runner as well.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';

const root = join(fileURLToPath(import.meta.url), '..', '..', '..');
const run = promisify(execFile);
const PROCESSES = 2;

async function simulate(...args: string[]): Promise<string> {
  const main = join(root, '.cache', 'sim', 'test', 'sim', 'main.js');
  const options = { maxBuffer: 64 * 1024 * 1024 };
  try {
    return (await run(process.execPath, [main, ...args], options)).stdout;
  } catch (failure) {
    const { stdout } = failure as { stdout?: string };
    throw new Error(`the simulator found a violation:\n${stdout?.slice(-20_000) ?? failure}`);
  }
}

beforeAll(async () => {
  await run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(root, 'test', 'sim')]);
}, 120_000);

describe('the simulator', () => {
  test(
    'finds no violation, and every seed leaves the same trace twice',
    async () => {
      const share = Math.ceil(scale.simulatorSeeds / PROCESSES);
      const reports = await Promise.all(
        Array.from({ length: PROCESSES }, (_, at) =>
          simulate('--seeds', String(share), '--from', String(1 + at * share)),
        ),
      );
      for (const report of reports) process.stdout.write(`${report.trim().split('\n').at(-1)}\n`);
    },
    scale.simulatorSeeds * 10_000,
  );

  test('says how it is used', async () => {
    expect(await simulate('--help')).toContain('--minimize');
  });
});
