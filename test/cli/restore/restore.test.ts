import { expect, test } from 'vitest';
import { newManifest } from '../../../src/cli/backup/manifest.ts';
import { FileCounts } from '../../../src/cli/restore/file-counts.ts';
import { inParallel } from '../../../src/cli/restore/in-parallel.ts';
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

test('keys and bytes of files that are being read are told with those of files that are done', () => {
  const counts = new FileCounts(() => {});
  const [one, other] = [counts.begin(), counts.begin()];
  one.report.add('keys', 3);
  other.report.add('keys', 20);
  [one.bytes, other.bytes] = [100, 1_000];
  expect([counts.keys, counts.bytes]).toEqual([23, 1_100]);
  counts.end(one);
  expect([counts.keys, counts.bytes, counts.whole.get('keys')]).toEqual([23, 1_100, 3]);
});

test('so many are read at a time, and none begins when one has failed', async () => {
  const begun: number[] = [];
  let ofSecond = () => {};
  const second = new Promise<void>((resolve) => {
    ofSecond = resolve;
  });
  const all = inParallel([1, 2, 3, 4], 2, async (file) => {
    begun.push(file);
    if (file === 1) throw new Error('the first failed');
    await second;
  });
  await expect(all).rejects.toThrow('the first failed');
  ofSecond();
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(begun).toEqual([1, 2]);
  const done: number[] = [];
  await inParallel([1, 2, 3], 2, async (file) => void done.push(file));
  expect(done).toEqual([1, 2, 3]);
});
