/** Events of keys, command by command, beside those that a redis-server publishes. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  BAD_NOTIFY_FLAGS,
  formatNotifyFlags,
  NO_EVENTS,
  parseNotifyFlags,
} from '../../../../src/datanode/commands/pubsub/notify-flags.ts';
import { KeyEventPublisher } from '../../../../src/datanode/pubsub/key-events.ts';
import { openDoors, RawClient } from '../../server/doors.ts';
import { LonePartition } from '../lone-partition.ts';
import { hasRedis, RealRedis } from '../real-redis.ts';
import { replyText } from '../reply-text.ts';

/** Each begins with no keys. */
const scripts: readonly string[][] = [
  [
    'SET a 1',
    'SET a 2',
    'SET a 3 EX 100',
    'SET a 4 KEEPTTL',
    'SET b 1 NX',
    'SET b 2 NX',
    'SET c 1 XX',
  ],
  [
    'SET a 1 PXAT 99999999999999',
    'SET a 1 GET',
    'SETEX a 10 x',
    'PSETEX a 10000 x',
    'SETNX a 1',
    'SETNX b 1',
  ],
  [
    'SET a 1',
    'GETSET a 2',
    'GETSET b 2',
    'GETDEL a',
    'GETDEL a',
    'MSET a 1 b 2 a 3',
    'MSETNX a 1 c 1',
    'MSETNX d 1 e 2',
  ],
  [
    'SET a 1',
    'GETEX a',
    'GETEX a EX 100',
    'GETEX a PERSIST',
    'GETEX a PERSIST',
    'GETEX a PXAT 1',
    'GETEX a EX 1',
  ],
  [
    'INCR a',
    'DECR a',
    'INCRBY a 5',
    'DECRBY a 5',
    'INCRBYFLOAT a 0.5',
    'INCR a',
    'APPEND b x',
    'APPEND b y',
  ],
  ['SETRANGE a 3 x', 'SETRANGE a 0 y', 'SETRANGE b 0 ', 'SETRANGE a 1 '],
  ['MSET a 1 b 2', 'DEL a b c a', 'MSET a 1 b 2', 'UNLINK a b c', 'DEL a'],
  [
    'SET a 1',
    'RENAME a b',
    'SET a 2',
    'RENAME a b',
    'SET a 1',
    'RENAMENX a b',
    'RENAMENX a c',
    'RENAME b b',
    'RENAME x y',
  ],
  ['SET a 1', 'COPY a b', 'COPY a b', 'COPY a b REPLACE', 'COPY x y'],
  [
    'SET a 1',
    'EXPIRE a 100',
    'EXPIRE a 100 NX',
    'PEXPIRE a 200000',
    'EXPIREAT a 99999999999',
    'PERSIST a',
    'PERSIST a',
    'EXPIRE a -1',
    'EXPIRE a 1',
    'SET a 1',
    'PEXPIREAT a 1',
  ],
  [
    'RPUSH a 1 2 3',
    'LPUSH a 0',
    'LPUSHX b 1',
    'RPUSHX a 4',
    'LINSERT a BEFORE 2 x',
    'LINSERT a BEFORE none x',
    'LSET a 0 y',
    'LREM a 0 none',
    'LREM a 1 x',
    'LTRIM a 0 -1',
    'LTRIM a 1 3',
    'LPOP a',
    'RPOP a 0',
    'RPOP a 5',
    'RPUSH a 1 1',
    'LREM a 0 1',
    'RPUSH a 1 1',
    'LTRIM a 5 9',
  ],
  [
    'RPUSH a 1 2',
    'LMOVE a b LEFT RIGHT',
    'LMOVE a a LEFT RIGHT',
    'RPOPLPUSH a b',
    'RPOPLPUSH a b',
    'LMPOP 2 a b RIGHT COUNT 5',
    'RPUSH a 3 1 2',
    'SORT a STORE b',
    'SORT none STORE b',
    'SORT none STORE b',
  ],
  [
    'SADD a 1 2 3',
    'SADD a 1',
    'SREM a 9',
    'SREM a 1 9',
    'SMOVE a b 2',
    'SMOVE a b 9',
    'SMOVE a a 3',
    'SADD a 2',
    'SMOVE a b 2',
    'SMOVE a b 3',
    'SPOP b',
    'SPOP b 0',
    'SPOP b 9',
  ],
  [
    'SADD a 1 2 3',
    'SADD b 2 3',
    'SINTERSTORE c a b',
    'SUNIONSTORE c a b',
    'SDIFFSTORE c a b',
    'SDIFFSTORE c b a',
    'SDIFFSTORE c b a',
    'SINTERSTORE a a none',
  ],
  [
    'HSET a f 1 g 2',
    'HSET a f 1',
    'HMSET a f 2',
    'HSETNX a f 1',
    'HSETNX a h 1',
    'HINCRBY a f 1',
    'HINCRBYFLOAT a n 0.5',
    'HDEL a none',
    'HDEL a f g none',
    'HDEL a h n',
  ],
  [
    'ZADD a 1 x 2 y 3 z',
    'ZADD a 1 x',
    'ZADD a GT 0 x',
    'ZADD b XX 1 x',
    'ZADD a INCR 1 x',
    'ZINCRBY a 0 x',
    'ZREM a none',
    'ZREM a x none',
    'ZRANGESTORE b a 0 -1',
    'ZRANGESTORE b a 5 9',
    'ZRANGESTORE b none 0 1',
    'ZPOPMIN a',
    'ZPOPMAX a 0',
    'ZPOPMAX a 5',
    'ZADD a 1 x 2 y',
    'ZMPOP 2 b a MAX',
    'ZMPOP 2 b a MIN',
  ],
  [
    'ZADD a 1 x 2 y 3 z 4 u 5 v 6 w',
    'ZREMRANGEBYRANK a 0 0',
    'ZREMRANGEBYSCORE a 2 2',
    'ZREMRANGEBYSCORE a 2 2',
    'ZREMRANGEBYLEX a - [u',
    'ZADD b 1 v',
    'ZUNIONSTORE c 2 a b',
    'ZINTERSTORE c 2 a b',
    'ZDIFFSTORE c 2 b a',
    'ZDIFFSTORE c 2 b a',
    'ZREMRANGEBYRANK a 0 -1',
  ],
  [
    'GEOADD a 13.36 38.11 x 15.08 37.50 y',
    'GEOADD a 13.36 38.11 x',
    'GEOSEARCHSTORE b a FROMMEMBER x BYRADIUS 500 km',
    'GEORADIUS a 15 37 200 km STORE c',
    'GEORADIUS a 0 0 1 km STOREDIST c',
    'GEOSEARCHSTORE b none FROMLONLAT 0 0 BYRADIUS 1 km',
  ],
  [
    'SETBIT a 7 1',
    'SETBIT a 7 1',
    'BITFIELD a SET u8 0 5 GET u8 0',
    'BITFIELD a GET u8 0',
    'BITFIELD a OVERFLOW FAIL INCRBY u8 0 1000',
    'BITFIELD c OVERFLOW FAIL INCRBY u8 0 1000',
    'BITOP NOT b a',
    'BITOP AND b none none',
    'BITOP AND b none none',
  ],
  [
    'PFADD a x',
    'PFADD a x',
    'PFADD b',
    'PFMERGE c a b',
    'PFMERGE c a',
    'PFCOUNT a b',
    'RENAME c d',
    'COPY d a REPLACE',
  ],
];

