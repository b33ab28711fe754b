/**
 * What programs do with ioredis, family by family: each expects what it would get from Redis. The
 * keys of a family share a hash tag, so that the same steps run on a gateway and a cluster port.
 */
import type { Cluster, Redis } from 'ioredis';
import { expect } from 'vitest';

export type AnyClient = Redis | Cluster;
type Family = (client: AnyClient, tag: string) => Promise<void>;

const strings: Family = async (client, tag) => {
  const key = `${tag}s`;
  expect(await client.set(key, 'a', 'EX', 100)).toBe('OK');
  expect(await client.set(key, 'b', 'NX')).toBe(null);
  expect(await client.set(key, 'b', 'KEEPTTL', 'GET')).toBe('a');
  expect(await client.getex(key, 'PERSIST')).toBe('b');
  expect(await client.append(key, 'cd')).toBe(3);
  expect(await client.setrange(key, 1, 'X')).toBe(3);
  expect(await client.getrange(key, 0, -1)).toBe('bXd');
  expect(await client.strlen(key)).toBe(3);
  expect(await client.mset({ [`${tag}1`]: '1', [`${tag}2`]: '2' })).toBe('OK');
  expect(await client.mget(`${tag}1`, `${tag}2`, `${tag}3`)).toEqual(['1', '2', null]);
  expect(await client.msetnx(`${tag}1`, 'x', `${tag}4`, 'x')).toBe(0);
  expect(await client.incrbyfloat(`${tag}1`, 0.1)).toBe('1.1');
  expect(await client.decrby(`${tag}2`, 5)).toBe(-3);
  expect(await client.lcs(key, `${tag}1`, 'LEN')).toBe(0);
  expect(await client.getdel(key)).toBe('bXd');
  expect(await client.getBuffer(key)).toBe(null);
  const bytes = Buffer.from([0, 255, 13, 10]);
  expect(await client.set(key, bytes)).toBe('OK');
  expect(await client.getBuffer(key)).toEqual(bytes);
};

const hashes: Family = async (client, tag) => {
  const key = `${tag}h`;
  expect(await client.hset(key, { a: '1', b: '2', c: 'x' })).toBe(3);
  expect(await client.hgetall(key)).toEqual({ a: '1', b: '2', c: 'x' });
  expect(await client.hgetall(`${tag}none`)).toEqual({});
  expect(await client.hmget(key, 'a', 'z')).toEqual(['1', null]);
  expect(await client.hincrby(key, 'a', 41)).toBe(42);
  expect(await client.hincrbyfloat(key, 'b', 0.5)).toBe('2.5');
  expect((await client.hkeys(key)).sort()).toEqual(['a', 'b', 'c']);
  expect(await client.hsetnx(key, 'a', '0')).toBe(0);
  expect(['a', 'b', 'c']).toContain(await client.hrandfield(key));
  const [cursor, pairs] = await client.hscan(key, 0, 'MATCH', 'a*');
  expect([cursor, pairs]).toEqual(['0', ['a', '42']]);
  expect(await client.hdel(key, 'a', 'b', 'c')).toBe(3);
  expect(await client.exists(key)).toBe(0);
};

const lists: Family = async (client, tag) => {
  const key = `${tag}l`;
  expect(await client.rpush(key, 'a', 'b', 'c', 'b')).toBe(4);
  expect(await client.lpush(key, 'z')).toBe(5);
  expect(await client.lrange(key, 0, -1)).toEqual(['z', 'a', 'b', 'c', 'b']);
  expect(await client.lpos(key, 'b', 'COUNT', 0)).toEqual([2, 4]);
  expect(await client.linsert(key, 'BEFORE', 'a', 'y')).toBe(6);
  expect(await client.lset(key, 0, 'Z')).toBe('OK');
  expect(await client.lindex(key, -1)).toBe('b');
  expect(await client.lrem(key, -1, 'b')).toBe(1);
  expect(await client.lmove(key, `${tag}l2`, 'RIGHT', 'LEFT')).toBe('c');
  expect(await client.lmpop(2, `${tag}none`, key, 'LEFT', 'COUNT', 2)).toEqual([key, ['Z', 'y']]);
  expect(await client.ltrim(key, 1, -1)).toBe('OK');
  expect(await client.lpop(key, 5)).toEqual(['b']);
  expect(await client.rpop(key)).toBe(null);
};

const sets: Family = async (client, tag) => {
  const [a, b] = [`${tag}sa`, `${tag}sb`];
  expect(await client.sadd(a, '1', '2', '3')).toBe(3);
  expect(await client.sadd(b, '2', '3', '4')).toBe(3);
  expect((await client.sinter(a, b)).sort()).toEqual(['2', '3']);
  expect((await client.sunion(a, b)).sort()).toEqual(['1', '2', '3', '4']);
  expect(await client.sdiff(a, b)).toEqual(['1']);
  expect(await client.sintercard(2, a, b, 'LIMIT', 1)).toBe(1);
  expect(await client.sinterstore(`${tag}sc`, a, b)).toBe(2);
  expect(await client.smismember(a, '1', '9')).toEqual([1, 0]);
  expect(await client.smove(a, b, '1')).toBe(1);
  expect(await client.srandmember(a, 5)).toHaveLength(2);
  expect(['2', '3']).toContain(await client.spop(a));
  expect(await client.scard(a)).toBe(1);
  const [cursor, members] = await client.sscan(b, '0', 'COUNT', 100);
  expect([cursor, members.sort()]).toEqual(['0', ['1', '2', '3', '4']]);
};

