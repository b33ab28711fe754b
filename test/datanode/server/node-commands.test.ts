/** Commands of a node over real sockets: byte for byte as a stock redis-server, in both protocols. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../cluster/cluster.ts';
import { hasRedis, RealRedis } from '../commands/real-redis.ts';
import { type Doors, openDoors, RawClient } from './doors.ts';

const MARK = 'that-was-all';

/** The bytes that answer one command, which may be none. */
async function bytesOf(client: RawClient, command: string): Promise<string> {
  const before = client.text.length;
  client.send(command, `ECHO ${MARK}`);
  const text = await client.until((all) => all.indexOf(MARK, before) >= 0 && all.endsWith('\r\n'));
  return text.slice(before, text.lastIndexOf(`$${MARK.length}\r\n${MARK}`));
}

const same: readonly string[] = [
  'CLIENT GETNAME',
  'CLIENT SETNAME me',
  'CLIENT GETNAME',
  'CLIENT SETNAME a\u0001b',
  'CLIENT NO-EVICT on',
  'CLIENT NO-EVICT maybe',
  'CLIENT GETREDIR',
  'CLIENT TRACKINGINFO',
  'CLIENT TRACKING off',
  'CLIENT TRACKING maybe',
  'CLIENT CACHING yes',
  'CLIENT UNBLOCK 999999',
  'CLIENT UNBLOCK x',
  'CLIENT UNBLOCK 1 foo',
  'CLIENT PAUSE x',
  'CLIENT PAUSE -1',
  'CLIENT PAUSE 10 foo',
  'CLIENT UNPAUSE',
  'CLIENT KILL',
  'CLIENT KILL 1.1.1.1:1',
  'CLIENT KILL ID 0',
  'CLIENT KILL ID 999999',
  'CLIENT KILL foo bar',
  'CLIENT KILL ID 1 foo',
  'CLIENT KILL TYPE foo',
  'CLIENT KILL TYPE replica',
  'CLIENT KILL USER foo',
  'CLIENT KILL ADDR 1.1.1.1:1 SKIPME no',
  'CLIENT LIST TYPE',
  'CLIENT LIST TYPE replica',
  'CLIENT LIST TYPE foo',
  'CLIENT LIST ID',
  'CLIENT LIST ID x',
  'CLIENT LIST ID 999999',
  'CLIENT REPLY maybe',
  'CLIENT foo',
  'CLIENT',
  'CONFIG GET maxclients',
  'CONFIG GET slowlog-max-l?n SLOWLOG-MAX-LEN',
  'CONFIG GET nosuch*',
  'CONFIG GET',
  'CONFIG SET maxclients abc',
  'CONFIG SET slowlog-max-len 1 nosuch 1',
  'CONFIG SET slowlog-max-len 5 slowlog-max-len 6',
  'CONFIG SET slowlog-max-len 5 latency-monitor-threshold 1000000',
  'CONFIG GET latency-monitor-threshold',
  'CONFIG SET a',
  'CONFIG SET a b c',
  'CONFIG RESETSTAT',
  'CONFIG foo',
  'COMMAND GETKEYS get a',
  'COMMAND GETKEYS get a b',
  'COMMAND GETKEYS nosuch a',
  'COMMAND GETKEYS memory usage a',
  'COMMAND GETKEYSANDFLAGS set a 1 get',
  'COMMAND GETKEYSANDFLAGS rename a b',
  'COMMAND INFO get',
  'COMMAND INFO mset nosuch',
  'COMMAND INFO wait time role lastsave swapdb move lolwut monitor select reset',
  'COMMAND INFO client|pause config|set slowlog|get latency|latest memory|stats',
  'COMMAND LIST foo',
  'COMMAND LIST FILTERBY foo bar',
  'COMMAND LIST FILTERBY PATTERN ping',
  'COMMAND LIST FILTERBY MODULE json',
  'COMMAND DOCS nosuch',
  'COMMAND foo',
  'SLOWLOG RESET',
  'SLOWLOG GET 0',
  'SLOWLOG GET x',
  'SLOWLOG GET -2',
  'SLOWLOG foo',
  'LATENCY RESET',
  'LATENCY LATEST',
  'LATENCY HISTORY command',
  'LATENCY GRAPH command',
  'LATENCY HISTOGRAM nosuch',
  'LATENCY foo',
  'MEMORY PURGE',
  'MEMORY USAGE none',
  'MEMORY STATS x',
  'MEMORY foo',
  'OBJECT HELP',
  'OBJECT foo',
  'OBJECT ENCODING',
  'WAIT x 1',
  'WAIT 1 x',
  'WAIT 1 -1',
  'WAIT 0 0',
  'SELECT 0',
  'SELECT 99',
  'SELECT -1',
  'SWAPDB 1',
  'MOVE a',
  'FLUSHALL foo',
  'FLUSHALL async',
  'FLUSHDB sync',
  'FLUSHDB async sync',
  'TIME 1',
  'ROLE 1',
  'LASTSAVE 1',
  'MONITOR 1',
  'RESET 1',
  'AUTH a b c d',
];

