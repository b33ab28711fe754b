import { expect, test } from 'vitest';
import {
  openCollection,
  saveCollection,
} from '../../../../src/datanode/encoding/collections/collection.ts';
import { garbageRange } from '../../../../src/datanode/encoding/keyspace/garbage.ts';
import { findKey, removeKey } from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import {
  elementRange,
  encodeMemberKey,
  encodeScoreKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { readRange, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import {
  GARBAGE_SLICE,
  GarbageRemoval,
} from '../../../../src/datanode/partition/upkeep/garbage-removal.ts';

const FLAGS = Buffer.from([0]);

async function fillZset(engine: Engine, index: number, key: string, size: number) {
  const txn = new Txn(engine);
  txn.beginEntry(index);
  const zset = openCollection(txn, Buffer.from(key), 'zset', 0);
  if (zset === 'wrong-type') throw new Error('a new key');
  for (let at = 0; at < size; at++) {
    const member = Buffer.from(`m${at}`);
    txn.put(encodeMemberKey(tags.zsetMember, zset.place, member), FLAGS);
    txn.put(encodeScoreKey(zset.place, at, member), FLAGS);
  }
  zset.size = size;
  saveCollection(txn, zset);
  await engine.write(txn.operations());
  return zset.place;
}

async function drop(engine: Engine, index: number, key: string): Promise<Txn> {
  const txn = new Txn(engine);
  txn.beginEntry(index);
  removeKey(txn, findKey(txn, Buffer.from(key), 0));
  await engine.write(txn.operations());
  return txn;
}

test('elements of a deleted collection go in slices, its record last, others stay', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const size = 2 * GARBAGE_SLICE;
  const gone = await fillZset(engine, 1, 'gone', size);
  const kept = await fillZset(engine, 2, 'kept', 10);
  expect((await drop(engine, 3, 'gone')).leavesGarbage).toBe(true);
  const removal = new GarbageRemoval(engine);
  let slices = 0;
  for (; removal.pending; slices++) {
    expect(await readRange(engine, garbageRange())).toHaveLength(slices > 5 ? 0 : 1);
    await removal.removeSlice();
  }
  // four whole ones, one behind them, one from the beginning on that takes the record, and a look
  // that finds nothing
  expect(slices).toBe(7);
  for (const tag of [tags.zsetMember, tags.zsetScore] as const) {
    expect(await readRange(engine, elementRange(tag, gone))).toEqual([]);
    expect(await readRange(engine, elementRange(tag, kept))).toHaveLength(10);
  }
});

test('what is noted while a look goes on is not forgotten', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const removal = new GarbageRemoval(engine);
  const look = removal.removeSlice();
  const place = await fillZset(engine, 1, 'k', 3);
  await drop(engine, 2, 'k');
  removal.note();
  await look;
  expect(removal.pending).toBe(true);
  while (removal.pending) await removal.removeSlice();
  expect(await readRange(engine, elementRange(tags.zsetScore, place))).toEqual([]);
});
