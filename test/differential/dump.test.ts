/**
 * DUMP and RESTORE between kvorum and a stock redis-server, in both directions; and RESTORE's
 * arguments, which both take and refuse alike.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rdbTypes } from '../../src/datanode/encoding/rdb/rdb-decode.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { hasRedis, RealRedis } from '../datanode/commands/real-redis.ts';
import { sortedReplyText } from '../datanode/commands/reply-text.ts';
import { sealRdbPayload } from '../datanode/encoding/rdb/at-once.ts';
import {
  compressedRun,
  intset,
  length,
  listpack,
  text,
  value,
  ziplist,
  zipmap,
} from '../datanode/encoding/rdb/rdb-forms.ts';
import { differential, exact, inSeconds, type Step } from './differential.ts';
import { integerWord, key, member, option, words } from './words.ts';

const score = Buffer.alloc(8);
score.writeDoubleLE(-0.25);
const few = ['a', '1', 'b', '-300', 'c', 'x'.repeat(70)];
const scored = ['c', '-inf', 'a', '1', 'b', '2.5'];

/** Values as this Redis and older ones wrote them. */
const forms: readonly (readonly [string, Buffer])[] = [
  ['string', value(rdbTypes.string, text('some string'))],
  ['integer', value(rdbTypes.string, Buffer.from([0xc1, 0x39, 0x30]))],
  ['small integer', value(rdbTypes.string, text('7'))],
  ['compressed', value(rdbTypes.string, compressedRun(0x61, 1_000))],
  ['list', value(rdbTypes.list, length(3), text('a'), text('b'), text('a'))],
  ['list in a ziplist', value(rdbTypes.listZiplist, text(ziplist(few)))],
  ['quicklist', value(rdbTypes.listQuicklist, length(2), text(ziplist(few)), text(ziplist(few)))],
  [
    'quicklist 2',
    value(rdbTypes.listQuicklist2, length(2), length(2), text(listpack(few)), length(1), text('z')),
  ],
  ['set', value(rdbTypes.set, length(2), text('a'), text('7'))],
  ['intset', value(rdbTypes.setIntset, text(intset([-5n, 3n, 70_000n], 4)))],
  ['hash', value(rdbTypes.hash, length(2), ...['a', '1', 'b', '2'].map(text))],
  [
    'zipmap',
    value(
      rdbTypes.hashZipmap,
      text(
        zipmap([
          ['a', '1'],
          ['b', 'x'.repeat(300)],
        ]),
      ),
    ),
  ],
  ['hash in a ziplist', value(rdbTypes.hashZiplist, text(ziplist(few)))],
  ['hash in a listpack', value(rdbTypes.hashListpack, text(listpack(few)))],
  ['sorted set', value(rdbTypes.zset, length(2), text('a'), score, text('b'), score)],
  ['sorted set, texts', value(rdbTypes.zsetText, length(1), text('a'), text('1.5'))],
  ['sorted set in a ziplist', value(rdbTypes.zsetZiplist, text(ziplist(scored)))],
  ['sorted set in a listpack', value(rdbTypes.zsetListpack, text(listpack(scored)))],
];

/** Cut so short that Redis does not find what is missing in the footer. */
const broken: readonly Buffer[] = [
  value(99, text('a')),
  value(rdbTypes.string, Buffer.from([60, 1])),
  value(rdbTypes.list, length(0)),
  value(rdbTypes.list, length(50), text('a')),
  value(rdbTypes.set, length(2), text('a'), text('a')),
];
const goodPayload = fc.constantFrom(...forms.map(([, bytes]) => sealRdbPayload([bytes])));
const spoilt = goodPayload.map((payload) => {
  const copy = Buffer.from(payload);
  copy[copy.length - 3]! ^= 1;
  return copy;
});
const payload = fc.oneof(
  { weight: 8, arbitrary: goodPayload },
  fc.constantFrom(...broken.map((bytes) => sealRdbPayload([bytes]))),
  spoilt,
  fc.constantFrom(Buffer.alloc(0), Buffer.alloc(9), Buffer.alloc(10, 1)),
);

const restoreOption = fc.oneof(
  { weight: 3, arbitrary: option('replace', 'absttl').map((name) => [name]) },
  fc.tuple(option('idletime', 'freq'), fc.oneof(integerWord, fc.constantFrom('0', '255', '256'))),
  option('idletime', 'freq').map((name) => [name]),
);
/** None that ends while the commands run. */
const ttl = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('0', '100000', '2000000000000') },
  fc.constantFrom('-1', '', 'x', '01', '1.5', '9223372036854775808', '-9223372036854775808'),
);
const restore: fc.Arbitrary<Step> = fc
  .tuple(key, ttl, payload, fc.array(restoreOption, { maxLength: 2 }))
  .map(([name, given, bytes, options]) => ({
    words: ['RESTORE', name, given, bytes, ...options.flat()],
  }));

