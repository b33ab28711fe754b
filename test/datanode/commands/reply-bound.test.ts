/** Replies beyond the bound of one are refused, whatever command would give them. */
import { beforeAll, expect, test, vi } from 'vitest';
import { encodeExec } from '../../../src/datanode/commands/transactions/exec-line.ts';
import { GLANCE, NOTHING } from '../../../src/datanode/encoding/steps/slices.ts';
import { ReadAhead } from '../../../src/datanode/encoding/txn/read-ahead.ts';
import { Txn } from '../../../src/datanode/encoding/txn/txn.ts';
import type { KeyRange } from '../../../src/datanode/engine/engine.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { replyBytes } from '../../../src/datanode/resp/reply-bytes.ts';
import { LonePartition } from './lone-partition.ts';

const LARGE = Buffer.alloc(1_048_576, 'x');
const COUNT = 70;
let partition: LonePartition;

beforeAll(async () => {
  partition = await LonePartition.open();
  for (let at = 0; at < COUNT; at++) {
    const member = Buffer.from(LARGE);
    member.writeUInt32BE(at);
    await partition.call('HSET', 'hash', `f${at}`, member);
    await partition.call('RPUSH', 'list', member);
    await partition.call('SADD', 'set', member);
    await partition.call('ZADD', 'zset', '1', member);
    await partition.call('SET', `string${at}`, member);
    await partition.call('XADD', 'stream', `${at + 1}-0`, 'f', member);
  }
});

const strings = Array.from({ length: COUNT }, (_, at) => `string${at}`);
const fields = Array.from({ length: COUNT }, (_, at) => `f${at}`);

test.each([
  [['HGETALL', 'hash'], 'HSCAN'],
  [['HVALS', 'hash'], 'HSCAN'],
  [['HGETDEL', 'hash', 'FIELDS', String(COUNT), ...fields], 'fewer fields'],
  [['HGETEX', 'hash', 'EX', '0', 'FIELDS', String(COUNT), ...fields], 'fewer fields'],
  [['HRANDFIELD', 'hash', '-100', 'WITHVALUES'], 'a smaller count'],
  [['SMEMBERS', 'set'], 'SSCAN'],
  [['SUNION', 'set', 'none'], 'SSCAN'],
  [['SRANDMEMBER', 'set', '100'], 'a smaller count'],
  [['SPOP', 'set', '100'], 'a smaller count'],
  [['LRANGE', 'list', '0', '-1'], 'smaller ranges'],
  [['LPOP', 'list', '100'], 'a smaller count'],
  [['LMPOP', '1', 'list', 'RIGHT', 'COUNT', '100'], 'a smaller count'],
  [['SORT', 'list', 'ALPHA'], 'LIMIT'],
  [['ZRANGE', 'zset', '0', '-1', 'WITHSCORES'], 'ZSCAN'],
  [['ZREVRANGEBYSCORE', 'zset', '+inf', '-inf'], 'ZSCAN'],
  [['ZUNION', '1', 'zset'], 'fewer or smaller keys'],
  [['ZPOPMIN', 'zset', '100'], 'a smaller count'],
  [['MGET', ...strings], 'fewer keys'],
  [['XRANGE', 'stream', '-', '+'], 'a smaller COUNT'],
  [['XREVRANGE', 'stream', '+', '-'], 'a smaller COUNT'],
  [['XREAD', 'STREAMS', 'stream', '0'], 'a smaller COUNT'],
])('%s', async (words, instead) => {
  const reply = await partition.call(...words);
  expect(reply).toMatchObject({ kind: 'error' });
  const { text } = reply as Extract<Reply, { kind: 'error' }>;
  expect(text).toMatch(/^ERR the reply would be larger than reply-bytes-max \(67108864 bytes\)/);
  expect(text).toContain(instead);
});

test.each([
  ['SRANDMEMBER', 'set', '100'],
  ['HRANDFIELD', 'fields', '100'],
  ['SPOP', 'set', '100'],
  ['ZUNION', '1', 'zset'],
  ['ZINTER', '1', 'zset'],
  ['ZDIFF', '1', 'zset'],
  ['ZPOPMIN', 'zset', '100'],
  ['ZMPOP', '1', 'zset', 'MAX', 'COUNT', '100'],
])('%s %s %s is refused before all is gathered', async (...words) => {
  if (words[1] === 'fields') await addFields();
  let members = 0;
  const spy = vi.spyOn(ReadAhead.prototype, 'range');
  const txnSpy = vi.spyOn(Txn.prototype, 'range');
  expect(await partition.call(...words)).toMatchObject({
    text: expect.stringContaining('reply-bytes-max'),
  });
  for (const { value } of [...spy.mock.results, ...txnSpy.mock.results]) {
    for (const [key] of await value) if (key.length > LARGE.length) members++;
  }
  expect(members).toBeGreaterThan(0);
  expect(members).toBeLessThan(COUNT);
  vi.restoreAllMocks();
});

async function addFields(): Promise<void> {
  for (let at = 0; at < COUNT; at++) {
    const field = Buffer.from(LARGE);
    field.writeUInt32BE(at);
    await partition.call('HSET', 'fields', field, '');
  }
}

