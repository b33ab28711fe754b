import { expect, test } from 'vitest';
import { encodingOfHash, readHash } from '../../../../src/datanode/encoding/hashes/hash.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../../commands/lone-partition.ts';
import { countReads } from '../counted-engine.ts';

const KEY = Buffer.from('h');
const pairs = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => [`f${from + at}`, `v${from + at}`]).flat();

async function encoding(partition: LonePartition): Promise<string> {
  const hash = readHash(createView(partition.engine), KEY, partition.nowMs);
  return hash === undefined || hash === 'wrong-type'
    ? String(hash)
    : encodingOfHash(hash.collection);
}

test.each([
  ['few fields', [['HSET', 'h', ...pairs(512)]], 'listpack'],
  ['one too many', [['HSET', 'h', ...pairs(513)]], 'hashtable'],
  [
    'one too many later',
    [
      ['HSET', 'h', ...pairs(512)],
      ['HSETNX', 'h', 'x', ''],
    ],
    'hashtable',
  ],
  ['a value of 64 bytes', [['HSET', 'h', 'f', 'x'.repeat(64)]], 'listpack'],
  ['a value of 65 bytes', [['HSET', 'h', 'f', 'x'.repeat(65)]], 'hashtable'],
  ['a field of 65 bytes', [['HINCRBY', 'h', 'x'.repeat(65), '1']], 'hashtable'],
  [
    'a long value that was',
    [
      ['HSET', 'h', 'f', 'x'.repeat(65)],
      ['HSET', 'h', 'f', ''],
    ],
    'hashtable',
  ],
])('%s', async (_name, lines, expected) => {
  const partition = await LonePartition.open();
  for (const line of lines) await partition.call(...line);
  expect(await encoding(partition)).toBe(expected);
});

test('HSCAN gives every field once while nothing changes', async () => {
  const partition = await LonePartition.open();
  await partition.call('HSET', 'h', ...pairs(1_000));
  const given: string[] = [];
  let cursor = '0';
  do {
    const reply = await partition.call('HSCAN', 'h', cursor, 'COUNT', '17');
    if (reply.kind !== 'array') throw new Error('no array');
    const page = textsOf(reply.items[1]!);
    expect(page.length).toBeLessThanOrEqual(34);
    given.push(...page);
    cursor = textsOf({ kind: 'array', items: [reply.items[0]!] })[0]!;
  } while (cursor !== '0');
  expect(given).toHaveLength(2_000);
  expect([...given].sort()).toEqual(pairs(1_000).sort());
});

test('HRANDFIELD gives fields with their own values', async () => {
  const partition = await LonePartition.open();
  await partition.call('HSET', 'h', ...pairs(1_000));
  for (const count of ['10', '900', '-10', '-2000']) {
    const reply = await partition.call('HRANDFIELD', 'h', count, 'WITHVALUES');
    if (reply.kind !== 'pairs') throw new Error('no pairs');
    expect(reply.pairs).toHaveLength(Math.abs(Number(count)));
    for (const pair of reply.pairs) {
      const [field, value] = textsOf({ kind: 'array', items: pair });
      expect(value).toBe(field!.replace('f', 'v'));
    }
  }
});

test('a reply that repeats large values is refused', async () => {
  const partition = await LonePartition.open();
  await partition.call('HSET', 'h', 'f', Buffer.alloc(1_000_000));
  for (const count of ['-300', '-10000001']) {
    expect(await partition.call('HRANDFIELD', 'h', count, 'WITHVALUES')).toMatchObject({
      kind: 'error',
      text: expect.stringMatching(/^ERR the reply would be larger/),
    });
  }
});

test('a field whose value changes writes no header', async () => {
  const { engine, takeReads } = countReads((await LonePartition.open()).engine);
  const partition = new LonePartition(engine);
  await partition.call('HSET', 'h', 'f', '1');
  takeReads();
  await partition.call('HSET', 'h', 'f', '2');
  // the key record and the field
  expect(takeReads()).toBe(2);
});

test('point operations on a large hash read a bounded number of records', async () => {
  const { engine, takeReads } = countReads((await LonePartition.open()).engine);
  const partition = new LonePartition(engine);
  for (let at = 0; at < 100_000; at += 10_000) {
    await partition.call('HSET', 'h', ...pairs(10_000, at));
  }
  takeReads();
  for (const line of [
    ['HSET', 'h', 'new', 'v'],
    ['HSETNX', 'h', 'newer', 'v'],
    ['HGET', 'h', 'f1'],
    ['HMGET', 'h', 'f1', 'f2', 'f3'],
    ['HEXISTS', 'h', 'f1'],
    ['HSTRLEN', 'h', 'f1'],
    ['HLEN', 'h'],
    ['HDEL', 'h', 'f1', 'f2'],
    ['HINCRBY', 'h', 'i', '1'],
    ['HINCRBYFLOAT', 'h', 'i', '1'],
    ['HRANDFIELD', 'h'],
    ['HSCAN', 'h', '0'],
    ['EXPIRE', 'h', '1000'],
    ['RENAME', 'h', '{h}2'],
    ['DEL', '{h}2'],
  ]) {
    const reply = await partition.call(...line);
    expect(reply.kind, line.join(' ')).not.toBe('error');
    expect(takeReads(), line.join(' ')).toBeLessThan(50);
  }
});

function textsOf(reply: Reply): string[] {
  if (reply.kind !== 'array') throw new Error(`no items: ${reply.kind}`);
  return reply.items.map((item) => (item.kind === 'bulk' ? item.bytes.toString() : ''));
}