differential(
  'RESTORE',
  fc.oneof(
    { weight: 8, arbitrary: restore },
    { weight: 2, arbitrary: exact(words('TYPE', key)) },
    exact(words('GET', key)),
    exact(words('SET', key, member)),
    exact(words('DEL', key)),
    exact(words('EXISTS', key)),
    inSeconds(words('TTL', key)),
    exact(words('PERSIST', key)),
    exact(words('RENAME', key, key)),
    exact(words('COPY', key, key)),
    exact(words('SETBIT', key, '1', '1')),
    exact(words('PFADD', key, member)),
    exact(words('OBJECT', option('freq'), key)),
    exact(words('TOUCH', key, key)),
    exact(fc.constantFrom(['RESTORE'], ['RESTORE', 'a', '0'], ['DUMP'], ['DUMP', 'a', 'b'])),
    exact(words('DUMP', fc.constant('never there'))),
  ),
);

const words2 = (count: number, prefix = 'element ') =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`);

/** Commands that build values of each type in each encoding of this Redis. */
const built: readonly (readonly [string, readonly (readonly string[])[]])[] = [
  ['an integer', [['SET', 'k', '12345']]],
  ['a long integer', [['SET', 'k', '-9223372036854775808']]],
  ['an empty string', [['SET', 'k', '']]],
  ['a compressed string', [['SET', 'k', 'abcd'.repeat(5_000)]]],
  ['a string that does not compress', [['SETRANGE', 'k', '100000', 'end']]],
  ['a listpack list', [['RPUSH', 'k', ...few, ...words2(20)]]],
  ['a list of many nodes', [['RPUSH', 'k', ...words2(3_000)]]],
  ['a list with plain nodes', [['RPUSH', 'k', 'a', 'x'.repeat(100_000), 'b', '12', '-1']]],
  ['an intset', [['SADD', 'k', '1', '-5', '70000', '9223372036854775807']]],
  ['a small set', [['SADD', 'k', ...few]]],
  ['a large set', [['SADD', 'k', ...words2(2_000)]]],
  ['a small hash', [['HSET', 'k', ...few, '99999999999', '4095']]],
  ['a large hash', [['HSET', 'k', ...words2(2_000)]]],
  ['a hash of long values', [['HSET', 'k', 'a', 'x'.repeat(20_000), 'b', '']]],
  ['a small sorted set', [['ZADD', 'k', '1', 'a', '2.5', 'b', '-inf', 'c', '1e100', '7']]],
  [
    'scores at the edges',
    [['ZADD', 'k', '-0', 'zero', 'inf', 'x'.repeat(70), '0.1', 'b', '-inf', 'c']],
  ],
  [
    'a large sorted set',
    [['ZADD', 'k', ...words2(1_000).flatMap((name, at) => [`${at / 8}`, name])]],
  ],
];

function bytesOf(reply: Reply): Buffer {
  if (reply.kind !== 'bulk') throw new Error(`expected bytes, not ${JSON.stringify(reply)}`);
  return reply.bytes;
}

/** All that a key holds, as the oracle tells it. */
async function contents(redis: RealRedis, name: string): Promise<string> {
  const type = await redis.call('TYPE', name);
  const kind = type.kind === 'simple' ? type.text : '';
  const commands: Record<string, readonly string[]> = {
    string: ['GET', name],
    list: ['LRANGE', name, '0', '-1'],
    set: ['SMEMBERS', name],
    hash: ['HGETALL', name],
    zset: ['ZRANGE', name, '0', '-1', 'WITHSCORES'],
  };
  const reply = await redis.call(...commands[kind]!);
  if (kind === 'set') return `${kind} ${sortedReplyText(reply)}`;
  if (kind !== 'hash' || reply.kind !== 'array') return `${kind} ${JSON.stringify(reply, plain)}`;
  const fields = reply.items.map((item) => bytesOf(item).toString());
  const pairs = fields.flatMap((field, at) => (at % 2 === 0 ? [`${field}=${fields[at + 1]}`] : []));
  return `${kind} ${pairs.sort().join()}`;
}

const plain = (_name: string, part: unknown) => (typeof part === 'bigint' ? String(part) : part);

describe.skipIf(!hasRedis)('values travel', () => {
  let redis: RealRedis;
  beforeAll(async () => {
    redis = await RealRedis.start();
  });
  afterAll(() => redis?.stop());

  /** Redis → kvorum → Redis: what comes back is what was sent. */
  async function thereAndBack(payload: Buffer): Promise<void> {
    const partition = await LonePartition.open();
    expect(await partition.call('RESTORE', 'k', '0', payload)).toMatchObject({ text: 'OK' });
    const back = bytesOf(await partition.call('DUMP', 'k'));
    expect([0, 1, 2, 4, 5]).toContain(back[0]);
    expect(back.readUInt16LE(back.length - 10)).toBe(9);
    expect(await redis.call('RESTORE', 'back', '0', back, 'REPLACE')).toMatchObject({ text: 'OK' });
    expect(await contents(redis, 'back')).toBe(await contents(redis, 'k'));
  }

  test.each(built)('%s', async (_name, commands) => {
    await redis.call('FLUSHALL');
    for (const command of commands) {
      expect((await redis.call(...command)).kind).not.toBe('error');
    }
    await thereAndBack(bytesOf(await redis.call('DUMP', 'k')));
  });

  test.each(forms)('%s, as it was written once', async (_name, bytes) => {
    await redis.call('FLUSHALL');
    const payload = sealRdbPayload([bytes]);
    expect(await redis.call('RESTORE', 'k', '0', payload)).toMatchObject({ text: 'OK' });
    await thereAndBack(payload);
  });
});