const sortedSets: Family = async (client, tag) => {
  const key = `${tag}z`;
  expect(await client.zadd(key, 1, 'a', 2.5, 'b', '+inf', 'c')).toBe(3);
  expect(await client.zadd(key, 'XX', 'GT', 'CH', 3, 'a')).toBe(1);
  expect(await client.zadd(key, 'INCR', 1, 'a')).toBe('4');
  expect(await client.zscore(key, 'c')).toBe('inf');
  expect(await client.zrange(key, '0', '-1', 'WITHSCORES')).toEqual([
    'b',
    '2.5',
    'a',
    '4',
    'c',
    'inf',
  ]);
  expect(await client.zrangebyscore(key, '(2.5', '+inf', 'LIMIT', 0, 1)).toEqual(['a']);
  expect(await client.zrevrangebyscore(key, '+inf', '-inf')).toEqual(['c', 'a', 'b']);
  expect(await client.zrank(key, 'a')).toBe(1);
  expect(await client.zincrby(key, -1.5, 'a')).toBe('2.5');
  expect(await client.zcount(key, 2, 3)).toBe(2);
  expect(await client.zmscore(key, 'a', 'nobody')).toEqual(['2.5', null]);
  expect(await client.call('ZUNIONSTORE', `${tag}z2`, 2, key, key, 'WEIGHTS', 1, 2)).toBe(3);
  expect(await client.zrandmember(key, 2)).toHaveLength(2);
  expect(await client.zpopmin(key)).toEqual(['a', '2.5']);
  expect(await client.zremrangebyrank(key, 0, 0)).toBe(1);
  expect(await client.zscan(key, 0)).toEqual(['0', ['c', 'inf']]);
};

const geo: Family = async (client, tag) => {
  const key = `${tag}g`;
  expect(await client.geoadd(key, 13.361389, 38.115556, 'Palermo')).toBe(1);
  expect(await client.geoadd(key, 15.087269, 37.502669, 'Catania')).toBe(1);
  expect(Number(await client.geodist(key, 'Palermo', 'Catania', 'KM'))).toBeCloseTo(166.2742, 3);
  expect(await client.geohash(key, 'Palermo')).toEqual(['sqc8b49rny0']);
  expect(await client.geosearch(key, 'FROMLONLAT', 15, 37, 'BYRADIUS', 200, 'km', 'ASC')).toEqual([
    'Catania',
    'Palermo',
  ]);
};

const bits: Family = async (client, tag) => {
  const key = `${tag}b`;
  expect(await client.setbit(key, 7, 1)).toBe(0);
  expect(await client.getbit(key, 7)).toBe(1);
  expect(await client.bitcount(key)).toBe(1);
  expect(await client.bitpos(key, 1)).toBe(7);
  expect(await client.bitop('NOT', `${tag}b2`, key)).toBe(1);
  expect(await client.bitfield(key, 'INCRBY', 'u4', '#0', 20)).toEqual([4]);
  expect(await client.pfadd(`${tag}p`, 'a', 'b', 'c')).toBe(1);
  expect(await client.pfcount(`${tag}p`)).toBe(3);
  expect(await client.pfmerge(`${tag}p2`, `${tag}p`)).toBe('OK');
};

const keyspace: Family = async (client, tag) => {
  const key = `${tag}k`;
  await client.set(key, '1');
  expect(await client.expire(key, 100, 'NX')).toBe(1);
  expect(await client.expire(key, 50, 'GT')).toBe(0);
  expect(await client.pttl(key)).toBeGreaterThan(90_000);
  expect(await client.expireat(key, 4_102_444_800)).toBe(1);
  expect(await client.expiretime(key)).toBe(4_102_444_800);
  expect(await client.persist(key)).toBe(1);
  expect(await client.ttl(key)).toBe(-1);
  expect(await client.copy(key, `${tag}k2`)).toBe(1);
  expect(await client.rename(`${tag}k2`, `${tag}k3`)).toBe('OK');
  expect(await client.type(`${tag}k3`)).toBe('string');
  expect(await client.object('ENCODING', key)).toBe('int');
  const dump = await client.dumpBuffer(key);
  expect(await client.restore(`${tag}k4`, 0, dump)).toBe('OK');
  expect(await client.exists(key, `${tag}k3`, `${tag}k4`)).toBe(3);
  await client.rpush(`${tag}list`, '3', '1', '2');
  expect(await client.sort(`${tag}list`, 'DESC')).toEqual(['3', '2', '1']);
  expect(await client.unlink(key, `${tag}k3`, `${tag}k4`)).toBe(3);
};