const alice = '+@all -@dangerous -get +config|get +acl|whoami ~a* %R~r* %W~w* &c*';

/** What connections send, one after the other; all of them may ECHO. */
const users: readonly { readonly login: string; readonly lines: readonly string[] }[] = [
  {
    login: '',
    lines: [
      'ACL WHOAMI',
      'ACL LIST',
      'ACL USERS',
      `ACL SETUSER alice on >p1 ${alice}`,
      'ACL SETUSER bob on nopass +@all ~*',
      'ACL SETUSER eve >p2 +@all ~*',
      'ACL USERS',
      'ACL GETUSER bob',
      'ACL GETUSER nobody',
      'ACL SETUSER alice foo',
      'ACL SETUSER alice +nosuch',
      'ACL SETUSER alice +@nosuch',
      'ACL SETUSER alice +config|nosuch',
      'ACL SETUSER alice +get|x|y',
      'ACL SETUSER alice <nope',
      'ACL SETUSER alice #12',
      'ACL SETUSER alice (~x',
      'ACL SETUSER bob ~b',
      'ACL SETUSER alice allchannels &x',
      'ACL DELUSER default',
      'ACL DELUSER nobody',
      'ACL CAT',
      'ACL CAT nosuch',
      'ACL GENPASS x',
      'ACL GENPASS 5000',
      'ACL DRYRUN nobody get a',
      'ACL DRYRUN alice get a',
      'ACL DRYRUN alice nosuch a',
      'ACL DRYRUN alice get',
      'ACL DRYRUN alice set a 1',
      'ACL DRYRUN alice set z 1',
      'ACL LOAD',
      'ACL SAVE',
      'ACL LOG x',
      'ACL LOG reset x',
      'ACL foo',
      'ACL',
      'AUTH x',
      'AUTH alice wrong',
      'AUTH eve p2',
      'COMMAND INFO acl|setuser acl|whoami acl|genpass acl|log',
    ],
  },
  {
    login: 'alice p1',
    lines: [
      'ACL WHOAMI',
      'get a',
      'set a 1',
      'set z 1',
      'set r1 1',
      'set w1 1',
      'set w1 1 get',
      'strlen r1',
      'mset a1 1 a2 2',
      'mset a1 1 z 2',
      'mget a1 r1',
      'rename a1 w2',
      'rename a2 r2',
      'config get maxclients',
      'config set maxclients 10',
      'flushall',
      'acl list',
      'get',
      'nosuch',
      'memory usage z',
      'object encoding z',
      'AUTH alice wrong',
      'ACL WHOAMI',
      'AUTH bob anything',
      'ACL WHOAMI',
      'get z',
      'ACL DELUSER alice eve bob2',
      'ACL USERS',
    ],
  },
  { login: '', lines: ['ACL DELUSER bob', 'FLUSHALL', 'ACL LOG RESET'] },
];

