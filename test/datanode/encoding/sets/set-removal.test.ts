import { expect, test } from 'vitest';
import { garbageRange } from '../../../../src/datanode/encoding/keyspace/garbage.ts';
import { readRange } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LonePartition } from '../../commands/lone-partition.ts';
import { replyText } from '../../commands/reply-text.ts';

const SIZE = 40_000;

/** A set of members m0, m1 …; and how many records a command changes. */
async function scene() {
  const partition = await LonePartition.open();
  const call = async (line: string) => replyText(await partition.call(...line.split(' ')));
  const members = async (line: string) => (await call(line)).match(/m\d+/g) ?? [];
  for (let at = 0; at < SIZE; at += 1_000) {
    const names = Array.from({ length: 1_000 }, (_, more) => `m${at + more}`);
    await call(`SADD s ${names.join(' ')}`);
  }
  await call('PEXPIREAT s 1800000000000');
  let changes = 0;
  const write = partition.engine.write.bind(partition.engine);
  partition.engine.write = (operations) => {
    changes = operations.length;
    return write(operations);
  };
  return { partition, call, members, changes: () => changes };
}

test.each([
  ['most', 39_990, 1],
  ['more than half', 30_000, 1],
  ['not half', 19_000, 0],
  ['few', 200, 0],
])('who takes %s is given them, and the others stay', async (_name, count, garbage) => {
  const { partition, call, members, changes } = await scene();
  const popped = await members(`SPOP s ${count}`);
  expect(changes()).toBeLessThan(Math.min(count, SIZE - count) + 10);
  expect(popped).toHaveLength(count);
  expect(await readRange(partition.engine, garbageRange())).toHaveLength(garbage);
  const left = await members('SMEMBERS s');
  expect(left).toHaveLength(SIZE - count);
  expect(new Set([...popped, ...left]).size).toBe(SIZE);
  expect(await call('SCARD s')).toBe(`(integer) ${SIZE - count}`);
  expect(await call('PEXPIRETIME s')).toBe('(integer) 1800000000000');
  expect(await call(`SADD s ${left[0]}`)).toBe('(integer) 0');
  expect(await call(`SADD s ${popped[0]}`)).toBe('(integer) 1');
  const encoding = count > 39_900 ? 'listpack' : 'hashtable';
  expect(await call('OBJECT ENCODING s')).toBe(`"${encoding}"`);
});
