import { expect, test } from 'vitest';
import { findKey, removeKey, storeKey } from '../../../src/datanode/encoding/keyspace.ts';
import { storeString } from '../../../src/datanode/encoding/string.ts';
import { COUNTS_KEY, readCounts, writeCounts } from '../../../src/datanode/encoding/system.ts';
import { createView, Txn } from '../../../src/datanode/encoding/txn.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';

const NOW = 1_000;
const bytes = (text: string) => Buffer.from(text);

function add(txn: Txn, key: string, deadlineMs = 0): void {
  storeString(txn, findKey(txn, bytes(key), NOW), bytes('v'), deadlineMs);
}

function remove(txn: Txn, key: string): void {
  removeKey(txn, findKey(txn, bytes(key), NOW));
}

test('keys that come and go are counted with their batch, and before it for its own reads', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const first = new Txn(engine);
  for (const key of ['a', 'b', 'c']) add(first, key, key === 'a' ? NOW + 1 : 0);
  expect(readCounts(first)).toEqual({ keys: 3, expires: 1 });
  remove(first, 'b');
  add(first, 'd');
  remove(first, 'a');
  await engine.write(first.operations());
  expect(readCounts(createView(engine))).toEqual({ keys: 2, expires: 0 });
  const second = new Txn(engine);
  add(second, 'e');
  await engine.write(await second.batchInSteps({ isDue: () => false, pause: async () => {} }));
  expect(readCounts(createView(engine))).toEqual({ keys: 3, expires: 0 });
});

test('what is counted anew is not added to', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  add(txn, 'a');
  writeCounts(txn, { keys: 0, expires: 0 });
  add(txn, 'b');
  expect(readCounts(txn)).toEqual({ keys: 1, expires: 0 });
  expect([...txn.changes()].filter(({ key }) => key.equals(COUNTS_KEY))).toHaveLength(1);
});

test('a batch after which there are as many as before leaves the record alone', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  add(txn, 'a');
  const found = findKey(txn, bytes('a'), NOW);
  storeKey(txn, found, found.live!);
  remove(txn, 'a');
  expect(txn.operations().some(({ key }) => key.equals(COUNTS_KEY))).toBe(false);
});
