import { expect, test } from 'vitest';
import { choiceOf } from '../../../src/cli/import/choice.ts';

test.each([
  [{}, 'fail'],
  [{ onConflict: 'skip' }, 'skip'],
  [{ beginAnew: true }, 'replace'],
  [{ match: 'user:*', onConflict: 'replace' }, 'none'],
  [{ match: 'user:*', beginAnew: true }, 'none'],
  [{ match: 'user:*', functions: 'skip' }, 'skip'],
])('of libraries that are there %o says: %s', (flags, expected) => {
  expect(choiceOf({ onConflict: 'fail', ...flags }).onLibrary).toBe(expected);
});
