import { expect, test } from 'vitest';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import { garbageRange } from '../../../../src/datanode/encoding/keyspace/garbage.ts';
import { readRange } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LonePartition } from '../../commands/lone-partition.ts';
import { replyText } from '../../commands/reply-text.ts';

const SIZE = 40_000;

/** A set of members m0, m1 … with their numbers, halved, as scores; and how many records a command changes. */
async function scene() {
  const partition = await LonePartition.open();
  const call = async (line: string) => replyText(await partition.call(...line.split(' ')));
  for (let at = 0; at < SIZE; at += 1_000) {
    const pairs = Array.from({ length: 1_000 }, (_, more) => `${(at + more) >> 1} m${at + more}`);
    await call(`ZADD z ${pairs.join(' ')}`);
  }
  let changes = 0;
  const write = partition.engine.write.bind(partition.engine);
  partition.engine.write = (operations) => {
    changes = operations.length;
    return write(operations);
  };
  return { partition, call, changes: () => changes };
}

/** Members of a list of numbers. */
const named = (numbers: readonly number[]) => numbers.map((number) => `m${number}`).sort();

test.each([
  ['all by score', 'ZREMRANGEBYSCORE z -inf +inf'],
  ['all by rank', 'ZREMRANGEBYRANK z 0 -1'],
])('who removes %s changes a few records, and leaves garbage', async (_name, line) => {
  const { partition, call, changes } = await scene();
  expect(await call(line)).toBe(`(integer) ${SIZE}`);
  expect(changes()).toBeLessThan(10);
  expect(await readRange(partition.engine, garbageRange())).toHaveLength(1);
  expect(await call('EXISTS z')).toBe('(integer) 0');
  expect(await call('ZADD z 1 a')).toBe('(integer) 1');
  expect(await call('ZRANGE z 0 -1')).toContain('"a"');
});

test.each([
  ['lowest', 'ZPOPMIN z 30000', 0, 30_000],
  ['highest', 'ZPOPMAX z 39990', 10, SIZE],
  ['all', 'ZPOPMIN z 100000', 0, SIZE],
  ['few', 'ZPOPMIN z 200', 0, 200],
  ['not half', 'ZPOPMAX z 19000', 21_000, SIZE],
])('who takes the %s is given them, and the others stay', async (_name, line, from, to) => {
  const { partition, call, changes } = await scene();
  const members = async (...words: string[]) =>
    replyText(await partition.call(...words)).match(/m\d+/g) ?? [];
  const before = await members('ZRANGE', 'z', '0', '-1');
  const popped = await members(...line.split(' '));
  const most = Math.min(to - from, SIZE - (to - from));
  expect(changes()).toBeLessThan(2.3 * most + 50);
  const given = before.slice(from, to);
  expect(popped).toEqual(line.includes('MAX') ? given.reverse() : given);
  const left = [...before.slice(0, from), ...before.slice(to)];
  expect(await members('ZRANGE', 'z', '0', '-1')).toEqual(left);
  expect(await call('ZCARD z')).toBe(`(integer) ${left.length}`);
  if (left.length === 0) return;
  expect(await call(`ZRANK z ${left.at(-1)}`)).toBe(`(integer) ${left.length - 1}`);
});

test.each([
  ['from the beginning', 'ZREMRANGEBYRANK z 0 29999', 0, 30_000],
  ['at the end', 'ZREMRANGEBYRANK z -25000 -1', 15_000, SIZE],
  ['in the midst by rank', 'ZREMRANGEBYRANK z 7 39900', 7, 39_901],
  ['in the midst by score', 'ZREMRANGEBYSCORE z (99 18999', 200, 38_000],
  ['few', 'ZREMRANGEBYSCORE z 100 199', 200, 400],
  ['not half', 'ZREMRANGEBYRANK z 100 19999', 100, 20_000],
])('what is left when a part %s is removed', async (_name, line, from, to) => {
  const { partition, call, changes } = await scene();
  await call('PEXPIREAT z 1800000000000');
  expect(await call(line)).toBe(`(integer) ${to - from}`);
  const numbers = Array.from({ length: SIZE }, (_, at) => at);
  const left = numbers.filter((number) => number < from || number >= to);
  expect(changes()).toBeLessThan(2.3 * Math.min(left.length, to - from) + 50);
  expect(await call('ZCARD z')).toBe(`(integer) ${left.length}`);
  const given = await partition.call('ZRANGE', 'z', '0', '-1');
  const members = replyText(given).match(/m\d+/g)!;
  expect(members.sort()).toEqual(named(left));
  for (const number of [left[0]!, left[left.length >> 1]!, left.at(-1)!]) {
    expect(await call(`ZSCORE z m${number}`)).toBe(`"${number >> 1}"`);
    // members of one score are in the order of their texts
    const rank = left.filter((one) => one >> 1 < number >> 1).length;
    expect([rank, rank + 1]).toContain(Number((await call(`ZRANK z m${number}`)).slice(10)));
  }
  expect(await call(`ZSCORE z m${from}`)).toBe('(nil)');
  expect(await call('PEXPIRETIME z')).toBe('(integer) 1800000000000');
  expect(await call('OBJECT ENCODING z')).toBe('"skiplist"');
  expect(await call('ZADD z -5 new')).toBe('(integer) 1');
  expect(await call(`ZRANK z m${left.at(-1)}`)).toBe(`(integer) ${left.length}`);
});

test('a transaction goes on with what it left of a set that it had changed', async () => {
  const { partition, call } = await scene();
  const lines = [
    ...['ZADD z -7 first', 'ZREMRANGEBYRANK z 1 39000', 'ZADD z -6 second', 'ZRANK z m39001'],
    ...['ZREMRANGEBYSCORE z -inf +inf', 'ZADD z 9 other', 'ZRANGE z 0 -1'],
  ];
  const exec = encodeExec(lines.map((line) => line.split(' ').map((word) => Buffer.from(word))));
  const reply = replyText(await partition.call(...(exec as Buffer[])));
  expect(reply.match(/\(integer\) \d+|"\w+"/g)).toEqual([
    ...['(integer) 1', '(integer) 39000', '(integer) 1', '(integer) 3'],
    ...['(integer) 1002', '(integer) 1', '"other"'],
  ]);
  expect(await call('ZCARD z')).toBe('(integer) 1');
});
