/** Events of keys, command by command, beside those that a redis-server publishes. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  BAD_NOTIFY_FLAGS,
  formatNotifyFlags,
  NO_EVENTS,
  parseNotifyFlags,
} from '../../../src/datanode/commands/notify-flags.ts';
import { KeyEventPublisher } from '../../../src/datanode/pubsub/key-events.ts';
import { openDoors, RawClient } from '../server/doors.ts';
import { LonePartition } from './lone-partition.ts';
import { hasRedis, RealRedis } from './real-redis.ts';
import { replyText } from './reply-text.ts';

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

describe('messages', () => {
  function published(flags: string, namespace = 'default'): string[] {
    const sent: string[] = [];
    const publisher = new KeyEventPublisher({
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
    const publisher = new KeyEventPublisher({ publish: () => 0 });
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
