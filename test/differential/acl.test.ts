/**
 * Users, their rights and what they are refused, to the doors of a node and to a stock redis-server:
 * the same script of several connections gets the same replies.
 */
import { describe, expect, test } from 'vitest';
import { aclCategories } from '../../src/datanode/commands/docs/command-docs.ts';
import { commandTable } from '../../src/datanode/commands/table/table.ts';
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { openDoors, RawClient } from '../datanode/server/doors.ts';
import { besideRedis } from './beside-redis.ts';
import { Oracle } from './oracle.ts';

/** Connection, colon, command: a connection is opened when it is first named. */
const scripts: Readonly<Record<string, readonly string[]>> = {
  'rules and how they are shown': [
    'a: ACL SETUSER bob on >pw ~k* %R~r* %W~w* &c* +@read +set',
    'a: ACL LIST',
    'a: ACL GETUSER bob',
    'a: ACL SETUSER bob nonsense',
    'a: ACL SETUSER bob +nosuch',
    'a: ACL SETUSER bob +@nosuch',
    'a: ACL SETUSER bob <none',
    'a: ACL SETUSER bob #abc',
    'a: ACL SETUSER bob ~* ~x',
    'a: ACL SETUSER bob %RR~x',
    'a: ACL SETUSER bob %wr~x %w~y',
    'a: ACL SETUSER bob (%WW~x +get)',
    'a: ACL SETUSER bob allkeys allchannels',
    'a: ACL SETUSER bob &x',
    'a: ACL SETUSER bob (~x +get) (~y',
    'a: ACL SETUSER bob (~x +get)',
    'a: ACL GETUSER bob',
    'a: ACL SETUSER bob clearselectors resetpass resetkeys resetchannels nocommands off',
    'a: ACL LIST',
    'a: ACL GETUSER nobody',
    'a: ACL USERS',
    'a: ACL WHOAMI',
    'a: ACL DELUSER bob nobody',
    'a: ACL DELUSER default',
    'a: ACL NOSUCH',
    'a: ACL SETUSER',
    'a: ACL GENPASS 0',
    'a: ACL GENPASS x',
    'a: ACL CAT nosuch',
    'a: ACL LOAD',
    'a: ACL SAVE',
  ],
  'rules beyond ASCII are shown as they came': [
    'a: ACL SETUSER bob é',
    'a: ACL SETUSER bob +é (~ü',
    'a: ACL SETUSER bob (~ü',
    'a: ACL SETUSER bob #日本 ~k',
    'a: ACL SETUSER bob (%Q~é)',
    'a: ACL SETUSER bob on nopass ~ключ* +select|É',
    'a: ACL GETUSER bob',
    'a: ACL SETUSER bob +get',
    'a: ACL DRYRUN é GET k',
    'a: ACL DRYRUN bob SELECT é',
    'a: ACL DRYRUN bob SELECT É',
    'a: ACL DRYRUN bob GET ключ',
  ],
  'what all is said of comes before what is wrong': [
    'a: ACL SETUSER bob ~* %Q~x',
    'a: ACL SETUSER bob %R~x %~x',
    'a: ACL SETUSER bob allkeys ~x\0y',
    'a: ACL SETUSER bob allchannels &x\0y',
    'a: ACL SETUSER bob &x\0y',
  ],
  'what a user may is tried': [
    'a: ACL SETUSER bob on nopass ~k* %R~r* %W~w* &c* +@all -@dangerous',
    'a: ACL DRYRUN bob GET k',
    'a: ACL DRYRUN bob GET x',
    'a: ACL DRYRUN bob GET w',
    'a: ACL DRYRUN bob SET w v',
    'a: ACL DRYRUN bob SET r v',
    'a: ACL DRYRUN bob COPY r w',
    'a: ACL DRYRUN bob COPY w r',
    'a: ACL DRYRUN bob FLUSHALL',
    'a: ACL DRYRUN bob CONFIG GET x',
    'a: ACL DRYRUN bob PUBLISH c1 m',
    'a: ACL DRYRUN bob PUBLISH x m',
    'a: ACL DRYRUN bob SUBSCRIBE c1 x',
    'a: ACL DRYRUN bob PSUBSCRIBE c*',
    'a: ACL DRYRUN bob PSUBSCRIBE c1*',
    'a: ACL DRYRUN bob GET',
    'a: ACL DRYRUN bob NOSUCH',
    'a: ACL DRYRUN bob CLIENT NOSUCH',
    'a: ACL DRYRUN bob CLIENT ID',
    'a: ACL SETUSER bob +debug|nosuch +debug|object',
    'a: ACL SETUSER bob +debug|a|b',
    'a: ACL DRYRUN nobody GET k',
    'a: ACL DRYRUN bob',
    'a: ACL DRYRUN bob MSET k 1 x 2',
    'a: ACL DRYRUN bob SORT k BY w_*',
  ],
  'SORT reads other keys for those alone who may read all': [
    'a: RPUSH k 2 1',
    'a: ACL SETUSER bob on nopass ~k +@all',
    'b: AUTH bob x',
    'b: SORT k BY nosort GET w_*',
    'b: SORT_RO k ALPHA GET # GET w_*',
    'b: SORT k GET #',
    'b: SORT k BY nosort GET w_* STORE k',
    'b: SORT k BY w_* GET #',
    'b: SORT k BY nosort',
    'b: SORT k BY nosort STORE k',
    'b: SORT k ALPHA BY nosort LIMIT 0 1 DESC BY w_*',
    'b: SORT k BY',
    'b: SORT k foo GET w_*',
    'b: SORT k BY w_* STORE x',
    'b: MULTI',
    'b: SORT k GET w_*',
    'b: EXEC',
    'b: ACL LOG',
    'a: ACL SETUSER bob resetkeys %R~* %W~{k}w',
    'b: SORT k GET #',
    'b: SORT k GET # STORE {k}w',
    'b: SORT k GET # STORE k',
    'a: ACL SETUSER bob reset on nopass ~k +@all (%R~* +sort) (%W~* +sort_ro)',
    'b: SORT k GET #',
    'b: SORT_RO k GET #',
  ],
  'rules may name what only Redis has': [
    'a: ACL SETUSER bob on +@all -eval -xadd -script|flush +migrate -function -replicaof',
    'a: ACL SETUSER bob +xgroup|create -xgroup',
    'a: ACL SETUSER bob -evals',
    'a: ACL SETUSER bob -script|nothing',
  ],
  'who deletes its own user hears that it did, and is closed': [
    'a: ACL SETUSER bob (+get ~a b',
    'a: ACL SETUSER bob on nopass ~k +@all',
    'b: AUTH bob x',
    'b: ACL DELUSER bob',
    'a: ACL LIST',
  ],
  'refusals are told and logged': [
    'a: ACL SETUSER bob on >pw ~k* &c* +@all -flushall -config|set -client|kill',
    'b: AUTH bob wrong',
    'b: auth bob wrong',
    'b: HELLO 2 AUTH nobody x',
    'b: AUTH bob pw',
    'b: FLUSHALL',
    'b: FLUSHALL',
    'b: CONFIG SET maxclients 1',
    'b: CLIENT KILL ID 1',
    'b: GET x',
    'b: MGET k x',
    'b: PUBLISH x m',
    'b: MULTI',
    'b: GET x',
    'b: EXEC',
    'a: ACL LOG',
    'a: ACL LOG 2',
    'a: ACL LOG RESET',
    'a: ACL LOG',
  ],
  'shard channels are channels and no keys': [
    'a: ACL SETUSER bob on nopass +@all ~k* resetchannels &c',
    'b: AUTH bob x',
    'b: SPUBLISH c m',
    'b: SPUBLISH k m',
    'b: SPUBLISH x m',
    'b: SSUBSCRIBE k',
    'b: SSUBSCRIBE c',
    'b: SUNSUBSCRIBE c',
    'b: SUNSUBSCRIBE x',
    'a: ACL DRYRUN bob SPUBLISH c m',
    'a: ACL DRYRUN bob SPUBLISH x m',
    'a: ACL DRYRUN bob SSUBSCRIBE c x',
    'a: ACL DRYRUN bob SUNSUBSCRIBE x',
    'a: ACL LOG',
  ],
  'the log of refusals is as long as acllog-max-len': [
    'a: CONFIG GET acllog-max-len',
    'a: CONFIG SET acllog-max-len 2',
    'a: ACL SETUSER bob on nopass ~k +@all',
    'b: AUTH bob x',
    'b: GET x1',
    'b: GET x2',
    'b: GET x3',
    'a: ACL LOG',
    'a: CONFIG SET acllog-max-len 0',
    'a: ACL LOG',
    'b: GET x4',
    'a: ACL LOG',
    'a: CONFIG SET acllog-max-len x',
    'a: CONFIG SET acllog-max-len 128',
    'a: CONFIG GET acl-pubsub-default',
    'a: CONFIG GET latency-tracking',
    'a: CONFIG GET latency-tracking-info-percentiles',
  ],
  'EXEC asks again': [
    'a: ACL SETUSER bob on nopass ~* &* +@all',
    'b: AUTH bob x',
    'b: MULTI',
    'b: SET {t}k 1',
    'b: GET {t}x',
    'b: PUBLISH c m',
    'b: INCR {t}k',
    'b: PING',
    'a: ACL SETUSER bob resetkeys ~{t}k resetchannels &d -incr -ping',
    'b: EXEC',
    'a: GET {t}k',
    'b: MULTI',
    'b: EXEC now',
    'b: EXEC now',
    'b: EXEC',
    'b: MULTI',
    'b: GET {t}k',
    'a: ACL SETUSER bob -@all',
    'b: EXEC',
    'a: ACL LOG',
  ],
};

