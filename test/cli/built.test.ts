/** The end of a build: a program that runs whenever it is killed, and when the next start builds again. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

interface File {
  readonly name: string;
  readonly bytes: string;
}

const script = join(import.meta.dirname, '..', '..', 'src', 'cli', 'built.mjs');
const { isBuilt, putInPlace, markBuilt } = (await import(pathToFileURL(script).href)) as {
  isBuilt(root: string): boolean;
  putInPlace(dist: string, files: readonly File[], beganMs: number): void;
  markBuilt(dist: string, beganMs: number): void;
};

let root: string;
let dist: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kvorum-built-'));
  dist = join(root, 'dist');
  mkdirSync(dist);
  mkdirSync(join(root, 'src', 'room'), { recursive: true });
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json', 'src/room/a.ts'])
    writeFileSync(join(root, name), '');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

/** As if all that is there had been there for long. */
function grownOld(seconds: number): void {
  const old = Date.now() / 1_000 - seconds;
  for (const name of readdirSync(root, { recursive: true }) as string[])
    utimesSync(join(root, name), old, old);
}

const program = (build: string): File[] => [
  { name: 'parts/same-1.js', bytes: 'same' },
  { name: `parts/part-${build}.js`, bytes: build },
  { name: 'cli/kvorum.js', bytes: `#!\nimport "../parts/part-${build}.js"` },
];

const parts = () => readdirSync(join(dist, 'parts')).sort();

test.each([
  ['changed', () => writeFileSync(join(root, 'src', 'room', 'a.ts'), 'b')],
  ['added', () => writeFileSync(join(root, 'src', 'room', 'b.ts'), '')],
  ['removed', () => rmSync(join(root, 'src', 'room', 'a.ts'))],
  ['compiled by other settings', () => writeFileSync(join(root, 'tsconfig.json'), '{}')],
])('a build is as good as its sources until one is %s', (_, change) => {
  grownOld(60);
  expect(isBuilt(root)).toBe(false);
  markBuilt(dist, Date.now() - 30_000);
  expect(isBuilt(root)).toBe(true);
  change();
  expect(isBuilt(root)).toBe(false);
});

test('what the program named before is removed once it names others; it may be run', () => {
  putInPlace(dist, program('one'), Date.now());
  grownOld(60);
  putInPlace(dist, program('two'), Date.now() - 30_000);
  expect(parts()).toEqual(['part-two.js', 'same-1.js']);
  const file = join(dist, 'cli', 'kvorum.js');
  expect(readFileSync(file, 'utf8')).toContain('part-two.js');
  expect(statSync(file).mode & 0o777).toBe(0o755);
});

test('a build that ends before its time leaves the program that was there', () => {
  putInPlace(dist, program('one'), Date.now());
  grownOld(60);
  // where a directory is no file can be put: the build ends there
  mkdirSync(join(dist, 'parts', 'obstacle.js'));
  const [same, part, entry] = program('two') as [File, File, File];
  const obstacle = { name: 'parts/obstacle.js', bytes: '' };
  expect(() => putInPlace(dist, [same, part, obstacle, entry], Date.now())).toThrow(/EISDIR/);
  expect(readFileSync(join(dist, 'cli', 'kvorum.js'), 'utf8')).toContain('part-one.js');
  expect(readFileSync(join(dist, 'parts', 'part-one.js'), 'utf8')).toBe('one');
  expect(readFileSync(join(dist, 'parts', 'same-1.js'), 'utf8')).toBe('same');
});

test('parts of a build that runs beside this one are left to it', () => {
  const beganMs = Date.now() - 1_000;
  putInPlace(dist, program('other').slice(0, 2), beganMs);
  putInPlace(dist, program('ours'), beganMs);
  expect(parts()).toEqual(['part-other.js', 'part-ours.js', 'same-1.js']);
});
