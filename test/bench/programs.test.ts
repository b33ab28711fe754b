import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeDirectory, removeDirectory, requireWritable } from '../../bench/disk.ts';
import { requirePrograms } from '../../bench/programs.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-programs-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

function install(...names: string[]): void {
  for (const name of names) {
    writeFileSync(join(dir, name), '');
    chmodSync(join(dir, name), 0o755);
  }
}

test('what is missing is named, with the packages it comes from', () => {
  install('redis-cli', 'etcd');
  const path = `${dir}/nowhere:${dir}`;
  expect(() => requirePrograms(['redis', 'kvorum', 'etcd'], path)).toThrow(
    'not on the PATH: redis-server, redis-benchmark, etcdctl; ' +
      'install them (Debian: redis-server redis-tools etcd-client)',
  );
  install('redis-benchmark');
  expect(() => requirePrograms(['kvorum'], path)).not.toThrow();
  expect(() => requirePrograms(['etcd'], path)).toThrow('PATH: etcdctl;');
});

test('a file that cannot be written is known before anything is measured', () => {
  expect(() => requireWritable(join(dir, 'figures.json'))).not.toThrow();
  expect(() => requireWritable(dir)).toThrow('it is a directory');
  expect(() => requireWritable(join(dir, 'no', 'figures.json'))).toThrow('cannot be written');
});

test('data lie in a directory of their own, which goes with all that is in it', () => {
  const made = makeDirectory(dir);
  expect(made.startsWith(join(dir, 'kvorum-bench-'))).toBe(true);
  writeFileSync(join(made, 'x'), 'x');
  removeDirectory(made);
  expect(() => makeDirectory(made)).toThrow(`there is no directory ${made}`);
  removeDirectory(made);
});