/** Without what says who is connected from where, and when. */
const UNLIKE = ['age-seconds', 'client-info', 'entry-id', 'timestamp-created'];
const unlike = new Set([...UNLIKE, 'timestamp-last-updated']);

function textOf(reply: Reply): string {
  if (reply.kind === 'bulk') return `"${reply.bytes}"`;
  if (reply.kind !== 'array')
    return JSON.stringify(reply, (_, value) => String(value)) && flat(reply);
  const { items } = reply;
  const parts: string[] = [];
  for (let at = 0; at < items.length; at++) {
    const text = textOf(items[at]!);
    if (unlike.has(text.slice(1, -1))) at++;
    else parts.push(text);
  }
  return `[${parts.join(' ')}]`;
}

function flat(reply: Reply): string {
  if (reply.kind === 'error' || reply.kind === 'simple') return `${reply.kind} ${reply.text}`;
  return reply.kind === 'integer' ? `:${reply.value}` : reply.kind;
}

async function answers(to: string | number, script: readonly string[]): Promise<string[]> {
  const clients = new Map<string, Oracle>();
  const texts: string[] = [];
  for (const line of script) {
    const [name = '', command = ''] = line.split(': ');
    const client = clients.get(name) ?? (await Oracle.connect(to, 2));
    clients.set(name, client);
    const reply = await client.call(command.split(' ').map((word) => Buffer.from(word)));
    texts.push(`${line} -> ${textOf(decodeReply(reply))}`);
  }
  for (const client of clients.values()) client.close();
  return texts;
}

