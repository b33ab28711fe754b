/** Commands under sessions through the doors: what routes them, what they need, EXEC, both protocols. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { ZanConnection } from '../../../src/datanode/zan/connection.ts';
import { type Doors, openDoors, RawClient } from './doors.ts';

const MARK = 'that-was-all';
let doors: Doors;
let client: RawClient;

beforeAll(async () => {
  doors = await openDoors();
  client = await RawClient.open(doors.gateway);
});

afterAll(() => doors?.close());

/** What all of them are answered; they arrive as one pipeline. */
async function answerAt(one: RawClient, ...commands: string[]): Promise<string> {
  const before = one.text.length;
  one.send(...commands, `ECHO ${MARK}`);
  const text = await one.until((all) => all.indexOf(MARK, before) >= 0 && all.endsWith('\r\n'));
  return text.slice(before, text.lastIndexOf(`$${MARK.length}\r\n${MARK}`));
}

const answer = (...commands: string[]) => answerAt(client, ...commands);

test('a transaction that is sent again under its sequence is not run again', async () => {
  expect(await answer('KV.SESSION OPEN session-1 a')).toBe('+OK\r\n');
  const sent = ['MULTI', 'INCR a', 'RPUSH {a}l x', 'KV.ONCE session-1 1 1 EXEC'];
  const text = '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n';
  expect(await answer(...sent)).toBe(text);
  expect(await answer(...sent)).toBe(text);
  expect(await answer('GET a')).toBe('$1\r\n1\r\n');
  expect(await answer('KV.ONCE session-1 2 2 EXEC')).toBe('-ERR EXEC without MULTI\r\n');
});

test('the command within decides whether it is one, and which keys it has', async () => {
  expect(await answer('KV.ONCE session-1 3 3 WHAT a')).toMatch(/^-ERR unknown command 'WHAT'/);
  expect(await answer('KV.ONCE session-1 3 3 GET a b')).toMatch(/^-ERR wrong number .* 'get'/);
  expect(await answer('COMMAND GETKEYS KV.ONCE session-1 3 3 MSET a 1 {a}b 2')).toBe(
    '*2\r\n$1\r\na\r\n$4\r\n{a}b\r\n',
  );
});

test('a reply is given again in the protocol of whoever asks', async () => {
  expect(await answer('KV.ONCE session-1 4 3 HSET {a}h f v')).toBe(':1\r\n');
  expect(await answer('KV.ONCE session-1 5 3 HGETALL {a}h')).toBe('*2\r\n$1\r\nf\r\n$1\r\nv\r\n');
  await answer('HELLO 3');
  expect(await answer('KV.ONCE session-1 5 3 HGETALL {a}h')).toBe('%1\r\n$1\r\nf\r\n$1\r\nv\r\n');
});

test('says what it knows', async () => {
  expect(await answer('KV.SESSION HELP')).toMatch(/^\*\d+\r\n[$+].*KV\.SESSION/);
});

describe('in a pipeline', () => {
  // keys of several partitions, a repetition, a session that nobody knows, a read in between
  const sent = (id: string) => [
    `KV.SESSION OPEN ${id} {p}a`,
    `KV.SESSION OPEN ${id} {q}a`,
    `KV.ONCE ${id} 1 1 INCR {p}a`,
    `KV.ONCE ${id} 1 1 INCR {q}a`,
    `KV.ONCE unknown-${id} 1 1 INCR {p}a`,
    `KV.ONCE ${id} 1 1 INCR {p}a`,
    `KV.ONCE ${id} 2 1 INCR {p}a`,
    'GET {p}a',
    `KV.ONCE ${id} 3 3 MSET {p}a 7 {p}b 8`,
    `KV.ONCE ${id} 4 3 MGET {p}a {p}b`,
  ];
  const told = [
    ...['+OK', '+OK', ':1', ':1', '-SESSIONLOST', ':1', ':2', '$1\r\n2', '+OK'],
    '*2\r\n$1\r\n7\r\n$1\r\n8',
  ];

  test.each(['gateway', 'cluster'] as const)(
    'every command has its reply, in order: %s',
    async (door) => {
      const one = await RawClient.open(doors[door]);
      const text = await answerAt(one, 'DEL {p}a {p}b', 'DEL {q}a', ...sent(`${door}-pipe`));
      const replies = text.replace(/-SESSIONLOST [^\r]*/, '-SESSIONLOST');
      expect(replies).toMatch(/^:[02]\r\n:[01]\r\n/);
      expect(replies.slice(8)).toBe(`${told.join('\r\n')}\r\n`);
      one.end();
    },
  );

  test('the door of ZanRedisDB takes the commands of its clients only', async () => {
    const here = { host: '127.0.0.1', port: 0 };
    const zan = await doors.server.listen('zan', here, (...given) => new ZanConnection(...given));
    const one = await RawClient.open(zan);
    one.send('KV.SESSION OPEN zan-session default:t:a', 'KV.ONCE zan-session 1 1 INCR default:t:a');
    const text = await one.until((all) => all.split('\r\n').length > 2);
    expect(text).toMatch(/^-\S+ .*kv\.session.*\r\n-\S+ .*kv\.once/i);
    one.end();
  });
});

test('a session that the partition does not know: nothing is run, also not later', async () => {
  const lost = /^-SESSIONLOST the partition has no such session/;
  expect(await answer('KV.ONCE never-opened 1 1 SET lost x')).toMatch(lost);
  expect(await answer('KV.SESSION OPEN soon-closed lost')).toBe('+OK\r\n');
  expect(await answer('KV.SESSION CLOSE soon-closed lost')).toBe(':1\r\n');
  expect(await answer('KV.ONCE soon-closed 1 1 SET lost x')).toMatch(lost);
  expect(await answer('EXISTS lost')).toBe(':0\r\n');
});

