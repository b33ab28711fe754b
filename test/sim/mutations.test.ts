import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { mutations } from './mutations.ts';

const root = join(import.meta.dirname, '..', '..');

test('every planted bug still has its place in the source, exactly one', () => {
  const astray = mutations.flatMap(({ name, edits }) =>
    edits
      .map(({ file, find }) => readFileSync(join(root, file), 'utf8').split(find).length - 1)
      .filter((places) => places !== 1)
      .map((places) => `${name}: ${places} places`),
  );
  expect(astray).toEqual([]);
  expect(mutations.length).toBeGreaterThanOrEqual(41);
});

test('each makes a program that can be loaded', () => {
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 };
  const broken = mutations.flatMap(({ name, edits }) =>
    edits.flatMap(({ file, find, replace }) => {
      const text = readFileSync(join(root, file), 'utf8').replace(find, () => replace);
      try {
        new Script(ts.transpileModule(text, { compilerOptions }).outputText);
        return [];
      } catch (failure) {
        return [`${name}: ${failure}`];
      }
    }),
  );
  expect(broken).toEqual([]);
});

test.each(['0', 'two', '1.5', '-1', '1000'])(
  '%s workers would try nothing, or too much',
  (given) => {
    const script = join(import.meta.dirname, 'run-mutations.mjs');
    const env = { ...process.env, KVORUM_MUTATION_WORKERS: given };
    const { status, stderr } = spawnSync(process.execPath, [script], {
      ...{ env, encoding: 'utf8', timeout: 20_000 },
    });
    expect(stderr).toBe(`KVORUM_MUTATION_WORKERS: a whole number from 1 to 64, not ${given}\n`);
    expect(status).toBe(1);
  },
);
