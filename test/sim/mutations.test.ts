import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
