import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDirs, preparePlaces } from '../../src/cli/places.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'kvorum-places-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('what a configuration names is made, parents too', () => {
  const log = { file: join(root, 'log/a/n1.log') };
  preparePlaces('n1.yaml', {
    'data-dir': join(root, 'data/n1'),
    'run-file': join(root, 'run/n1.json'),
    log,
  });
  expect(['data/n1', 'run', 'log/a/n1.log'].filter((at) => !existsSync(join(root, at)))).toEqual(
    [],
  );
  expect(readdirSync(join(root, 'run'))).toEqual([]);
});

test('a directory that is there by the time it is made is taken', () => {
  // the second name of `made` exists once its first was made, as if another process had come first
  makeDirs(`${root}/made/./inner`);
  makeDirs(`${root}/made/inner`);
  expect(existsSync(join(root, 'made/inner'))).toBe(true);
});

// Below /proc node's own recursive mkdir never returns.
test.each([
  ['data-dir', '/proc/nothing'],
  ['data-dir', '/dev/null/x'],
  ['data-dir', 'a\u0000b'],
  ['log.file', '/proc/nothing/x'],
  ['log.file', '/'],
  ['run-file', '/dev/null/x/y'],
  ['run-file', '/dev/null/x'],
  ['run-file', '/proc/x'],
  ['run-file', '/dev/null'],
  ['run-file', '/tmp'],
  ['run-file', '/tmp/'],
  ['run-file', ''],
])('%s that cannot be %j is refused by its name', (field, place) => {
  const places = {
    'data-dir': field === 'data-dir' ? place : join(root, 'data'),
    'run-file': field === 'run-file' ? place : undefined,
    log: { file: field === 'log.file' ? place : undefined },
  };
  expect(() => preparePlaces('n1.yaml', places)).toThrow(
    expect.objectContaining({
      code: 'BAD_CONFIG',
      message: expect.stringContaining(
        `n1.yaml: ${field}: ${JSON.stringify(place)} cannot be used (`,
      ),
    }),
  );
});
