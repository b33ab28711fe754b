import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { endNow } from '../../src/cli/end-now.ts';
import { canUnshare, spawnAsFirst } from '../namespaces-of-processes.ts';

const dir = mkdtempSync(join(tmpdir(), 'kvorum-end-now-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** What it says, and what ends it, where process.exit in place of endNow is still there after any time. */
async function end(
  name: string,
  start: (args: string[], options: SpawnOptions) => ChildProcess,
): Promise<[string, string]> {
  const pipe = join(dir, name);
  execFileSync('mkfifo', [pipe]);
  const program = `
    require('node:fs').open(${JSON.stringify(pipe)}, 'r', () => {});
    setTimeout(() => { process.stderr.write('why'); (${endNow.toString()})(); }, 200);`;
  const child = start(['-e', program], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, 20_000);
  const how = await new Promise<string>((resolve) =>
    child.once('close', (code, signal) => resolve(signal ?? String(code))),
  );
  clearTimeout(timer);
  return [said, late ? 'late' : how];
}

test('a process ends although one of its threads waits for a disk', async () => {
  const ended = await end('nobody-writes', (args, options) =>
    spawn(process.execPath, args, options),
  );
  expect(ended).toEqual(['why', 'SIGKILL']);
});

test.skipIf(!canUnshare)(
  'so does the first process of a container',
  async () => {
    const [said, how] = await end('nor-here', spawnAsFirst);
    expect(said).toMatch(/^why/);
    expect(how).toMatch(/^SIG(?:ABRT|SEGV|ILL|TRAP|BUS)$/);
  },
  60_000,
);
