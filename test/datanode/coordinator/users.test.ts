import { expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { ClusterView } from '../../../src/datanode/coordinator/cluster-view.ts';
import { MetaUserStore } from '../../../src/datanode/coordinator/user-store.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { keys } from '../../../src/meta/schema.ts';

const item = (user: string, rules: unknown) => ({
  key: keys.user(user),
  value: JSON.stringify({ version: 1, user, rules }),
  createRevision: 1,
  modRevision: 1,
});

test('users are not known before somebody has told, and survive in the picture on disk', () => {
  const view = new ClusterView();
  expect(view.users()).toBeUndefined();
  expect(ClusterView.fromImage(view.image()).users()).toBeUndefined();
  view.list([]);
  expect(ClusterView.fromImage(view.image()).users()).toEqual([]);
  const change = view.apply([{ type: 'put', item: item('bob', 'on nopass') }]);
  expect(change).toMatchObject({ users: true, table: false });
  const [saved] = ClusterView.fromImage(view.image()).users() ?? [];
  expect(saved).toMatchObject({ user: 'bob', rules: 'on nopass' });
  view.apply([{ type: 'delete', key: keys.user('bob'), modRevision: 2 }]);
  expect(view.users()).toEqual([]);
});

test('a record that cannot be read keeps the last good one, and else leaves no rights', () => {
  const problems: string[] = [];
  const view = new ClusterView((problem) => problems.push(problem));
  view.list([item('bob', 'on nopass'), item('default', 7)]);
  expect(view.users()).toEqual([
    { version: 1, user: 'bob', rules: 'on nopass' },
    { version: 1, user: 'default', rules: 'off resetchannels -@all' },
  ]);
  view.apply([{ type: 'put', item: item('bob', {}) }]);
  expect(view.users()?.[0]).toMatchObject({ rules: 'on nopass' });
  expect(problems).toHaveLength(2);
});

test('changes of a user go through compare-and-put: no writer undoes another', async () => {
  const meta = new MemoryMeta({ clock: systemClock });
  const store = new MetaUserStore(meta.connect());
  const add = (word: string) => (rules: string | undefined) => ({
    rules: rules === undefined ? word : `${rules} ${word}`,
  });
  await Promise.all(['a', 'b', 'c', 'd'].map((word) => store.edit('bob', add(word))));
  const seen: (string | undefined)[] = [];
  const look = (rules: string | undefined) => {
    seen.push(rules);
    return { refusal: 'only looking' };
  };
  expect(await store.edit('bob', look)).toEqual({ refusal: 'only looking' });
  expect(seen[0]?.split(' ').sort()).toEqual(['a', 'b', 'c', 'd']);
  await store.edit('bob', () => ({ rules: undefined }));
  await store.edit('bob', look);
  expect(seen[1]).toBeUndefined();
});