const events = (partition: LonePartition) =>
  partition.events.map(({ event, key }) => `${event} ${key}`);

describe.skipIf(!hasRedis)('as redis-server tells them', () => {
  let redis: RealRedis;
  let listening: RawClient;
  beforeAll(async () => {
    redis = await RealRedis.start();
    await redis.call('CONFIG', 'SET', 'notify-keyspace-events', 'EAn');
    listening = await RawClient.open(redis.path);
    await listening.ask('PSUBSCRIBE __keyevent*', ':1\r\n');
  });
  afterEach(async () => {
    await redis.call('FLUSHALL');
  });
  afterAll(async () => {
    listening.end();
    await redis.stop();
  });

  test.each(scripts.map((script) => [script.join(', '), script] as const))(
    '%s',
    async (_, script) => {
      const partition = await LonePartition.open();
      partition.nowMs = Date.now();
      const before = listening.text.length;
      for (const line of script) {
        const words = line.split(' ');
        await redis.call(...words);
        await partition.call(...words);
      }
      await redis.call('SET', 'end-of-script', '');
      const text = await listening.until((all) =>
        all.slice(before).includes('set\r\n$13\r\nend-of-script'),
      );
      const told = [...text.slice(before).matchAll(/__:(\w+)\r\n\$\d+\r\n([^\r]*)\r\n/g)]
        .map(([, event, key]) => `${event} ${key}`)
        .filter((line) => !line.endsWith('end-of-script'));
      expect(told.length).toBeGreaterThan(0);
      expect(events(partition)).toEqual(told);
    },
  );

  test('flags are read and shown as it does', async () => {
    const texts = ['', 'K', 'E', 'KEA', 'AKEm', 'g$lshzxetd', 'KEg$n', 'mKEx', 'Kd', 'AKEmn', 'nE'];
    for (const text of [...texts, 'dtexzhsl$gKE', 'Q', 'KAQ', 'k']) {
      const reply = await redis.call('CONFIG', 'SET', 'notify-keyspace-events', text);
      const flags = parseNotifyFlags(text);
      if (flags === undefined) {
        expect(replyText(reply), text).toContain(BAD_NOTIFY_FLAGS);
        continue;
      }
      const shown = await redis.call('CONFIG', 'GET', 'notify-keyspace-events');
      expect(shown, text).toMatchObject({
        items: [{}, { bytes: Buffer.from(formatNotifyFlags(flags)) }],
      });
    }
    await redis.call('CONFIG', 'SET', 'notify-keyspace-events', 'EAn');
  });
});

