/** Commands about connection and server, to the doors of a node and to a stock redis-server. */
import { beforeEach, describe, expect, test } from 'vitest';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { openDoors, RawClient, wire } from '../datanode/server/doors.ts';
import { besideRedis, Pair } from './beside-redis.ts';

/** Each begins with no keys and new connections; replies are equal byte for byte. */
const scripts: readonly string[][] = [
  [
    'CLIENT NOSUCH',
    'CLIENT',
    'CLIENT ID x',
    'CLIENT GETNAME',
    'CLIENT SETNAME n',
    'CLIENT GETNAME',
  ],
  ['CLIENT SETNAME a\nb', 'CLIENT REPLY maybe', 'CLIENT NO-EVICT on', 'CLIENT NO-EVICT maybe'],
  ['CLIENT KILL 1.2.3.4:5', 'CLIENT KILL ID x', 'CLIENT KILL ID 999999', 'CLIENT KILL TYPE nosuch'],
  ['CLIENT KILL ID 9223372036854775807', 'CLIENT KILL ID 9223372036854775808', 'CLIENT KILL ID 01'],
  ['CLIENT KILL USER nobody', 'CLIENT KILL ID', 'CLIENT KILL NOSUCH 1', 'CLIENT KILL SKIPME maybe'],
  ['CLIENT LIST ID 0', 'CLIENT LIST ID -1', 'CLIENT LIST ID 0 x', 'CLIENT LIST ID'],
  ['SLOWLOG GET 1 2', 'SLOWLOG LEN x', 'BGSAVE x', 'BGSAVE SCHEDULE x'],
  ['MULTI', 'SSUBSCRIBE s', 'MONITOR', 'SPUBLISH s m', 'PING', 'EXEC', 'PING'],
  ['CLIENT LIST TYPE nosuch', 'CLIENT LIST ID x', 'CLIENT LIST NOSUCH', 'CLIENT LIST ID 999999'],
  [
    'CLIENT PAUSE x',
    'CLIENT PAUSE -1',
    'CLIENT PAUSE 0 maybe',
    'CLIENT UNPAUSE',
    'CLIENT GETREDIR',
  ],
  ['CLIENT UNBLOCK x', 'CLIENT UNBLOCK 999999', 'CLIENT UNBLOCK 1 maybe', 'CLIENT TRACKINGINFO'],
  ['CLIENT CACHING yes', 'CLIENT TRACKING off', 'CLIENT TRACKING maybe'],
  ['DEBUG SLEEP', 'DEBUG OBJECT', 'debug SlEeP 0 0', 'DEBUG OBJECT a b', 'DEBUG SET-ACTIVE-EXPIRE'],
  ['EXPIRE a 1 no\r\n', 'EXPIRE a 1 \r\nx\r\ny\n\r', 'PEXPIRE a 1 \r\n', 'EXPIREAT a 1 NX \n'],
  ['HELLO 03', 'HELLO -0', 'HELLO +3', 'HELLO 0', 'HELLO -2', 'HELLO 4', 'HELLO 3\r', 'HELLO '],
  ['HELLO 9223372036854775807', 'HELLO 9223372036854775808', 'HELLO 1e0', 'HELLO 3 BAD'],
  ['CONFIG GET SAVE', 'CONFIG GET Save save', 'CONFIG GET maxmemory-policy MAX*-POLICY'],
  ['CONFIG GET MAX*-POLICY MaxMemory-Policy', 'CONFIG GET [S]AVE', 'CONFIG GET sav\\e'],
  ['CONFIG SET dir /nope', 'CONFIG SET DbFileName x', 'CONFIG SET dir a nosuch 1'],
  ['CONFIG SET nosuch 1 dir a', 'CONFIG SET dir a dir b', 'CONFIG SET maxclients x dir a'],
  ['DEBUG SLEEP 0.01', 'DEBUG SET-ACTIVE-EXPIRE 1', 'DEBUG OBJECT none', 'DEBUG'],
  ['OBJECT ENCODING none', 'OBJECT FREQ none', 'OBJECT IDLETIME none', 'OBJECT REFCOUNT none'],
  ['SET a 1', 'OBJECT FREQ a', 'OBJECT REFCOUNT a', 'OBJECT NOSUCH a'],
  ['OBJECT', 'OBJECT HELP', 'OBJECT ENCODING', 'OBJECT ENCODING a b', 'OBJECT HELP x'],
  ['MEMORY USAGE none', 'MEMORY USAGE a SAMPLES', 'MEMORY USAGE a SAMPLES x', 'MEMORY USAGE'],
  ['SET a 1', 'MEMORY USAGE a SAMPLES -1', 'MEMORY NOSUCH', 'MEMORY PURGE', 'MEMORY DOCTOR x'],
  ['MODULE LIST', 'MODULE NOSUCH', 'MODULE', 'LOLWUT VERSION x', 'LOLWUT VERSION 5 x'],
  ['WAIT x 0', 'WAIT 0 x', 'WAIT 0 -1', 'WAIT', 'ROLE x', 'LASTSAVE x', 'TIME x'],
  ['SET a 1', 'FLUSHALL ASYNC', 'DBSIZE', 'SET a 1', 'FLUSHALL SYNC', 'DBSIZE', 'FLUSHALL NOW'],
  ['SET a 1', 'FLUSHDB ASYNC', 'DBSIZE', 'SET a 1', 'FLUSHDB SYNC', 'DBSIZE', 'FLUSHDB ASYNC x'],
  [
    'CONFIG',
    'CONFIG NOSUCH',
    'CONFIG GET',
    'CONFIG SET a',
    'CONFIG SET nosuch 1',
    'CONFIG GET nosuch',
  ],
  ['SLOWLOG NOSUCH', 'SLOWLOG GET x', 'SLOWLOG GET -2', 'SLOWLOG RESET'],
  [
    'LATENCY NOSUCH',
    'LATENCY RESET',
    'LATENCY LATEST',
    'LATENCY HISTORY none',
    'LATENCY GRAPH none',
  ],
  ['ECHO', 'ECHO a', 'PING a b', 'PING', 'PING a', 'HELLO x', 'HELLO 4', 'HELLO 2 NOSUCH', 'RESET'],
  ['AUTH x', 'AUTH a b', 'AUTH a b c', 'SELECT 0', 'SELECT 99', 'READONLY', 'ASKING', 'RESET x'],
  [
    'PUBSUB NOSUCH',
    'PUBSUB NUMSUB',
    'PUBSUB NUMSUB a',
    'PUBSUB CHANNELS',
    'PUBSUB NUMPAT',
    'PUBSUB',
  ],
  ['CLUSTER INFO', 'CLUSTER NOSUCH', 'CLUSTER', 'GET', 'nosuch a b', 'ACL WHOAMI'],
];

