/** The package as others install it: publint and attw find nothing, with what `npm pack` would ship. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const folder = mkdtempSync(join(tmpdir(), 'kvorum-pack-'));
let tarball: string;

beforeAll(async () => {
  const args = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: root, maxBuffer: 64 << 20 });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  tarball = join(folder, filename);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What it says, and that it ends well. */
async function clean(name: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(bin(name), args, { cwd: folder }).catch((error) => {
    throw new Error(`${name}: ${error.stdout}${error.stderr}`);
  });
  return `${stdout}${stderr}`;
}

test('publint', async () => {
  expect(await clean('publint', ['run', tarball, '--strict'])).toMatch(/All good|No problems/i);
});

test('attw: types are found from ESM, CommonJS (require of ES modules) and bundlers', async () => {
  // Before Node.js 16 there were no export maps; CommonJS requires ES modules from 20.19 on.
  const args = [tarball, '--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm'];
  const told = await clean('attw', [...args, '--no-emoji', '--no-color']);
  expect(told).toMatch(/kvorum\/sdk/);
  expect(told).toMatch(/kvorum\/testing/);
});