test('an expired key is told of once: by its expiry, or by the write that takes its place', async () => {
  const partition = await LonePartition.open();
  for (const key of ['a', 'b', 'c', 'd']) await partition.call('SET', key, '1', 'PX', '10');
  partition.nowMs += 20;
  partition.events.length = 0;
  expect(await partition.expire('a', 'none')).toBe(1);
  expect(await partition.expire('a')).toBe(0);
  await partition.call('SET', 'b', '2');
  await partition.call('DEL', 'c');
  await partition.call('GETDEL', 'd');
  await partition.expire('b', 'c', 'd');
  const told = ['expired a', 'expired b', 'new b', 'set b', 'expired c', 'expired d'];
  expect(events(partition)).toEqual(told);
});

test('deadlines of hash fields, as Redis 7.4 tells of them', async () => {
  const partition = await LonePartition.open();
  const told = async (...lines: string[]) => {
    partition.events.length = 0;
    for (const line of lines) await partition.call(...line.split(' '));
    return events(partition).slice(lines[0]!.startsWith('HSET') ? 2 : 0);
  };
  expect(await told('HSET h a 1 b 2 c 3', 'HPEXPIRE h 10 FIELDS 2 a none')).toEqual(['hexpire h']);
  expect(await told('HPEXPIRE h 10 XX FIELDS 1 b')).toEqual([]);
  expect(await told('HPERSIST h FIELDS 2 a b', 'HPERSIST h FIELDS 1 a')).toEqual(['hpersist h']);
  expect(await told('HPEXPIREAT h 1 FIELDS 1 a')).toEqual(['hdel h']);
  expect(await told('HPEXPIREAT h 1 FIELDS 2 b c')).toEqual(['hdel h', 'del h']);
  await told('HSET h a 1 b 2', 'HPEXPIRE h 10 FIELDS 1 a', 'HPEXPIRE h 20 FIELDS 1 b');
  partition.events.length = 0;
  partition.nowMs += 10;
  await partition.expire('h');
  expect(events(partition)).toEqual(['hexpired h']);
  partition.nowMs += 10;
  await partition.expire('h');
  expect(events(partition)).toEqual(['hexpired h', 'hexpired h', 'del h']);
});

test('comparisons tell of what they change, and of nothing else', async () => {
  const partition = await LonePartition.open();
  const told = async (line: string) => {
    partition.events.length = 0;
    await partition.call(...line.split(' '));
    return events(partition);
  };
  expect(await told('SET k v IFEQ w')).toEqual([]);
  expect(await told('SET k v IFNE w')).toEqual(['new k', 'set k']);
  expect(await told('SET k w IFEQ v EX 10')).toEqual(['set k', 'expire k']);
  expect(await told('SET k x IFEQ v')).toEqual([]);
  expect(await told('DELEX k IFEQ v')).toEqual([]);
  expect(await told('DELEX k IFEQ w')).toEqual(['del k']);
  await told('XADD s 1-0 f v');
  expect(await told('XDELEX s ACKED IDS 2 1-0 2-0')).toEqual(['xdel s']);
  expect(await told('XDELEX s DELREF IDS 1 1-0')).toEqual([]);
  expect(await told('MSETEX 2 a 1 b 2')).toEqual(['new a', 'set a', 'new b', 'set b']);
  expect(await told('MSETEX 1 a 1 KEEPTTL')).toEqual(['set a']);
  expect(await told('MSETEX 1 a 1 XX EX 10')).toEqual(['set a', 'expire a']);
  expect(await told('MSETEX 2 a 1 c 1 XX EX 10')).toEqual([]);
  expect(await told('DELEX k IFEQ w')).toEqual([]);
});

