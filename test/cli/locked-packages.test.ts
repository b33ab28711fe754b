import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = join(fileURLToPath(import.meta.url), '..', '..', '..');
const script = pathToFileURL(join(root, 'src', 'cli', 'locked-packages.mjs')).href;
const { isInstalledAsLocked } = (await import(script)) as {
  isInstalledAsLocked(root: string): boolean;
};

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kvorum-locked-'));
  mkdirSync(join(directory, 'node_modules'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function write(file: string, packages: Record<string, object>): void {
  writeFileSync(join(directory, file), JSON.stringify({ packages }));
}

const lock = (packages: Record<string, object>) => write('package-lock.json', packages);
const install = (packages: Record<string, object>) =>
  write('node_modules/.package-lock.json', packages);

test('this checkout has what its lock file says', () => {
  expect(isInstalledAsLocked(root)).toBe(true);
});

test('what a newer lock file adds or raises is missed; what this system does not need is not', () => {
  const a = { 'node_modules/a': { version: '1.0.0' } };
  expect(isInstalledAsLocked(directory)).toBe(false);
  lock({ '': { version: '0.1.0' }, ...a });
  expect(isInstalledAsLocked(directory)).toBe(false);
  install(a);
  expect(isInstalledAsLocked(directory)).toBe(true);
  lock({ ...a, 'node_modules/b': { version: '2.0.0' } });
  expect(isInstalledAsLocked(directory)).toBe(false);
  lock({ 'node_modules/a': { version: '1.0.1' } });
  expect(isInstalledAsLocked(directory)).toBe(false);
  lock({ ...a, 'node_modules/other-system': { version: '1.0.0', optional: true } });
  expect(isInstalledAsLocked(directory)).toBe(true);
});
