/** node-redis, unmodified, in RESP2 and RESP3, on the gateway and the cluster ports. */
import { createClient, createCluster, ErrorReply, SimpleError, WatchError } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, ledAsWanted, startCluster, type TestCluster } from './cluster.ts';

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ partitions: 4 });
  await ledAsWanted(cluster, 4);
}, 300_000);

afterAll(() => cluster?.destroy(), 300_000);

const place = (port: number) => ({ socket: { port, host: '127.0.0.1' } });

async function openGateway(protocol: 2 | 3, node = 0) {
  const client = createClient({ ...place(cluster.gatewayPort(node)), RESP: protocol });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function openCluster(protocol: 2 | 3) {
  const client = createCluster({
    rootNodes: [0, 1, 2].map((at) => place(cluster.clusterPort(at))),
    RESP: protocol,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

type Client = Awaited<ReturnType<typeof openGateway>> | Awaited<ReturnType<typeof openCluster>>;
type Family = (client: Client, tag: string) => Promise<void>;

const json: Family = async (client, tag) => {
  const key = `${tag}j`;
  const document = { name: 'Ann', visits: 0, tags: ['new'], nested: { visits: 2.5 } };
  expect(await client.json.set(key, '$', document)).toBe('OK');
  expect(await client.json.set(key, '$.name', 'Eve', { condition: 'NX' })).toBe(null);
  expect(await client.json.get(key)).toEqual(document);
  expect(await client.json.get(key, { path: '$..visits' })).toEqual([0, 2.5]);
  expect(await client.json.numIncrBy(key, '$..visits', 1)).toEqual([1, 3.5]);
  expect(await client.json.type(key, { path: '$.name' })).toEqual(['string']);
  expect(await client.json.arrAppend(key, '$.tags', 'x', { y: 1 })).toEqual([3]);
  expect(await client.json.arrPop(key, { path: '$.tags' })).toEqual([{ y: 1 }]);
  expect(await client.json.arrIndex(key, '$.tags', 'x')).toEqual([1]);
  expect(await client.json.strAppend(key, 'a', { path: '$.name' })).toEqual([4]);
  expect(await client.json.toggle(key, '$.name')).toEqual([null]);
  expect(await client.json.objKeys(key, { path: '$.nested' })).toEqual([['visits']]);
  expect(await client.json.merge(key, '$', { name: null, nested: { z: 1 } })).toBe('OK');
  expect(await client.json.mSet([{ key: `${tag}j2`, path: '$', value: [1] }])).toBe('OK');
  const all = await client.json.mGet([key, `${tag}j2`, `${tag}j3`], '$');
  const left = { visits: 1, tags: ['new', 'x'], nested: { visits: 3.5, z: 1 } };
  expect(all).toEqual([[left], [[1]], null]);
  expect(await client.json.clear(key, { path: '$.tags' })).toBe(1);
  expect(await client.json.del(key, { path: '$.nested' })).toBe(1);
  expect(await client.json.get(key)).toEqual({ visits: 1, tags: [] });
  expect(await client.type(key)).toBe('ReJSON-RL');
};

const strings: Family = async (client, tag) => {
  const key = `${tag}s`;
  expect(await client.set(key, 'a', { expiration: { type: 'EX', value: 100 } })).toBe('OK');
  expect(await client.set(key, 'b', { condition: 'NX' })).toBe(null);
  expect(await client.set(key, 'b', { expiration: 'KEEPTTL', GET: true })).toBe('a');
  expect(await client.getEx(key, { type: 'PERSIST' })).toBe('b');
  expect(await client.append(key, 'cd')).toBe(3);
  expect(await client.setRange(key, 1, 'X')).toBe(3);
  expect(await client.getRange(key, 0, -1)).toBe('bXd');
  expect(await client.mSet({ [`${tag}1`]: '1', [`${tag}2`]: '2' })).toBe('OK');
  expect(await client.mGet([`${tag}1`, `${tag}2`, `${tag}3`])).toEqual(['1', '2', null]);
  expect(await client.incrByFloat(`${tag}1`, 0.1)).toBe('1.1');
  expect(await client.decrBy(`${tag}2`, 5)).toBe(-3);
  expect(await client.lcsLen(key, `${tag}1`)).toBe(0);
  expect(await client.lcsIdx(key, key)).toEqual({
    matches: [
      [
        [0, 2],
        [0, 2],
      ],
    ],
    len: 3,
  });
  expect(await client.getDel(key)).toBe('bXd');
  expect(await client.setNX(key, 'x')).toBe(1);
};

const hashes: Family = async (client, tag) => {
  const key = `${tag}h`;
  expect(await client.hSet(key, { a: '1', b: '2', c: 'x' })).toBe(3);
  expect({ ...(await client.hGetAll(key)) }).toEqual({ a: '1', b: '2', c: 'x' });
  expect(await client.hmGet(key, ['a', 'z'])).toEqual(['1', null]);
  expect(await client.hIncrBy(key, 'a', 41)).toBe(42);
  expect(await client.hIncrByFloat(key, 'b', 0.5)).toBe('2.5');
  expect((await client.hKeys(key)).sort()).toEqual(['a', 'b', 'c']);
  expect(await client.hRandFieldCountWithValues(key, 5)).toHaveLength(3);
  expect(await client.hExpire(key, 'c', 100)).toEqual([1]);
  expect((await client.hTTL(key, ['c', 'a']))?.[1]).toBe(-1);
  const found: string[] = [];
  for await (const entries of scanned(client, key))
    for (const { field } of entries) found.push(field);
  expect(found.sort()).toEqual(['a', 'b', 'c']);
  expect(await client.hDel(key, ['a', 'b', 'c'])).toBe(3);
};

async function* scanned(client: Client, key: string) {
  let cursor = '0';
  do {
    const reply = await client.hScan(key, cursor, { COUNT: 100 });
    yield reply.entries;
    cursor = reply.cursor;
  } while (cursor !== '0');
}

const lists: Family = async (client, tag) => {
  const key = `${tag}l`;
  expect(await client.rPush(key, ['a', 'b', 'c', 'b'])).toBe(4);
  expect(await client.lPosCount(key, 'b', 0)).toEqual([1, 3]);
  expect(await client.lInsert(key, 'BEFORE', 'a', 'y')).toBe(5);
  expect(await client.lRange(key, 0, -1)).toEqual(['y', 'a', 'b', 'c', 'b']);
  expect(await client.lMove(key, `${tag}l2`, 'RIGHT', 'LEFT')).toBe('b');
  expect(await client.lmPop([`${tag}none`, key], 'LEFT', { COUNT: 2 })).toEqual([key, ['y', 'a']]);
  expect(await client.lRem(key, 0, 'b')).toBe(1);
  expect(await client.lPopCount(key, 5)).toEqual(['c']);
  expect(await client.rPop(key)).toBe(null);
};

const sets: Family = async (client, tag) => {
  const [a, b] = [`${tag}sa`, `${tag}sb`];
  expect(await client.sAdd(a, ['1', '2', '3'])).toBe(3);
  expect(await client.sAdd(b, ['2', '3', '4'])).toBe(3);
  expect((await client.sInter([a, b])).sort()).toEqual(['2', '3']);
  expect((await client.sMembers(a)).sort()).toEqual(['1', '2', '3']);
  expect(await client.sDiff([a, b])).toEqual(['1']);
  expect(await client.sInterCard([a, b], { LIMIT: 1 })).toBe(1);
  expect(await client.sUnionStore(`${tag}sc`, [a, b])).toBe(4);
  expect(await client.smIsMember(a, ['1', '9'])).toEqual([1, 0]);
  expect(await client.sRandMemberCount(a, 5)).toHaveLength(3);
  expect(await client.sPopCount(a, 5)).toHaveLength(3);
};

const sortedSets: Family = async (client, tag) => {
  const key = `${tag}z`;
  const members = [
    { score: 1, value: 'a' },
    { score: 2.5, value: 'b' },
    { score: Number.POSITIVE_INFINITY, value: 'c' },
  ];
  expect(await client.zAdd(key, members)).toBe(3);
  expect(await client.zAddIncr(key, { score: 1, value: 'a' })).toBe(2);
  expect(await client.zScore(key, 'c')).toBe(Number.POSITIVE_INFINITY);
  expect(await client.zRangeWithScores(key, 0, 1)).toEqual([
    { value: 'a', score: 2 },
    { value: 'b', score: 2.5 },
  ]);
  const limit = { BY: 'SCORE', REV: true, LIMIT: { offset: 0, count: 1 } } as const;
  expect(await client.zRange(key, '+inf', '(2', limit)).toEqual(['c']);
  expect(await client.zRank(key, 'b')).toBe(1);
  expect(await client.zRankWithScore(key, 'b')).toEqual({ rank: 1, score: 2.5 });
  expect(await client.zmScore(key, ['a', 'nobody'])).toEqual([2, null]);
  expect(await client.zUnionStore(`${tag}z2`, [key, key], { AGGREGATE: 'MAX' })).toBe(3);
  expect(await client.zmPop([key], 'MIN')).toEqual({
    key,
    members: [{ value: 'a', score: 2 }],
  });
  expect(await client.zPopMax(key)).toEqual({ value: 'c', score: Number.POSITIVE_INFINITY });
  expect((await client.zScan(key, '0')).members).toEqual([{ value: 'b', score: 2.5 }]);
};

const geoAndBits: Family = async (client, tag) => {
  const key = `${tag}g`;
  const palermo = { longitude: 13.361389, latitude: 38.115556, member: 'Palermo' };
  expect(await client.geoAdd(key, palermo)).toBe(1);
  expect(await client.geoHash(key, 'Palermo')).toEqual(['sqc8b49rny0']);
  const [found] = await client.geoSearchWith(key, 'Palermo', { radius: 1, unit: 'km' }, [
    'WITHDIST',
  ]);
  expect(found).toMatchObject({ member: 'Palermo', distance: 0 });
  expect(await client.setBit(`${tag}b`, 7, 1)).toBe(0);
  expect(await client.bitCount(`${tag}b`)).toBe(1);
  const field = { operation: 'INCRBY', encoding: 'u4', offset: '#0', increment: 20 } as const;
  expect(await client.bitField(`${tag}b`, [field])).toEqual([4]);
  expect(await client.pfAdd(`${tag}p`, ['a', 'b', 'c'])).toBe(1);
  expect(await client.pfCount(`${tag}p`)).toBe(3);
};

const keyspace: Family = async (client, tag) => {
  const key = `${tag}k`;
  await client.set(key, '1');
  expect(await client.expire(key, 100, 'NX')).toBe(1);
  expect(await client.expire(key, 50, 'GT')).toBe(0);
  expect(await client.expireAt(key, 4_102_444_800)).toBe(1);
  expect(await client.expireTime(key)).toBe(4_102_444_800);
  expect(await client.persist(key)).toBe(1);
  expect(await client.copy(key, `${tag}k2`)).toBe(1);
  expect(await client.renameNX(`${tag}k2`, key)).toBe(0);
  expect(await client.objectEncoding(key)).toBe('int');
  await client.rPush(`${tag}list`, ['3', '1', '2']);
  expect(await client.sort(`${tag}list`, { DIRECTION: 'DESC' })).toEqual(['3', '2', '1']);
  expect(await client.type(`${tag}list`)).toBe('list');
  expect(await client.exists([key, `${tag}k2`])).toBe(2);
  expect(await client.unlink([key, `${tag}k2`])).toBe(2);
};

const transactions: Family = async (client, tag) => {
  const key = `${tag}t`;
  expect(await client.multi().set(key, '1').incr(key).get(key).exec()).toEqual(['OK', 2, '2']);
  const failing = client.multi().lPush(key, 'x').get(key);
  await expect(failing.exec()).rejects.toMatchObject({ errorIndexes: [0] });
};

const errors: Family = async (client, tag) => {
  const key = `${tag}e`;
  await client.set(key, 'text');
  const failure = await client.incr(key).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SimpleError);
  expect(failure).toBeInstanceOf(ErrorReply);
  expect(failure).toMatchObject({ message: 'ERR value is not an integer or out of range' });
  await expect(client.lPush(key, 'x')).rejects.toThrow(/^WRONGTYPE /);
};

const families: Readonly<Record<string, Family>> = {
  json,
  strings,
  hashes,
  lists,
  sets,
  'sorted sets': sortedSets,
  'geo, bits and sketches': geoAndBits,
  keyspace,
  transactions,
  errors,
};

describe.each([2, 3] as const)('node-redis, RESP%i', (protocol) => {
  describe.each(['gateway', 'cluster'] as const)('%s port', (door) => {
    let client: Client;
    beforeAll(async () => {
      client = await (door === 'gateway' ? openGateway(protocol) : openCluster(protocol));
    });
    afterAll(() => client?.destroy());

    test.each(Object.entries(families))('%s', async (name, family) => {
      await family(client, `{node-redis ${protocol} ${door} ${name}}`);
      await family(client, `{${name} ${door} ${protocol} node-redis}`);
    });

    test('many commands in one turn', async () => {
      const keys = Array.from({ length: 300 }, (_, at) => `turn:${protocol}:${door}:${at}`);
      await Promise.all(keys.map((key, at) => client.set(key, at)));
      const values = await Promise.all(keys.map((key) => client.get(key)));
      expect(values).toEqual(keys.map((_, at) => String(at)));
    });

    test('publish and subscribe', async () => {
      const channel = `news ${protocol} ${door}`;
      const heard: string[] = [];
      const listener = (text: string, from: string) => {
        heard.push(`${from}=${text}`);
      };
      const subscriber =
        door === 'gateway' ? await openGateway(protocol, 1) : await openCluster(protocol);
      await subscriber.subscribe(channel, listener);
      await subscriber.pSubscribe(`${channel} p*`, listener);
      await subscriber.sSubscribe(`${channel} shard`, listener);
      await client.publish(channel, '1');
      await client.publish(`${channel} pq`, '2');
      await client.sPublish(`${channel} shard`, '3');
      await eventually(30_000, 'three messages arrive', async () => heard.length === 3);
      expect(heard.sort()).toEqual(
        [`${channel}=1`, `${channel} pq=2`, `${channel} shard=3`].sort(),
      );
      await subscriber.unsubscribe(channel);
      subscriber.destroy();
    });
  });

  test('WATCH, and what another client did meanwhile', async () => {
    const [client, other] = [await openGateway(protocol, 0), await openGateway(protocol, 1)];
    const key = `watched ${protocol}`;
    await client.watch(key);
    await other.set(key, '2');
    await expect(client.multi().set(key, '3').exec()).rejects.toBeInstanceOf(WatchError);
    await client.watch(key);
    expect(await client.multi().set(key, '3').exec()).toEqual(['OK']);
    client.destroy();
    other.destroy();
  });

  test('scan iterators find every key, element and member', async () => {
    const client = await openGateway(protocol, 2);
    const prefix = `iterated ${protocol}`;
    const names = Array.from({ length: 300 }, (_, at) => String(at));
    await Promise.all(names.map((name) => client.set(`${prefix}:${name}`, name)));
    await client.sAdd(prefix, names);
    await client.zAdd(
      `${prefix} z`,
      names.map((value) => ({ score: Number(value), value })),
    );
    const keys = new Set<string>();
    for await (const some of client.scanIterator({ MATCH: `${prefix}:*`, COUNT: 20 })) {
      for (const key of some) keys.add(key);
    }
    expect(keys.size).toBe(300);
    const members = new Set<string>();
    for await (const some of client.sScanIterator(prefix, { COUNT: 20 })) {
      for (const member of some) members.add(member);
    }
    expect(members.size).toBe(300);
    const scored = new Set<string>();
    for await (const some of client.zScanIterator(`${prefix} z`, { COUNT: 20 })) {
      for (const { value } of some) scored.add(value);
    }
    expect(scored.size).toBe(300);
    client.destroy();
  });

  test('what the server says of itself and of its clients', async () => {
    const client = await openGateway(protocol);
    expect(await client.info('server')).toContain('redis_version:7.4.0');
    expect(await client.configGet('maxclients')).toMatchObject({ maxclients: '10000' });
    expect((await client.clientInfo()).libName).toBe('node-redis');
    expect((await client.commandInfo(['get']))[0]).toMatchObject({ name: 'get', arity: 2 });
    expect(await client.dbSize()).toBeGreaterThan(0);
    expect(await client.aclWhoAmI()).toBe('default');
    await expect(client.select(7)).rejects.toThrow('ERR DB index is out of range');
    client.destroy();
  });
});