const pipelines: Family = async (client, tag) => {
  const key = `${tag}p`;
  const replies = await client
    .pipeline()
    .set(key, '1')
    .incr(key)
    .lpush(key, 'x')
    .hgetall(`${tag}none`)
    .exec();
  expect(replies?.map(([, reply]) => reply)).toEqual(['OK', 2, undefined, {}]);
  expect(replies?.[2]?.[0]?.message).toMatch(/^WRONGTYPE /);
  const many = client.pipeline();
  for (let at = 0; at < 2_000; at++) many.rpush(`${tag}order`, at);
  await many.exec();
  const order = await client.lrange(`${tag}order`, 0, -1);
  expect(order).toEqual(Array.from({ length: 2_000 }, (_, at) => String(at)));
};

const transactions: Family = async (client, tag) => {
  const key = `${tag}t`;
  const replies = await client.multi().set(key, '1').incr(key).lpush(key, 'x').get(key).exec();
  expect(replies?.map(([, reply]) => reply)).toEqual(['OK', 2, undefined, '2']);
  expect(replies?.[2]?.[0]?.message).toMatch(/^WRONGTYPE /);
  await expect(client.multi().set(key, '1').call('SET', key).exec()).rejects.toThrow(/^EXECABORT/);
  expect(await client.get(key)).toBe('2');
};

/** A lock and a field that expire, as clients have them that know nothing of these commands yet. */
const newer: Family = async (client, tag) => {
  const [lock, hash] = [`${tag}lock`, `${tag}fields`];
  expect(await client.call('SET', lock, 'mine', 'NX', 'PX', '60000')).toBe('OK');
  expect(await client.call('SET', lock, 'mine', 'IFEQ', 'other', 'PX', '90000')).toBe(null);
  expect(await client.call('SET', lock, 'mine', 'IFEQ', 'mine', 'PX', '90000')).toBe('OK');
  expect(await client.call('DELEX', lock, 'IFEQ', 'other')).toBe(0);
  const digest = await client.call('DIGEST', lock);
  expect(await client.call('DELEX', lock, 'IFDEQ', String(digest))).toBe(1);
  const set = ['EX', '100', 'FIELDS', '2', 'a', '1', 'b', '2'];
  expect(await client.call('HSETEX', hash, 'FNX', ...set)).toBe(1);
  expect(await client.call('HSETEX', hash, 'FNX', ...set)).toBe(0);
  const read = ['FIELDS', '2', 'a', 'none'];
  expect(await client.call('HGETEX', hash, 'PERSIST', ...read)).toEqual(['1', null]);
  expect(await client.call('HTTL', hash, 'FIELDS', '2', 'a', 'b')).toEqual([
    -1,
    expect.any(Number),
  ]);
  expect(await client.call('HGETDEL', hash, ...read)).toEqual(['1', null]);
  expect(await client.hgetall(hash)).toEqual({ b: '2' });
  const pairs = ['2', `${tag}m1`, '\u00f0', `${tag}m2`, '3'];
  expect(await client.call('MSETEX', ...pairs, 'NX', 'EX', '100')).toBe(1);
  expect(await client.call('MSETEX', ...pairs, 'NX')).toBe(0);
  expect(await client.ttl(`${tag}m2`)).toBeGreaterThan(0);
  expect(await client.call('BITOP', 'DIFF', `${tag}m3`, `${tag}m1`, `${tag}m2`)).toBe(2);
  const stream = `${tag}stream`;
  for (const id of ['1-0', '2-0']) await client.xadd(stream, id, 'f', 'v');
  await client.xgroup('CREATE', stream, 'g', '0');
  expect(await client.call('XDELEX', stream, 'ACKED', 'IDS', '1', '1-0')).toEqual([2]);
  await client.xreadgroup('GROUP', 'g', 'ann', 'STREAMS', stream, '>');
  expect(await client.call('XACKDEL', stream, 'g', 'IDS', '2', '1-0', '3-0')).toEqual([1, -1]);
  expect(await client.xlen(stream)).toBe(1);
  const replies = await client.multi().set(lock, 'v').call('DELEX', lock, 'IFEQ', 'v').exec();
  expect(replies?.map(([, reply]) => reply)).toEqual(['OK', 1]);
};

const errors: Family = async (client, tag) => {
  const key = `${tag}e`;
  await client.set(key, 'text');
  const failure = await client.incr(key).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    name: 'ReplyError',
    message: 'ERR value is not an integer or out of range',
    command: { name: 'incr', args: [key] },
  });
  await expect(client.call('GET', key, 'more')).rejects.toThrow(
    "ERR wrong number of arguments for 'get' command",
  );
  await expect(client.call('NOSUCH', key)).rejects.toThrow("ERR unknown command 'NOSUCH'");
  await expect(client.set(key, '1', 'EX', -1)).rejects.toThrow(
    "ERR invalid expire time in 'set' command",
  );
};

export const families: Readonly<Record<string, Family>> = {
  strings,
  hashes,
  lists,
  sets,
  'sorted sets': sortedSets,
  geo,
  'bits and sketches': bits,
  keyspace,
  pipelines,
  transactions,
  'newer than 7.4': newer,
  errors,
};