test('a reply above the bound comes once; asked again, it is said that it was', async () => {
  await answer('KV.SESSION OPEN large-session {g}a');
  const value = 'x'.repeat(limits.sessionReplyBytesMax + 1);
  await answer(`SET {g}a ${value}`);
  const take = 'KV.ONCE large-session 1 1 GETSET {g}a small';
  expect(await answer(take)).toBe(`$${value.length}\r\n${value}\r\n`);
  expect(await answer(take, take)).toMatch(/^-DONE .*\r\n-DONE .*\r\n$/);
  expect(await answer('GET {g}a')).toBe('$5\r\nsmall\r\n');
});

test('on the cluster port a command goes where the key of the one within is led', async () => {
  const cluster = await RawClient.open(doors.cluster);
  const moved = /^-MOVED 12182 127\.0\.0\.1:7002\r\n/;
  await answerAt(cluster, 'KV.SESSION OPEN moved-session foo');
  // slot 12182 is partition 2 of four
  doors.partitions[2]!.isLeader = false;
  doors.routes.setLeader(3, 'b', 7);
  expect(await answerAt(cluster, 'KV.ONCE moved-session 1 1 INCR foo')).toMatch(moved);
  expect(await answerAt(cluster, 'KV.SESSION OPEN moved-session foo')).toMatch(moved);
  doors.partitions[2]!.isLeader = true;
  expect(await answerAt(cluster, 'KV.ONCE moved-session 1 1 INCR foo')).toBe(':1\r\n');
  cluster.end();
});

describe('permissions', () => {
  const id = 'acl-session';
  let bob: RawClient;

  const asBob = (...commands: string[]) => answerAt(bob, ...commands);
  const rules = async (...more: string[]) => {
    await answer(`ACL SETUSER bob reset on >pw +echo +auth ${more.join(' ')}`);
    bob = await RawClient.open(doors.gateway);
    expect(await asBob('AUTH bob pw')).toBe('+OK\r\n');
  };
  beforeAll(() => answer('HELLO 2', `KV.SESSION OPEN ${id} acl:n`));

  test('of the command within are what is asked for: its name, its categories, its keys', async () => {
    await rules('+incr', '+get', '~acl:*');
    const command = /^-NOPERM this user has no permissions to run the 'set' command/;
    expect(await asBob(`KV.ONCE ${id} 1 1 SET acl:n 5`)).toMatch(command);
    const key = /^-NOPERM .* one of the keys used as arguments/;
    expect(await asBob(`KV.ONCE ${id} 1 1 INCR other`)).toMatch(key);
    await rules('+@all', '-@write', '~*');
    expect(await asBob(`KV.ONCE ${id} 1 1 INCR acl:n`)).toMatch(/^-NOPERM .*'incr'/);
    // that the wrapper itself is allowed helps nobody
    await rules('+kv.once', '+kv.session', '~*');
    for (const within of ['INCR acl:n', 'FLUSHALL', 'CONFIG GET *', 'ACL WHOAMI', 'EVAL x 0']) {
      expect(await asBob(`KV.ONCE ${id} 1 1 ${within}`)).toMatch(/^-(?:NOPERM|ERR unknown) /);
    }
    // nothing was run, and the number is free
    expect(await answer('GET acl:n')).toBe('$-1\r\n');
    await rules('+incr', '~acl:*');
    expect(await asBob(`KV.ONCE ${id} 1 1 INCR acl:n`)).toBe(':1\r\n');
    expect(await asBob(`KV.ONCE ${id} 1 1 INCR acl:n`)).toBe(':1\r\n');
  });

  test('one in another one is refused, whatever it carries', async () => {
    await rules('+@all', '-@dangerous', '~*');
    const nested = `KV.ONCE ${id} 2 2 KV.ONCE ${id} 2 2`;
    expect(await asBob(`${nested} FLUSHALL`)).toMatch(/^-ERR 'kv.once' cannot be sent under/);
    expect(await asBob(`${nested} INCR acl:n`)).toMatch(/^-ERR 'kv.once' cannot be sent under/);
    expect(await answer('GET acl:n')).toBe('$1\r\n1\r\n');
  });

  test('also of EXEC, and of what it runs', async () => {
    await rules('+incr', '+multi', '~acl:*');
    const sent = ['MULTI', 'INCR acl:n', `KV.ONCE ${id} 2 2 EXEC`];
    expect(await asBob(...sent)).toMatch(/^\+OK\r\n\+QUEUED\r\n-EXECABORT .*'exec' command/);
    await rules('+get', '+multi', '+exec', '~acl:*');
    expect(await asBob(...sent)).toMatch(/^\+OK\r\n-NOPERM .*'incr' command\r\n-EXECABORT /);
    expect(await answer('GET acl:n')).toBe('$1\r\n1\r\n');
  });

  test('a session is opened by those who may, where they may', async () => {
    await rules('+incr', '~acl:*');
    expect(await asBob('KV.SESSION OPEN bobs-session acl:n')).toMatch(
      /^-NOPERM .*kv\.session\|open/,
    );
    await rules('+kv.session|open', '~acl:*');
    expect(await asBob('KV.SESSION OPEN bobs-session other')).toMatch(/^-NOPERM .* keys /);
    expect(await asBob('KV.SESSION OPEN bobs-session acl:n')).toBe('+OK\r\n');
    expect(await asBob('KV.SESSION CLOSE bobs-session acl:n')).toMatch(/^-NOPERM .*\|close/);
  });
});