test('values of hash fields with their deadlines, as Redis 8 tells of them', async () => {
  const partition = await LonePartition.open();
  const told = async (line: string) => {
    partition.events.length = 0;
    await partition.call(...line.split(' '));
    return events(partition);
  };
  expect(await told('HSETEX h FIELDS 2 a 1 b 2')).toEqual(['new h', 'hset h']);
  expect(await told('HSETEX h EX 10 FIELDS 1 a 1')).toEqual(['hset h', 'hexpire h']);
  expect(await told('HSETEX h KEEPTTL FIELDS 1 a 1')).toEqual(['hset h']);
  expect(await told('HSETEX h FNX FIELDS 1 a 1')).toEqual([]);
  expect(await told('HSETEX h EX 0 FIELDS 2 a 1 c 1')).toEqual(['hset h', 'hdel h']);
  expect(await told('HGETEX h FIELDS 1 b')).toEqual([]);
  expect(await told('HGETEX h PERSIST FIELDS 1 b')).toEqual([]);
  expect(await told('HGETEX h EX 10 FIELDS 2 b none')).toEqual(['hexpire h']);
  expect(await told('HGETEX h EX 10 FIELDS 1 none')).toEqual([]);
  expect(await told('HGETEX h PERSIST FIELDS 1 b')).toEqual(['hpersist h']);
  expect(await told('HSETEX h FIELDS 1 a 1')).toEqual(['hset h']);
  expect(await told('HGETEX h EX 0 FIELDS 2 a none')).toEqual(['hdel h']);
  expect(await told('HGETDEL h FIELDS 1 none')).toEqual([]);
  expect(await told('HGETDEL h FIELDS 1 b')).toEqual(['hdel h', 'del h']);
  expect(await told('HSETEX h EX 10 FIELDS 1 a 1')).toEqual(['new h', 'hset h', 'hexpire h']);
  expect(await told('HGETEX h EX 0 FIELDS 1 a')).toEqual(['hdel h', 'del h']);
  expect(await told('HGETDEL none FIELDS 1 a')).toEqual([]);
});

describe('messages', () => {
  function published(flags: string, namespace = 'default'): string[] {
    const sent: string[] = [];
    const publisher = new KeyEventPublisher({
      countLost: () => {},
      publish: (kind, channel, payload) => sent.push(`${kind} ${channel} ${payload}`),
    });
    publisher.take(flags);
    const key = Buffer.from('k');
    publisher.publish(namespace, [
      { of: 'new', event: 'new', key },
      { of: 'string', event: 'set', key },
      { of: 'generic', event: 'expire', key },
    ]);
    return sent;
  }

  test('go to the channel of the key, then to that of the event', () => {
    expect(published('KEA')).toEqual([
      'channel __keyspace@0__:k set',
      'channel __keyevent@0__:set k',
      'channel __keyspace@0__:k expire',
      'channel __keyevent@0__:expire k',
    ]);
    expect(published('Kg', 'db7')).toEqual(['channel __keyspace@7__:k expire']);
    expect(published('En', 'shop')).toEqual(['channel __keyevent@shop__:new k']);
    expect(published('A')).toEqual([]);
  });

  test('nobody gathers events that nobody asked for', () => {
    const publisher = new KeyEventPublisher({ publish: () => 0, countLost: () => {} });
    expect(publisher.wanted()).toBe(false);
    for (const [flags, wanted] of [
      ['KE', false],
      ['A', false],
      ['K$', true],
      ['En', true],
    ] as const) {
      publisher.take(flags);
      expect(publisher.wanted(), flags).toBe(wanted);
    }
    publisher.take('nonsense');
    expect(formatNotifyFlags(publisher.flags)).toBe('nE');
    publisher.take(undefined);
    expect(publisher.flags).toEqual(NO_EVENTS);
  });
});

test('CONFIG SET notify-keyspace-events is for the whole cluster; wrong letters change nothing', async () => {
  const doors = await openDoors();
  const client = await RawClient.open(doors.gateway);
  try {
    const get = 'CONFIG GET notify-keyspace-events';
    expect(await client.ask('CONFIG SET notify-keyspace-events exKE', '+OK\r\n')).toBe('+OK\r\n');
    const shown = '*2\r\n$22\r\nnotify-keyspace-events\r\n$4\r\nxeKE\r\n';
    expect(await client.ask(get, shown)).toBe(shown);
    client.send('CONFIG SET notify-keyspace-events Q', get);
    const text = await client.until((all) => all.split(shown).length === 3);
    expect(text).toContain(
      "-ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - " +
        BAD_NOTIFY_FLAGS,
    );
  } finally {
    client.end();
    await doors.close();
  }
});
