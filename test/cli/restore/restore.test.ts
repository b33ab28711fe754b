import { expect, test } from 'vitest';
import { newManifest } from '../../../src/cli/backup/manifest.ts';
import { plansOf } from '../../../src/cli/restore/restore.ts';

const rest = { partitions: 1, replicas: 3, hash: 'slots', reads: 'lease', tags: [], files: [] };
const manifest = {
  ...newManifest('1', 'id', 1),
  namespaces: [
    { name: 'default', ...rest },
    { name: 'db1', ...rest },
  ],
};
const names = (flags: object) =>
  plansOf(manifest, { parallel: 1, ...flags }).map(({ from, to }) => `${from.name} > ${to}`);

test('all namespaces keep their names, and one of them may have another', () => {
  expect(names({})).toEqual(['default > default', 'db1 > db1']);
  expect(names({ namespace: ['db1'], as: 'other' })).toEqual(['db1 > other']);
  expect(() => names({ as: 'other' })).toThrow('--as names one namespace');
  expect(() => names({ namespace: ['gone'] })).toThrow('no namespace gone, but default, db1');
});
