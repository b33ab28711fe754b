import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { History } from '../../../src/meta/embedded/history.ts';

const SMALL = Buffer.from('v');
const LARGE = Buffer.alloc(1024 * 1024);

function push(history: History, revision: number, value: Buffer): void {
  const at = { createRevision: revision, modRevision: revision, version: 1, lease: 0 };
  const kv = { key: Buffer.from('k'), value, ...at };
  history.push({ revision, type: 'put', kv, prevKv: undefined });
}

test('beyond the bound of events the oldest revisions go', () => {
  const history = new History(1);
  const most = limits.metaHistoryEventsMax;
  for (let revision = 1; revision <= most + 10; revision++) {
    push(history, revision, SMALL);
    history.trim();
  }
  expect([history.length, history.from]).toEqual([most, 11]);
  expect([...history.since(most + 9)].map(({ revision }) => revision)).toEqual([
    most + 9,
    most + 10,
  ]);
});

test('beyond the bound of bytes too, which are counted no more once they have gone', () => {
  const history = new History(1);
  const most = Math.floor(limits.metaHistoryBytesMax / LARGE.length) - 1;
  for (let revision = 1; revision <= 5 * most; revision++) {
    push(history, revision, LARGE);
    history.trim();
  }
  expect([history.length, history.from]).toEqual([most, 4 * most + 1]);
});

test('a revision goes as a whole, and the newest never', () => {
  const history = new History(1);
  const most = limits.metaHistoryBytesMax / LARGE.length;
  push(history, 1, SMALL);
  for (let at = 0; at < most + 5; at++) push(history, 2, LARGE);
  history.trim();
  expect([history.length, history.from]).toEqual([most + 5, 2]);
  push(history, 3, SMALL);
  history.trim();
  expect([history.length, history.from]).toEqual([1, 3]);
});

test('what has gone is kept by nobody', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const history = new History(1);
  const held: WeakRef<Buffer>[] = [];
  for (let revision = 1; revision <= 4_000; revision++) {
    const value = Buffer.alloc(16);
    if (revision <= 3_000) held.push(new WeakRef(value));
    push(history, revision, value);
  }
  history.compact(3_001);
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(held.filter((one) => one.deref() !== undefined)).toEqual([]);
  expect([history.length, [...history.since(1)][0]?.revision]).toEqual([1_000, 3_001]);
});
