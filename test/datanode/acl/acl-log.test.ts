import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { AclLog } from '../../../src/datanode/acl/acl-log.ts';

const refusal = (object: string) =>
  ({ reason: 'key', context: 'toplevel', object, user: 'bob', client: 'id=1' }) as const;

test('the same again is counted for a minute, and is told anew after it', () => {
  const log = new AclLog(() => 128);
  log.add(refusal('a'), 1_000);
  log.add(refusal('b'), 2_000);
  log.add(refusal('a'), 60_999);
  const shown = () => log.newest(9).map(({ object, count, id }) => [object, count, id]);
  expect(shown()).toEqual([
    ['a', 2, 0],
    ['b', 1, 1],
  ]);
  log.add(refusal('a'), 61_000);
  expect(shown()).toEqual([
    ['a', 1, 2],
    ['a', 2, 0],
    ['b', 1, 1],
  ]);
});

test('no more entries are kept than are shown, nor more of what was asked', () => {
  const log = new AclLog(() => 2);
  for (const object of ['a', 'b', 'c'.repeat(10_000)]) log.add(refusal(object), 1);
  expect(log.newest(9).map(({ object }) => object.length)).toEqual([
    limits.shownArgumentBytesMax,
    1,
  ]);
});

test('what is refused is counted, also what the log has no room for or has forgotten', () => {
  const log = new AclLog(() => 1);
  const entry = { context: 'toplevel', object: 'x', user: 'u', client: '' } as const;
  for (const reason of ['key', 'key', 'auth', 'command'] as const) log.add({ ...entry, reason }, 0);
  log.reset();
  expect(log.counts).toEqual({ command: 1, key: 2, channel: 0, auth: 1, namespace: 0 });
  log.resetCounts();
  expect(log.counts.key).toBe(0);
});
