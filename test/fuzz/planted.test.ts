/** What `npm run fuzz` says when a room hangs, leaks, is late or throws, and how its process ends. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const build = join(root, '.cache', `fuzz-planted-${process.pid}`);
const program = join(root, 'test', 'fuzz', 'planted-room.ts');
const inputs = join(build, 'inputs');
const compilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
};

/** It and what it imports, as JavaScript: of so few files types need no second look. */
function translate(file: string): void {
  const target = join(build, relative(root, file)).replace(/\.ts$/, '.js');
  const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions });
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, outputText);
  for (const [, name = ''] of outputText.matchAll(/from ['"](\.[^'"]*)\.js['"]/g)) {
    translate(join(dirname(file), `${name}.ts`));
  }
}

function run(fault: string) {
  const args = [join(build, relative(root, program)).replace(/\.ts$/, '.js'), fault, inputs];
  return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 120_000 });
}

beforeAll(() => {
  translate(program);
  writeFileSync(join(build, 'package.json'), '{"type":"module"}');
});
afterAll(() => rmSync(build, { recursive: true, force: true }));

test('a room without a fault ends well', () => {
  const { status, stdout, stderr } = run('none');
  expect(stderr).toBe('');
  expect(stdout).toMatch(/60000 inputs of seed 1 in .*, none failed; memory grew by -?\d\.\d MiB/);
  expect(status).toBe(0);
});

test.each(['spins', 'waits'])(
  'a room that never answers (%s) is ended from outside, and the input kept',
  (fault) => {
    const { signal, stderr } = run(fault);
    const file = join(inputs, 'hang.bin');
    expect(stderr).toMatch(/^planted: no end within \d+(\.\d)? s\nagain: /);
    expect(stderr).toContain(`npm run fuzz -- --about planted --input ${file}\n`);
    expect(signal).toBe('SIGKILL');
    expect(readFileSync(file, 'utf8')).toBe('input 6000');
  },
);

test('a room that is late each time is told with its input', () => {
  const { status, stdout } = run('late');
  expect(stdout).toMatch(/planted: input 6000: Error: took \d{3,} ms, the fastest of 3 times/);
  expect(stdout).toContain(`--about planted --input ${join(inputs, 'planted-6000.bin')}\n`);
  expect(readFileSync(join(inputs, 'planted-6000.bin'), 'utf8')).toBe('input 6000');
  expect(status).toBe(1);
});

test('a room that throws is told with its input', () => {
  const { status, stdout } = run('throws');
  expect(stdout).toMatch(/planted: input 6000: TypeError: nothing is not a function\n +at /);
  expect(status).toBe(1);
});

test('a room that keeps what it was given is told by how much', () => {
  const { status, stdout } = run('leaks');
  // 12,000 inputs and a few more, which are seen at the end of a round
  const [, grown] = /^memory has grown by (\d+)\.\d MiB to \d+\.\d MiB$/m.exec(stdout) ?? [];
  expect(Number(grown)).toBeGreaterThanOrEqual(48);
  expect(Number(grown)).toBeLessThan(90);
  expect(stdout).not.toContain('none failed');
  expect(status).toBe(1);
});