test.each([
  ['SRANDMEMBER', 'small'],
  ['ZRANDMEMBER', 'smallz'],
  ['HRANDFIELD', 'smallh'],
])('%s of more elements than a reply has room for reads nothing', async (name, key) => {
  await partition.call('SADD', 'small', 'a', 'b');
  await partition.call('ZADD', 'smallz', '1', 'a', '2', 'b');
  await partition.call('HSET', 'smallh', 'a', '1', 'b', '2');
  const spy = vi.spyOn(ReadAhead.prototype, 'range');
  expect(await partition.call(name, key, '-4194305')).toMatchObject({
    text: expect.stringContaining('reply-bytes-max'),
  });
  const isElement = (range: KeyRange) => range !== NOTHING && range !== GLANCE;
  expect(spy.mock.calls.filter(([range]) => isElement(range))).toEqual([]);
  vi.restoreAllMocks();
});

test('XREADGROUP gives as many entries as a reply has room for, and the others after them', async () => {
  await partition.call('XGROUP', 'CREATE', 'stream', 'g', '0');
  const read = async () => {
    const reply = await partition.call('XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', 'stream', '>');
    expect(replyBytes(reply)).toBeLessThanOrEqual(67_108_864);
    const pending = await partition.call('XPENDING', 'stream', 'g');
    if (pending.kind !== 'array' || pending.items[0]?.kind !== 'integer') throw new Error('none');
    return Number(pending.items[0].value);
  };
  const first = await read();
  expect(first).toBeGreaterThan(50);
  expect(first).toBeLessThan(COUNT);
  expect(await read()).toBe(COUNT);
});

test('what was refused has changed nothing', async () => {
  for (const [command, key] of [
    ['HLEN', 'hash'],
    ['LLEN', 'list'],
    ['SCARD', 'set'],
    ['ZCARD', 'zset'],
  ] as const) {
    expect(await partition.call(command, key)).toEqual({ kind: 'integer', value: COUNT });
  }
  expect(await partition.call('LRANGE', 'list', '0', '0')).toMatchObject({ items: [{}] });
});

test('in a transaction too, and the transaction goes on', async () => {
  const lines = [
    ['LPOP', 'list', '100'],
    ['HVALS', 'hash'],
    ['LRANGE', 'list', '0', '39'],
    ['LRANGE', 'list', '0', '39'],
    ['GET', 'string1'],
    ['LLEN', 'list'],
  ].map((line) => line.map((word) => Buffer.from(word)));
  const reply = await partition.call(...encodeExec(lines, undefined));
  expect(reply.kind === 'array' && reply.items.map(({ kind }) => kind)).toEqual([
    'error',
    'error',
    'array',
    'array',
    'error',
    'error',
  ]);
  expect(await partition.call('LLEN', 'list')).toEqual({ kind: 'integer', value: COUNT });
});

test('a page of a scan ends early where elements are long', async () => {
  const page = await partition.call('HSCAN', 'hash', '0', 'COUNT', '1000');
  const [cursor, items] = page.kind === 'array' ? page.items : [];
  expect(cursor).not.toEqual({ kind: 'bulk', bytes: Buffer.from('0') });
  expect(items?.kind === 'array' && items.items.length).toBeLessThan(24);
});

test('a page of SCAN ends early where keys are long, and its walk gives them all', async () => {
  const keyBytes = 262_144;
  const long = await LonePartition.open();
  const keys = Array.from({ length: 100 }, (_, at) => `${at}-`.padEnd(keyBytes, 'k'));
  for (const key of keys) await long.call('SET', key, 'x');
  const given: string[] = [];
  let cursor = '0';
  do {
    const page = await long.call('SCAN', cursor, 'COUNT', '10000');
    const [next, items] = page.kind === 'array' ? page.items : [];
    if (next?.kind !== 'bulk' || items?.kind !== 'array') throw new Error('no page');
    expect(items.items.length).toBeLessThan(40);
    for (const item of items.items) if (item.kind === 'bulk') given.push(item.bytes.toString());
    cursor = next.bytes.toString();
  } while (cursor !== '0');
  expect(given.sort()).toEqual(keys.sort());
});

test('writes of a transaction are carried out, with what they answer left out beyond its bound', async () => {
  const lines = [
    ['LRANGE', 'list', '0', '39'],
    ['LRANGE', 'list', '0', '39'],
    ['LPOP', 'list', '40'],
    ['LPOP', 'list', '30'],
    ['LPUSH', 'list', 'a'],
    ['GETSET', 'string1', 'b'],
    ['GETSET', 'string2', 'b'],
    ['LPOP', 'list'],
  ].map((line) => line.map((word) => Buffer.from(word)));
  const reply = await partition.call(...encodeExec(lines, undefined));
  const items = reply.kind === 'array' ? reply.items : [];
  expect(items.map(({ kind }) => kind)).toEqual([
    ...['array', 'array', 'array', 'error', 'integer', 'bulk', 'bulk', 'bulk'],
  ]);
  expect(items[3]).toMatchObject({
    text: expect.stringMatching(/^ERR carried out, but its reply .* 134217728 bytes$/),
  });
  expect(replyBytes(reply)).toBeLessThan(134_217_728);
  expect(await partition.call('LLEN', 'list')).toEqual({ kind: 'integer', value: 0 });
});

test('SORT looks nothing up any more once its reply is too large', async () => {
  const sorted = await LonePartition.open();
  await sorted.call('RPUSH', 'l', ...Array.from({ length: 120 }, (_, at) => String(at)));
  for (let at = 0; at < 120; at++) await sorted.call('SET', `w${at}`, LARGE);
  const lookups = vi.spyOn(sorted.engine, 'getSync');
  for (const command of ['SORT', 'SORT_RO']) {
    lookups.mockClear();
    expect(await sorted.call(command, 'l', 'GET', 'w*')).toMatchObject({
      text: expect.stringContaining('reply-bytes-max'),
    });
    expect(lookups.mock.calls.length).toBeLessThan(80);
  }
});