describe.runIf(hasRedis)('beside a stock redis-server', () => {
  let redis: RealRedis;
  let doors: Doors;
  beforeAll(async () => {
    redis = await RealRedis.start();
    doors = await openDoors(1);
  });
  afterAll(async () => {
    await redis?.stop();
    await doors?.close();
  });

  test.each([2, 3])('the same bytes in RESP%i', async (protocol) => {
    const own = await RawClient.open(doors.gateway);
    const real = await RawClient.open(redis.path);
    for (const client of [own, real]) await bytesOf(client, `HELLO ${protocol}`);
    for (const command of same) {
      expect.soft(await bytesOf(own, command), command).toBe(await bytesOf(real, command));
    }
    own.end();
    real.end();
  });

  test.each([2, 3])('users and what they may, the same bytes in RESP%i', async (protocol) => {
    for (const { login, lines } of users) {
      const own = await RawClient.open(doors.gateway);
      const real = await RawClient.open(redis.path);
      for (const client of [own, real]) {
        await bytesOf(client, `HELLO ${protocol}${login && ` AUTH ${login}`}`);
      }
      for (const line of lines) {
        expect.soft(await bytesOf(own, line), line).toBe(await bytesOf(real, line));
      }
      own.end();
      real.end();
    }
  });

  test('MONITOR shows commands in the same words', async () => {
    const lines: string[][] = [];
    for (const place of [doors.gateway, redis.path]) {
      const monitor = await RawClient.open(place);
      const client = await RawClient.open(place);
      await monitor.ask('MONITOR', '+OK\r\n');
      client.socket.write('*3\r\n$3\r\nSeT\r\n$3\r\na"\\\r\n$4\r\n\n\r\t\u0001\r\n');
      client.send('GET', 'NOSUCH', 'CONFIG GET save', 'ping', 'AUTH default secret');
      client.send(
        'SET a 1 nonsense',
        'WATCH a',
        'MULTI',
        'MULTI',
        'set a 2',
        'PING',
        'Exec',
        'EXEC',
      );
      client.send('MULTI', 'GET a', 'DISCARD', 'MULTI', 'GET', 'EXEC', 'echo end');
      const text = await monitor.until((all) => all.includes('"echo" "end"\r\n'));
      const shown = text.split('\r\n').slice(1, -1);
      for (const line of shown) expect(line).toMatch(/^\+\d{10}\.\d{6} \[0 \S+\] "/);
      lines.push(shown.map((line) => line.replace(/^.*?\] /, '')));
      monitor.end();
      client.end();
    }
    expect(lines[0]).toEqual(lines[1]);
    expect(lines[0]).toContain('"AUTH" "(redacted)" "(redacted)"');
  });
});

