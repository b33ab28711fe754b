import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { HEAP_FLAGS, nodeEnvironment, nodeFlags } from '../../src/cli/node-flags.ts';

const ARENAS = 'glibc.malloc.arena_max=2';
const ASIDE = 'glibc.malloc.mxfast=0';
const WALK = 'glibc.malloc.tcache_unsorted_limit=32';
const OURS = `${ARENAS}:${ASIDE}:${WALK}`;

test('what glibc is told joins what others tell it, and yields to it', () => {
  expect(nodeEnvironment({ A: 'b' })).toEqual({ A: 'b', GLIBC_TUNABLES: OURS });
  const others = 'glibc.malloc.tcache_count=3';
  expect(nodeEnvironment({ GLIBC_TUNABLES: others })).toEqual({
    GLIBC_TUNABLES: `${others}:${OURS}`,
  });
  const one = 'glibc.malloc.mxfast=64';
  expect(nodeEnvironment({ GLIBC_TUNABLES: one })).toEqual({
    GLIBC_TUNABLES: `${one}:${ARENAS}:${WALK}`,
  });
  const all = `${one}:glibc.malloc.tcache_unsorted_limit=0:glibc.malloc.arena_max=8`;
  expect(nodeEnvironment({ GLIBC_TUNABLES: all })).toEqual({ GLIBC_TUNABLES: all });
});

test('a process starts with it, and these tests run with it', () => {
  const env = nodeEnvironment(process.env);
  const child = spawnSync(process.execPath, ['-p', 'process.env.GLIBC_TUNABLES'], { env });
  expect(child.stderr.toString()).toBe('');
  const told = [child.stdout.toString().trim(), process.env['GLIBC_TUNABLES'] ?? ''];
  for (const tunables of told) {
    expect(tunables.split(':')).toEqual(expect.arrayContaining([ARENAS, ASIDE, WALK]));
  }
});

test('the image tells glibc the same', () => {
  expect(readFileSync('Dockerfile', 'utf8')).toContain(` GLIBC_TUNABLES=${OURS}\n`);
});

test('this Node.js knows every flag that a datanode is given', () => {
  const flags = [...nodeFlags('datanode', 2, 1), ...HEAP_FLAGS];
  const child = spawnSync(process.execPath, [...flags, '-p', '"runs"']);
  expect(child.stderr.toString()).toBe('');
  expect(child.stdout.toString()).toBe('runs\n');
});

test('only where datanodes outnumber the cores V8 collects without helpers', () => {
  expect(nodeFlags('datanode', 3, 4, 22)).not.toContain('--single-threaded-gc');
  expect(nodeFlags('datanode', 3, 2, 22)).toContain('--single-threaded-gc');
  expect(nodeFlags('placedriver', 3, 2)).toEqual([]);
});

test('a V8 that needs them for full collections has them there', () => {
  expect(nodeFlags('datanode', 3, 2, 24)).not.toContain('--single-threaded-gc');
  expect(nodeFlags('datanode', 3, 2, 24)).toContain('--no-parallel-scavenge');
  expect(nodeFlags('datanode', 3, 4, 24)).not.toContain('--no-parallel-scavenge');
});
