/** The SDK's files that are written from the command table are those the table gives now. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseCall } from '../../../src/sdk/arguments.ts';
import { folder, generateFiles } from '../command-generator.ts';

const files = generateFiles();

test.each([...files])('src/sdk/commands/%s is what the command table gives', (name, text) => {
  const path = join(folder, name);
  if (process.env['KVORUM_REWRITE'] === '1') writeFileSync(path, text);
  const remedy =
    'KVORUM_REWRITE=1 npx vitest run test/sdk/commands/generated.test.ts writes it anew';
  expect(readFileSync(path, 'utf8'), remedy).toBe(text);
});

test('each method that is said to take pairs takes an object of them', () => {
  const methods = [...files.values()].flatMap((text) => [
    ...text.matchAll(/^ {2}([\w.]+)\(((?:\w+: \w+, )*)\.\.\.pairs: Pairs\)/gm),
  ]);
  expect(methods.length).toBe([...files.values()].join('').split('...pairs:').length - 1);
  expect(methods.map(([, name]) => name)).toContain('plset');
  for (const [, name, before] of methods) {
    const first = before!
      .split(', ')
      .slice(1)
      .map(() => 'k');
    const { line } = parseCall(name!, [...first, { a: 1, b: 2 }, { timeoutMs: 5 }]);
    expect(line, name).toEqual([name!.toUpperCase(), ...first, 'a', 1, 'b', 2]);
  }
});
