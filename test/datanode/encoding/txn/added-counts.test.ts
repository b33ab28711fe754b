import { expect, test } from 'vitest';
import { findKey, removeKey } from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import {
  COUNTS_KEY,
  readCounts,
  writeCounts,
} from '../../../../src/datanode/encoding/records/system.ts';
import { storeString } from '../../../../src/datanode/encoding/strings/string.ts';
import { createView, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

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

test('what is stored does not depend on which batches the commands were in', async () => {
  const apart = (await createMemoryHost().open('1-0')).engine;
  const together = (await createMemoryHost().open('1-0')).engine;
  for (const change of [(txn: Txn) => add(txn, 'a'), (txn: Txn) => remove(txn, 'a')]) {
    const txn = new Txn(apart);
    change(txn);
    await apart.write(txn.operations());
  }
  const txn = new Txn(together);
  add(txn, 'a');
  remove(txn, 'a');
  await together.write(txn.operations());
  expect(together.getSync(COUNTS_KEY)).toEqual(apart.getSync(COUNTS_KEY));
  expect(together.getSync(COUNTS_KEY)).toBeDefined();
});

test('a batch in which no key comes or goes leaves the record alone', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const first = new Txn(engine);
  add(first, 'a');
  await engine.write(first.operations());
  const second = new Txn(engine);
  add(second, 'a');
  expect(second.operations().some(({ key }) => key.equals(COUNTS_KEY))).toBe(false);
});
