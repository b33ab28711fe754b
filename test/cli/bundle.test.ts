/** What `npm run build` leaves: a program of few files that needs nothing else of ours. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const dist = join(import.meta.dirname, '..', '..', 'dist');
const program = [
  join(dist, 'cli', 'kvorum.js'),
  ...readdirSync(join(dist, 'parts'))
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(dist, 'parts', name)),
];
/** Of `import … from`, `import …` and `import(…)`; only those of this project begin with a dot. */
const IMPORT = /(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;

test('every file of ours that the program loads is one of its parts', () => {
  let count = 0;
  for (const file of program) {
    for (const [, place] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const loaded = join(file, '..', place!);
      expect(program, `${file} loads ${place}`).toContain(loaded);
      count++;
    }
  }
  expect(count).toBeGreaterThan(10);
});

test('they are few, and nothing is left of builds before', () => {
  // the build makes the directory anew: parts of two builds would be twice as many
  expect(program.length).toBeGreaterThan(10);
  expect(program.length).toBeLessThan(150);
});
