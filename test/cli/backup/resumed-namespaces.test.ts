import { expect, test } from 'vitest';
import { resumedNamespaces } from '../../../src/cli/backup/resumed-namespaces.ts';

const begun = [{ name: 'default' }, { name: 'db1' }];

test('a backup goes on with what it was begun with', () => {
  expect(resumedNamespaces(begun, undefined)).toEqual(['default', 'db1']);
  expect(resumedNamespaces(begun, ['db1', 'default', 'db1'])).toEqual(['default', 'db1']);
});

test('where nothing was begun, what is wanted counts', () => {
  expect(resumedNamespaces([], ['a'])).toEqual(['a']);
  expect(resumedNamespaces([], undefined)).toBeUndefined();
});

test.each([[['db1']], [['default', 'db1', 'db2']], [['default', 'db2']]])(
  'it does not go on as one of %j',
  (wanted) => {
    expect(() => resumedNamespaces(begun, wanted)).toThrow(
      /^what was begun there is a backup of namespaces default, db1: leave out --namespace, or/,
    );
  },
);
