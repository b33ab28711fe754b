import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { endNow } from '../../src/cli/end-now.ts';

const dir = mkdtempSync(join(tmpdir(), 'kvorum-end-now-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('a process ends although one of its threads waits for a disk', async () => {
  const pipe = join(dir, 'nobody-writes');
  execFileSync('mkfifo', [pipe]);
  // process.exit in its place is still there after any time
  const program = `
    require('node:fs').open(${JSON.stringify(pipe)}, 'r', () => {});
    setTimeout(() => { process.stderr.write('why'); (${endNow.toString()})(); }, 200);`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const late = setTimeout(() => child.kill('SIGTERM'), 20_000);
  const signal = await new Promise((resolve) => child.once('close', (_code, by) => resolve(by)));
  clearTimeout(late);
  expect([said, signal]).toEqual(['why', 'SIGKILL']);
}, 60_000);
