import { expect, test } from 'vitest';
import { encodingOfSet, readSet } from '../../../../src/datanode/encoding/sets/set.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../../commands/lone-partition.ts';
import { countReads } from '../counted-engine.ts';

const KEY = Buffer.from('s');
const integers = (count: number) => Array.from({ length: count }, (_, at) => String(at));
const texts = (count: number) => Array.from({ length: count }, (_, at) => `t${at}`);

async function encoding(partition: LonePartition): Promise<string> {
  const set = readSet(createView(partition.engine), KEY, partition.nowMs);
  return set === undefined || set === 'wrong-type' ? String(set) : encodingOfSet(set);
}

test.each([
  ['integers', [integers(512)], 'intset'],
  ['one integer too many', [integers(513)], 'hashtable'],
  ['one integer too many later', [integers(512), ['x'.repeat(1), '9999']], 'hashtable'],
  ['texts', [texts(128)], 'listpack'],
  ['one text too many', [texts(128), ['more']], 'hashtable'],
  ['more arguments than a listpack holds', [['a'], [...texts(128), 'a']], 'hashtable'],
  ['a text among few integers', [integers(127), ['x']], 'listpack'],
  ['a text among more integers', [integers(128), ['x']], 'hashtable'],
  ['a member of 64 bytes', [['x'.repeat(64)]], 'listpack'],
  ['a member of 65 bytes', [['x'.repeat(65)]], 'hashtable'],
  ['an integer beyond 64 bits', [['9223372036854775808']], 'listpack'],
])('%s', async (_name, additions, expected) => {
  const partition = await LonePartition.open();
  for (const members of additions) await partition.call('SADD', 's', ...members);
  expect(await encoding(partition)).toBe(expected);
});

test('the encoding never goes back, but for the few that SPOP leaves', async () => {
  const partition = await LonePartition.open();
  await partition.call('SADD', 's', ...texts(300));
  await partition.call('SREM', 's', ...texts(295));
  expect(await encoding(partition)).toBe('hashtable');
  await partition.call('SADD', 's', ...texts(300));
  await partition.call('SPOP', 's', '200');
  expect(await encoding(partition)).toBe('hashtable');
  await partition.call('SPOP', 's', '90');
  expect(await encoding(partition)).toBe('listpack');
});

test('SPOP pops different members, and leaves the others', async () => {
  for (const [size, count] of [
    [50, 20],
    [2_000, 10],
    [2_000, 1_900],
  ] as const) {
    const partition = await LonePartition.open();
    await partition.call('SADD', 's', ...texts(size));
    const popped = namesOf(await partition.call('SPOP', 's', String(count)));
    const left = namesOf(await partition.call('SMEMBERS', 's'));
    expect(popped).toHaveLength(count);
    expect(left).toHaveLength(size - count);
    expect(new Set([...popped, ...left]).size).toBe(size);
    expect(await partition.call('SCARD', 's')).toMatchObject({ value: size - count });
  }
});

test('SPOP alone empties a set', async () => {
  const partition = await LonePartition.open();
  await partition.call('SADD', 's', ...texts(300));
  const popped = new Set<string>();
  for (let turn = 0; turn < 300; turn++) {
    const reply = await partition.call('SPOP', 's');
    if (reply.kind === 'bulk') popped.add(reply.bytes.toString());
  }
  expect(popped.size).toBe(300);
  expect(await partition.call('EXISTS', 's')).toMatchObject({ value: 0 });
});

test('SSCAN gives every member that stays, while others come and go', async () => {
  const partition = await LonePartition.open();
  await partition.call('SADD', 's', ...texts(1_000));
  const seen = new Set<string>();
  let cursor = '0';
  let turns = 0;
  do {
    const reply = await partition.call('SSCAN', 's', cursor, 'COUNT', '20');
    if (reply.kind !== 'array') throw new Error('no array');
    for (const name of namesOf(reply.items[1]!)) seen.add(name);
    cursor = namesOf({ kind: 'array', items: [reply.items[0]!] })[0]!;
    await partition.call('SREM', 's', `t${500 + turns}`);
    await partition.call('SADD', 's', `new${turns}`);
    turns++;
  } while (cursor !== '0');
  expect(turns).toBeGreaterThan(40);
  expect(texts(500).filter((name) => !seen.has(name))).toEqual([]);
});

test('point operations on a large set read a bounded number of records', async () => {
  const { engine, takeReads } = countReads((await LonePartition.open()).engine);
  const partition = new LonePartition(engine);
  for (let at = 0; at < 100_000; at += 10_000) {
    const part = Array.from({ length: 10_000 }, (_, member) => `m${at + member}`);
    await partition.call('SADD', 's', ...part);
  }
  takeReads();
  for (const line of [
    ['SADD', 's', 'new'],
    ['SREM', 's', 'm5'],
    ['SISMEMBER', 's', 'm7'],
    ['SMISMEMBER', 's', 'm7', 'm8'],
    ['SCARD', 's'],
    ['SMOVE', 's', 'other', 'm9'],
    ['SRANDMEMBER', 's'],
    ['SPOP', 's'],
    ['SINTERCARD', '2', 's', 'other'],
    ['OBJECT', 'ENCODING', 's'],
    ['EXPIRE', 's', '1000'],
    ['RENAME', 's', '{s}2'],
    ['DEL', '{s}2'],
  ]) {
    const reply = await partition.call(...line);
    expect(reply.kind, line.join(' ')).not.toBe('error');
    expect(takeReads(), line.join(' ')).toBeLessThan(50);
  }
});

function namesOf(reply: Reply): string[] {
  if (reply.kind !== 'array' && reply.kind !== 'set') throw new Error(`no items: ${reply.kind}`);
  return reply.items.map((item) => (item.kind === 'bulk' ? item.bytes.toString() : ''));
}
