import { expect, test } from 'vitest';
import {
  openCollection,
  saveCollection,
} from '../../../../src/datanode/encoding/collections/collection.ts';
import { encodeMemberKey } from '../../../../src/datanode/encoding/records/element-key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

async function addSet(partition: LonePartition, key: string, members: readonly string[]) {
  const txn = new Txn(partition.engine);
  txn.beginEntry(1_000);
  const set = openCollection(txn, Buffer.from(key), 'set', partition.nowMs);
  if (set === 'wrong-type') throw new Error(`${key} is something else`);
  for (const member of members) {
    txn.put(encodeMemberKey(tags.setMember, set.place, Buffer.from(member)), Buffer.from([0]));
    set.size++;
  }
  saveCollection(txn, set);
  await partition.engine.write(txn.operations());
}

test('the members of plain sets count with score 1', async () => {
  const partition = await LonePartition.open();
  const call = async (line: string) => {
    const text = replyText(await partition.call(...line.split(' ')));
    return text
      .replace(/-\n|[" ]/g, '')
      .split('\n')
      .join(' ');
  };
  await addSet(partition, 's', ['a', 'b', 'c']);
  await call('ZADD z 5 b 7 d');
  expect(await call('ZUNION 2 s z WEIGHTS 2 1 WITHSCORES')).toBe('a 2 c 2 b 7 d 7');
  expect(await call('ZINTER 2 z s WITHSCORES')).toBe('b 6');
  expect(await call('ZDIFF 2 s z WITHSCORES')).toBe('a 1 c 1');
  expect(await call('ZDIFF 2 z s WITHSCORES')).toBe('d 7');
  expect(await call('ZINTERCARD 2 s z')).toBe('(integer)1');
  expect(await call('ZUNIONSTORE s 1 s')).toBe('(integer)3');
  expect(await call('ZRANGE s 0 -1 WITHSCORES')).toBe('a 1 b 1 c 1');
});
