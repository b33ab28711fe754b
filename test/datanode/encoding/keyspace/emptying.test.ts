import { beforeEach, expect, test } from 'vitest';
import {
  findEmptying,
  markEmptying,
  unmarkEmptying,
} from '../../../../src/datanode/encoding/keyspace/emptying.ts';
import { systemKey } from '../../../../src/datanode/encoding/records/system.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

let txn: Txn;

beforeEach(async () => {
  const { engine } = await createMemoryHost().open('1-0');
  txn = new Txn(engine);
});

test('the mark of a FLUSHALL says which entry, and how many numbers were drawn, until it goes', () => {
  expect(findEmptying(txn)).toBeUndefined();
  markEmptying(txn, { index: 139, draws: 2 ** 40 });
  expect(findEmptying(txn)).toEqual({ index: 139, draws: 2 ** 40 });
  expect(txn.get(systemKey('emptying'))?.toString('hex')).toBe(
    '01000000000000008b0000010000000000',
  );
  unmarkEmptying(txn);
  expect(findEmptying(txn)).toBeUndefined();
});

test('one of another version is not taken for anything', () => {
  for (const bytes of ['02000000000000008b0000010000000000', '01000000000000008b']) {
    txn.put(systemKey('emptying'), Buffer.from(bytes, 'hex'));
    expect(() => findEmptying(txn)).toThrow(/mark of a FLUSHALL of version/);
  }
});