describe.skipIf(!hasRedis)('users as redis-server has them', () => {
  const servers = besideRedis(openDoors);

  test.each(Object.entries(scripts))('%s', async (_, script) => {
    const reset = ['x: ACL DELUSER bob', 'x: ACL LOG RESET', 'x: FLUSHALL'];
    await answers(servers.theirs, reset);
    await answers(servers.ours, reset);
    expect(await answers(servers.ours, script)).toEqual(await answers(servers.theirs, script));
  });

  const words = (count: number) => ['MGET', ...Array.from({ length: count - 1 }, () => 'k')];
  const ofBytes = (length: number) => `GET ${'k'.repeat(length)}`;
  test.each([
    ['ten arguments', [words(10).join(' ')]],
    ['eleven', [words(11).join(' ')]],
    ['an argument of 16 KiB', [ofBytes(16_384)]],
    ['a longer one', [ofBytes(16_385)]],
    ['a wrong password, then more', ['AUTH wrong', words(11).join(' ')]],
    ['the password, then more', ['AUTH pw', words(11).join(' '), ofBytes(20_000)]],
    ['the password, taken back', ['AUTH pw', 'RESET', words(11).join(' ')]],
  ] as const)('before a client has said who it is: %s', async (_, lines) => {
    const texts: string[] = [];
    for (const door of [servers.ours, servers.theirs]) {
      const admin = await RawClient.open(door);
      await admin.ask('CONFIG SET requirepass pw', '+OK\r\n');
      const client = await RawClient.open(door);
      client.send(...lines, 'QUIT');
      await client.until(() => client.closed);
      texts.push(client.text);
      await admin.ask('CONFIG SET requirepass ', '+OK\r\n');
      admin.end();
    }
    expect(texts[0]).toBe(texts[1]);
  });

  test('commands are of the same categories', async () => {
    const shared = async (category: string) => {
      const reply = await servers.redis.call('ACL', 'CAT', category);
      const names = reply.kind === 'array' ? reply.items.map((item) => textOf(item)) : [];
      return names
        .map((name) => name.slice(1, -1))
        .filter(isKnown)
        .sort();
    };
    const all = await servers.redis.call('ACL', 'CAT');
    expect(textOf(all)).toBe(`[${aclCategories.map((name) => `"${name}"`).join(' ')}]`);
    const known = new Set((await Promise.all(aclCategories.map(shared))).flat());
    const client = await Oracle.connect(servers.ours, 2);
    for (const category of aclCategories) {
      const reply = decodeReply(
        await client.call(['ACL', 'CAT', category].map((w) => Buffer.from(w))),
      );
      const names =
        reply.kind === 'array' ? reply.items.map((item) => textOf(item).slice(1, -1)) : [];
      const ours = names.filter((name) => known.has(name)).sort();
      expect(ours, category).toEqual(await shared(category));
    }
    client.close();
  });

  test.each([
    ['SUBSCRIBE news', 'resetchannels &n*', false],
    ['SUBSCRIBE news', 'resetchannels &o*', true],
    ['PSUBSCRIBE n*', 'resetchannels &n*', false],
    ['PSUBSCRIBE n?', 'resetchannels &n*', true],
    ['SSUBSCRIBE news', 'resetchannels', true],
    ['SUBSCRIBE news', 'resetchannels (&news)', false],
    ['PING', 'resetchannels', false],
  ])('%s, then %s: disconnected: %s', async (subscribe, rules, closes) => {
    for (const door of [servers.ours, servers.theirs]) {
      const admin = await RawClient.open(door);
      await admin.ask('ACL SETUSER sue reset on nopass ~* &* +@all', '+OK\r\n');
      const sue = await RawClient.open(door);
      await sue.ask('AUTH sue x', '+OK\r\n');
      await sue.ask(subscribe, subscribe === 'PING' ? '+PONG\r\n' : '*3\r\n');
      await admin.ask(`ACL SETUSER sue ${rules}`, '+OK\r\n');
      if (closes) await sue.until(() => sue.closed);
      else
        expect(await sue.ask('PING', '+PONG\r\n')).toContain(
          subscribe === 'PING' ? 'PONG' : 'pong',
        );
      await admin.ask('ACL DELUSER sue', ':1\r\n');
      await sue.until(() => sue.closed);
      admin.end();
    }
  });
});

function isKnown(name: string): boolean {
  const [container = '', sub] = name.split('|');
  const row = commandTable.get(container);
  return sub === undefined
    ? row !== undefined
    : row?.subcommands?.some((one) => one.name === name) === true;
}
