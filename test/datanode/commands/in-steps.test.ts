/** Commands with thousands of arguments: worked off in steps, and answered as if at once. */
import { expect, test } from 'vitest';
import { resolveCommand } from '../../../src/datanode/commands/table.ts';
import { Txn } from '../../../src/datanode/encoding/txn.ts';
import { array, bulk, integer, NULL, OK, type Reply } from '../../../src/datanode/resp/reply.ts';
import { LonePartition } from './lone-partition.ts';

const COUNT = 1_000;
const numbers = Array.from({ length: COUNT }, (_, at) => at);
const each = (words: (at: number) => string[]) => numbers.flatMap(words);
const all = (reply: (at: number) => Reply) => array(numbers.map(reply));
const twice = (words: string[]) => [...words, ...words];

/** In order, each on what those before it left. */
const calls: readonly (readonly [words: string[], reply: Reply])[] = [
  [['SADD', 's', ...twice(each((at) => [`m${at}`]))], integer(COUNT)],
  [['SMISMEMBER', 's', ...each((at) => [`m${at * 2}`])], all((at) => integer(at < 500 ? 1 : 0))],
  [['SREM', 's', ...each((at) => [`m${at * 2}`])], integer(500)],
  [['SCARD', 's'], integer(500)],
  [['HSET', 'h', ...each((at) => [`f${at}`, `${at}`])], integer(COUNT)],
  [['HSET', 'h', ...each((at) => [`f${at + 1}`, `${at}`])], integer(1)],
  [['HMGET', 'h', ...each((at) => [`f${at + 1}`])], all((at) => bulk(`${at}`))],
  [['HDEL', 'h', ...each((at) => [`f${at * 2}`])], integer(501)],
  [['HLEN', 'h'], integer(500)],
  [['ZADD', 'z', ...each((at) => [`${at}`, `m${at}`])], integer(COUNT)],
  [['ZADD', 'z', 'CH', ...each((at) => [`${Math.max(at, 10)}`, `m${at}`])], integer(10)],
  [['ZMSCORE', 'z', ...each((at) => [`m${at}`])], all((at) => bulk(`${Math.max(at, 10)}`))],
  [['ZREM', 'z', ...each((at) => [`m${at * 2}`])], integer(500)],
  [['ZRANK', 'z', 'm999'], integer(499)],
  [['RPUSH', 'l', ...each((at) => [`e${at}`])], integer(COUNT)],
  [['LPUSH', 'l', ...each((at) => [`e${at}`])], integer(2 * COUNT)],
  [['LRANGE', 'l', '998', '1001'], array(['e1', 'e0', 'e0', 'e1'].map((text) => bulk(text)))],
  [['MSET', ...each((at) => [`k${at}`, `v${at}`])], OK],
  [['MSETNX', ...each((at) => [`k${at + COUNT - 1}`, 'other'])], integer(0)],
  [['MSETNX', ...each((at) => [`n${at}`, 'other'])], integer(1)],
  [['MGET', ...each((at) => [`k${at * 2}`])], all((at) => (at < 500 ? bulk(`v${at * 2}`) : NULL))],
  [['EXISTS', ...each((at) => [`k${at * 2}`])], integer(500)],
  [['DEL', ...each((at) => [`k${at * 2}`])], integer(500)],
  [['EXISTS', ...each((at) => [`k${at}`])], integer(500)],
];

function plain(reply: Reply): unknown {
  if (reply.kind === 'array') return reply.items.map(plain);
  if (reply.kind === 'bulk') return reply.bytes.toString();
  if (reply.kind === 'double') return reply.text ?? String(reply.value);
  if (reply.kind === 'integer') return Number(reply.value);
  return reply.kind === 'simple' ? reply.text : reply.kind;
}

test('thousands of arguments are answered as if they were worked off at once', async () => {
  const partition = await LonePartition.open();
  for (const [words, reply] of calls) {
    const got = await partition.call(...words);
    expect(plain(got), words.slice(0, 3).join(' ')).toEqual(plain(reply));
  }
});

test('others may have their turn after some dozens of them, unless there are few', async () => {
  const { engine } = await LonePartition.open();
  const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383 };
  const turnsOf = (count: number) => {
    const line = ['SADD', 's', ...numbers.slice(0, count).map((at) => `m${at}`)];
    const args = line.map((word) => Buffer.from(word));
    const command = resolveCommand(args);
    if (command?.kind !== 'write') throw new Error('SADD writes');
    const prepared = command.prepare(args);
    if (!prepared.ok) throw new Error('well formed');
    const result = prepared.run(new Txn(engine), context);
    if ('kind' in result) return 1;
    let turns = 1;
    while (!result.next([]).done) turns++;
    return turns;
  };
  expect([1, 100, COUNT].map(turnsOf)).toEqual([1, 1, 16]);
});