describe.skipIf(!hasRedis)('connection and server as redis-server answers', () => {
  const servers = besideRedis(openDoors, '--enable-debug-command', 'yes');
  beforeEach(() => servers.redis.call('FLUSHALL'));

  test.each([
    [['PING']],
    [['SET a 1', 'GET a', 'INCR a', 'NOSUCH']],
    [['MSET a 1 b 2', 'MGET a b', 'DBSIZE']],
    [['MULTI', 'SET a 1', 'GET a', 'EXEC']],
    [['RPUSH a 1', 'BLPOP a 0', 'GET b']],
    [['SUBSCRIBE a']],
    [Array.from({ length: 10_000 }, (_, at) => `SET a ${at}`)],
  ])('to a client that sends no more: %s', async (lines) => {
    const texts: string[] = [];
    for (const door of [servers.ours, servers.theirs]) {
      const client = await RawClient.open(door);
      client.socket.end(['FLUSHALL', ...lines].map(wire).join(''));
      await client.until(() => client.closed);
      texts.push(client.text);
    }
    expect(texts[0]).toBe(texts[1]);
  });

  test.each([
    ['blocked', 'BLPOP a 0', 'RPUSH a 1', 'LPOP a'],
    ['held back by a pause', 'SET a 1', 'CLIENT UNPAUSE', 'GET a'],
  ])('who is %s when it sends no more is let go', async (_, waits, then, after) => {
    const replies: string[] = [];
    for (const door of [servers.ours, servers.theirs]) {
      const other = await RawClient.open(door);
      await other.ask('FLUSHALL', '+OK\r\n');
      if (then === 'CLIENT UNPAUSE') await other.ask('CLIENT PAUSE 60000 WRITE', '+OK\r\n');
      const client = await RawClient.open(door);
      client.socket.end(wire(waits));
      await client.until(() => client.closed);
      expect(client.text).toBe('');
      await other.ask(then, ':1\r\n');
      replies.push(await other.ask(after, '$0\r\n'));
      other.end();
    }
    expect(replies[0]).toBe(replies[1]);
  });

  describe.each([2, 3] as const)('RESP%i', (protocol) => {
    test.each(scripts.map((script) => [script.join(', '), script] as const))(
      '%s',
      async (_, script) => {
        const pair = await Pair.connect(servers, protocol);
        await pair.ask(['FLUSHALL']);
        const texts: string[][] = [[], []];
        for (const line of script) {
          (await pair.ask(line.split(' '))).forEach((reply, at) => {
            texts[at]!.push(`${line} -> ${reply}`);
          });
        }
        pair.close();
        expect(texts[0]).toEqual(texts[1]);
      },
    );
  });
});