describe('a node', () => {
  test('tells how much each client has sent, was sent, had run, and watches', async () => {
    const doors = await openDoors();
    const client = await RawClient.open(doors.gateway);
    const shown = async () => {
      const line = await bytesOf(client, 'CLIENT INFO');
      const fields = ['watch', 'tot-net-in', 'tot-net-out', 'tot-cmds'];
      return fields.map((name) => Number(new RegExp(` ${name}=(\\d+)`).exec(line)![1]));
    };
    const [watchedFirst, inFirst, outFirst, ranFirst] = await shown();
    expect([watchedFirst, ranFirst]).toEqual([0, 1]);
    await bytesOf(client, 'WATCH {k}a {k}b');
    await bytesOf(client, 'WATCH {k}c');
    expect(doors.server.info().watches).toEqual({ clients: 1, keys: 3 });
    const [watched, inNow, outNow, ran] = await shown();
    // two WATCH, three ECHO, CLIENT INFO itself
    expect([watched, ran]).toEqual([3, ranFirst! + 6]);
    expect(inNow! - inFirst!).toBeGreaterThan('WATCH {k}a {k}b WATCH {k}c'.length);
    expect(outNow! - outFirst!).toBeGreaterThan('+OK\r\n+OK\r\n'.length);
    client.send('MULTI', 'PING', 'PING', 'EXEC');
    await bytesOf(client, 'PING');
    // MULTI, EXEC with two, PING, two ECHO; nothing is watched any more
    expect(await shown()).toEqual([0, expect.any(Number), expect.any(Number), ran! + 8]);
    expect(doors.server.info().watches).toEqual({ clients: 0, keys: 0 });
    const { socketReads, socketWrites } = doors.server.info();
    expect(Math.min(socketReads, socketWrites)).toBeGreaterThan(3);
    client.end();
    await doors.close();
  });

  test('with a password asks every new connection for it, and closes those of deleted users', async () => {
    const doors = await openDoors(1);
    const [old, bob] = await Promise.all([
      RawClient.open(doors.gateway),
      RawClient.open(doors.cluster),
    ]);
    await old.ask('CONFIG SET requirepass secret', '+OK\r\n');
    await old.ask('ACL SETUSER bob on >pw +@all ~*', '+OK\r\n');
    const noAuth = '-NOAUTH Authentication required.\r\n';
    bob.send('GET a', 'PING', 'AUTH bob pw', 'SET a 1', 'GET a');
    expect(await bob.until((text) => text.endsWith('1\r\n'))).toBe(
      `${noAuth}${noAuth}+OK\r\n+OK\r\n$1\r\n1\r\n`,
    );
    await old.ask('ACL DELUSER bob', ':1\r\n');
    await bob.until(() => bob.closed);
    expect(await old.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
    expect(await old.ask('RESET', '+RESET\r\n')).toBe('+RESET\r\n');
    expect(await old.ask('PING', noAuth)).toBe(noAuth);
    old.end();
    await doors.close();
  });

  test('CLIENT PAUSE holds writes of all clients back, in order, until UNPAUSE', async () => {
    const doors = await openDoors(2);
    const [one, two] = await Promise.all([
      RawClient.open(doors.gateway),
      RawClient.open(doors.cluster),
    ]);
    await one.ask('CLIENT PAUSE 60000 WRITE', '+OK\r\n');
    two.send('GET a', 'SET a 1', 'GET a', 'PING', 'DEL a');
    await two.until((text) => text === '$-1\r\n');
    await one.ask('GET a', '$-1\r\n');
    expect(two.text).toBe('$-1\r\n');
    await one.ask('CLIENT UNPAUSE', '+OK\r\n');
    expect(await two.until((text) => text.endsWith(':1\r\n'))).toBe(
      '$-1\r\n+OK\r\n$1\r\n1\r\n+PONG\r\n:1\r\n',
    );
    // the end of a pause is enough, and a client that goes meanwhile leaves nothing
    await one.ask('CLIENT PAUSE 100 ALL', '+OK\r\n');
    two.send('SET a 2');
    two.end();
    expect(await one.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
    one.end();
    await doors.close();
  });

  test('what is turned away does not wait for the end of a pause', async () => {
    const doors = await openDoors(2);
    const client = await RawClient.open(doors.gateway);
    const denied = "-NOPERM this user has no permissions to run the 'del' command\r\n";
    for (const [command, answer] of [
      ['ACL SETUSER reader on >pw +@all -del ~a', '+OK\r\n'],
      ['CLIENT PAUSE 60000 WRITE', '+OK\r\n'],
      ['SET a', "-ERR wrong number of arguments for 'set' command\r\n"],
      ['AUTH reader pw', '+OK\r\n'],
      ['DEL a', denied],
      ['MULTI', '+OK\r\n'],
      ['DEL a', denied],
      ['EXEC', '-EXECABORT Transaction discarded because of previous errors.\r\n'],
      ['CLIENT UNPAUSE', '+OK\r\n'],
    ] as const) {
      expect(await client.ask(command, answer)).toBe(answer);
    }
    client.end();
    await doors.close();
  });

  test('who is held back by a pause is shown as blocked, and CLIENT UNBLOCK is not for it', async () => {
    const doors = await openDoors(2);
    const [one, two] = await Promise.all([
      RawClient.open(doors.gateway),
      RawClient.open(doors.gateway),
    ]);
    const id = (await bytesOf(two, 'CLIENT ID')).slice(1, -2);
    await bytesOf(one, 'CLIENT PAUSE 60000 WRITE');
    two.send('SET a 1');
    await eventually(10_000, 'it is held back', () => doors.server.info().blockedClients === 1);
    expect(await bytesOf(one, `CLIENT LIST ID ${id}`)).toContain(' flags=b ');
    expect(await bytesOf(one, `CLIENT UNBLOCK ${id}`)).toBe(':0\r\n');
    await bytesOf(one, 'CLIENT UNPAUSE');
    await two.until((text) => text.endsWith('+OK\r\n'));
    expect(doors.server.info().blockedClients).toBe(0);
    expect(await bytesOf(one, `CLIENT LIST ID ${id}`)).toContain(' flags=N ');
    one.end();
    two.end();
    await doors.close();
  });

  test('slow commands and spikes of latency are noted, without secrets', async () => {
    const doors = await openDoors(1, { slowLogMicroseconds: 50_000, latencyThresholdMs: 50 });
    const client = await RawClient.open(doors.gateway);
    client.send('CLIENT SETNAME sleeper', 'DEBUG SLEEP 0.1', 'SLOWLOG GET', 'LATENCY LATEST');
    const text = await client.until((all) => /\*4\r\n\$7\r\ncommand\r\n/.test(all));
    expect(text).toMatch(
      /\*6\r\n:\d\r\n:\d+\r\n:(?:99\d{3}|[1-9]\d{5,})\r\n\*3\r\n\$5\r\nDEBUG\r\n\$5\r\nSLEEP\r\n\$3\r\n0.1\r\n/,
    );
    expect(text).toContain('$7\r\nsleeper\r\n');
    await client.ask('CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 2', '+OK\r\n');
    await client.ask('AUTH default secret', '+OK\r\n');
    expect(await client.ask('SLOWLOG GET 1', '*1')).not.toContain('secret');
    client.end();
    await doors.close();
  });

  test('a monitor that does not read is disconnected, and others are not held up', async () => {
    const doors = await openDoors(1);
    const monitor = await RawClient.open(doors.gateway);
    await monitor.ask('MONITOR', '+OK\r\n');
    monitor.socket.pause();
    const client = await RawClient.open(doors.gateway);
    const burst = Array.from({ length: 2_000 }, () => `ECHO ${'x'.repeat(128)}`);
    let answered = 0;
    while (doors.server.info().connectedClients > 1 && answered < 400_000) {
      client.send(...burst);
      answered += burst.length;
      await client.until((all) => all.length >= answered * (128 + 8));
    }
    expect(doors.server.info().connectedClients).toBe(1);
    monitor.end();
    client.end();
    await doors.close();
  });

  test('few clients may monitor', async () => {
    const doors = await openDoors(1);
    const clients = await Promise.all(
      Array.from({ length: 9 }, () => RawClient.open(doors.gateway)),
    );
    for (const client of clients.slice(0, 8)) await client.ask('MONITOR', '+OK\r\n');
    expect(await clients[8]!.ask('MONITOR', '-ERR ')).toMatch(/^-ERR 8 clients monitor this node/);
    await clients[0]!.ask('RESET', '+RESET\r\n');
    expect(await clients[8]!.ask('MONITOR', '+OK\r\n')).toBe('+OK\r\n');
    for (const client of clients) client.end();
    await doors.close();
  });
});
