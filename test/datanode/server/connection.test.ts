import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { type Doors, openDoors, RawClient, wire } from './doors.ts';

let doors: Doors;
let client: RawClient;

beforeEach(async () => {
  doors = await openDoors(4);
  client = await RawClient.open(doors.gateway);
});

afterEach(async () => {
  client.end();
  await doors.close();
});

// Keys of four partitions: slots 15495 (a), 3300 (b), 7365 (c), 11298 (d).
const [a, b, c, d] = [3, 0, 1, 2];

function callsOf(name: string): number {
  for (const [row, { calls }] of doors.server.info().commandStats) if (row === name) return calls;
  return 0;
}

describe('order', () => {
  test('a pipeline over several partitions is answered in the order sent', async () => {
    const openA = doors.partitions[a]!.shut();
    client.send('SET a 1', 'SET b 2', 'GET a', 'GET b', 'PING');
    await client.until(() => doors.partitions[b]!.batches.length === 2);
    expect(client.text).toBe('');
    openA();
    await client.until((text) => text.endsWith('+PONG\r\n'));
    expect(client.text).toBe('+OK\r\n+OK\r\n$1\r\n1\r\n$1\r\n2\r\n+PONG\r\n');
  });

  test('a pipeline reaches a partition as batches of one kind', async () => {
    client.send('SET a 1', 'SET a 2', 'GET a', 'GET a', 'SET a 3');
    await client.until((text) => text.split('\r\n').length > 7);
    const kinds = doors.partitions[a]!.batches.map(({ kind, lines }) => `${kind} ${lines.length}`);
    expect(kinds).toEqual(['write 2', 'read 2', 'write 1']);
  });

  test('what is not for one partition waits for all before it and holds back all after', async () => {
    const open = doors.partitions[b]!.shut();
    client.send('SET b 1', 'DBSIZE', 'SET a 1');
    await client.until(() => doors.partitions[b]!.batches.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(doors.partitions[a]!.batches).toHaveLength(0);
    open();
    expect(await client.until((text) => text.split('\r\n').length > 3)).toBe(
      '+OK\r\n:1\r\n+OK\r\n',
    );
  });
});

describe('a request of thousands of arguments', () => {
  const many = (count: number, value: string) =>
    ['MSET', ...Array.from({ length: count }, (_, at) => `{a}${at} ${value}`)].join(' ');

  test('has its place among the others', async () => {
    const mget = ['MGET', ...Array.from({ length: 3_000 }, (_, at) => `{a}${at}`)].join(' ');
    client.send('SET a 1', many(3_000, 'x'), 'GET {a}2999', mget, many(4_000, 'y'), 'GET {a}0');
    const values = '$1\r\nx\r\n'.repeat(3_000);
    const wanted = `+OK\r\n+OK\r\n$1\r\nx\r\n*3000\r\n${values}+OK\r\n$1\r\ny\r\n`;
    await client.until((text) => text.length >= wanted.length);
    expect(client.text === wanted).toBe(true);
  });
});

describe('several partitions', () => {
  test('MSET, MGET, DEL, EXISTS, TOUCH, UNLINK and DBSIZE go to all of them', async () => {
    expect(await client.ask('MSET a 1 b 2 c 3 d 4', '+OK\r\n')).toBe('+OK\r\n');
    expect(await client.ask('MGET d x a b c', '*')).toBe(
      '*5\r\n$1\r\n4\r\n$-1\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n',
    );
    expect(await client.ask('EXISTS a b c d x', ':4\r\n')).toBe(':4\r\n');
    expect(await client.ask('DBSIZE', ':4\r\n')).toBe(':4\r\n');
    expect(await client.ask('CLUSTER COUNTKEYSINSLOT 15495', ':1\r\n')).toBe(':1\r\n');
    expect(await client.ask('TOUCH a b x', ':2\r\n')).toBe(':2\r\n');
    expect(await client.ask('DEL a b x', ':2\r\n')).toBe(':2\r\n');
    expect(await client.ask('UNLINK c d', ':2\r\n')).toBe(':2\r\n');
    expect(doors.partitions.every(({ batches }) => batches.length > 0)).toBe(true);
  });

  test('MSETEX goes to all of them, unless all its keys are looked at first', async () => {
    expect(await client.ask('MSETEX 4 a 1 b 2 c 3 d 4 PXAT 99999999999999', ':1\r\n')).toBe(
      ':1\r\n',
    );
    expect(await client.ask('MGET a b c d', '*4')).toBe(
      '*4\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n',
    );
    for (const key of ['a', 'b', 'c', 'd']) {
      expect(await client.ask(`PEXPIRETIME ${key}`, ':')).toBe(':99999999999999\r\n');
    }
    for (const condition of ['NX', 'XX', 'EX 100 xx']) {
      const refusal = await client.ask(`MSETEX 2 a 5 b 6 ${condition}`, '-CROSSSLOT');
      expect(refusal).toMatch(/^-CROSSSLOT/);
    }
    expect(await client.ask('MSETEX 2 {a}1 5 {a}2 6 NX', ':1\r\n')).toBe(':1\r\n');
    expect(await client.ask('GET a', '$1')).toBe('$1\r\n1\r\n');
  });

  test('an MSETEX carried out in part names what was done and what not', async () => {
    doors.partitions[b]!.faults.push({ after: 0, code: 'CONFLICT' });
    const text = await client.ask('MSETEX 2 a 1 b 2 EX 100', '-PARTIALOUTCOME');
    expect(text).toContain("done for 'a'; not done for 'b'; unknown for none");
    doors.partitions[b]!.faults.push({ after: 0, code: 'OUTCOME_UNKNOWN' });
    const other = await client.ask('MSETEX 2 a 1 b 2 EX 100', '-PARTIALOUTCOME');
    expect(other).toContain("done for 'a'; not done for none; unknown for 'b'");
  });

  test('KEYS and SCAN find the keys of all of them', async () => {
    await client.ask('MSET a 1 b 2 c 3 d 4', '+OK\r\n');
    const all = await client.ask('KEYS *', '*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n');
    expect(all.match(/[abcd](?=\r)/g)!.sort()).toEqual(['a', 'b', 'c', 'd']);
    const found: string[] = [];
    let cursor = '0';
    do {
      const text = await client.ask(`SCAN ${cursor} COUNT 1`, '*2\r\n$1\r\n0\r\n*0\r\n');
      cursor = text.split('\r\n')[2]!;
      found.push(
        ...(text
          .split('\r\n')
          .slice(3)
          .join(' ')
          .match(/\b[abcd]\b/g) ?? []),
      );
    } while (cursor !== '0' && found.length < 100);
    expect(found.sort()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('other commands over several partitions are refused with the remedy', async () => {
    const text = await client.ask('RENAME a b', '-CROSSSLOT');
    await client.until((all) => all.endsWith('\r\n'));
    expect(text).toMatch(/^-CROSSSLOT Keys in request don't hash to the same slot.*\{user1\}/);
  });

  test('an MSET carried out in part names what was done and what not', async () => {
    doors.partitions[b]!.faults.push({ after: 0, code: 'CONFLICT' });
    // CLUSTERDOWN would have it sent again, and the part that is done carried out twice
    const text = await client.ask('MSET a 1 b 2', '-PARTIALOUTCOME');
    expect(text).toContain("done for 'a'; not done for 'b'; unknown for none");
  });

  test('an MGET of which a part is refused is answered by the refusal alone', async () => {
    doors.partitions[b]!.faults.push({ after: 0, code: 'CONFLICT' });
    const text = await client.ask('MGET a b', '\r\n');
    expect(text).toBe('-ERR as the script says\r\n');
  });

  test('an MSET of which a part is not known names it, on a connection that stays', async () => {
    doors.partitions[b]!.faults.push({ after: 0, code: 'OUTCOME_UNKNOWN' });
    const text = await client.ask('MSET a 1 b 2', '-PARTIALOUTCOME');
    expect(text).toContain("done for 'a'; not done for none; unknown for 'b'");
    expect(await client.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
  });
});

describe('bad requests', () => {
  test.each([
    ['NOPE x y', "-ERR unknown command 'NOPE', with args beginning with: 'x' 'y' \r\n"],
    ['GET', "-ERR wrong number of arguments for 'get' command\r\n"],
    ['SET a b EX zero', '-ERR value is not an integer or out of range\r\n'],
    ['SCAN x', '-ERR invalid cursor\r\n'],
  ])('%s', async (command, answer) => {
    expect(await client.ask(command, answer)).toBe(answer);
  });

  // Redisson sends it again, for ever, while the error begins as that of an unknown command

  test('a protocol error is answered after the replies before it, and closes', async () => {
    client.socket.write(`${wire('SET a 1')}*1\r\n:5\r\n${wire('SET a 2')}`);
    await client.until(() => client.closed);
    expect(client.text).toBe("+OK\r\n-ERR Protocol error: expected '$', got ':'\r\n");
    const other = await RawClient.open(doors.gateway);
    expect(await other.ask('GET a', '$1\r\n1\r\n')).toBe('$1\r\n1\r\n');
    other.end();
  });

  test('AUTH that is held back by a pause lets large requests follow it', async () => {
    await client.ask('CONFIG SET requirepass pw', '+OK\r\n');
    await client.ask('CLIENT PAUSE 60000 ALL', '+OK\r\n');
    const other = await RawClient.open(doors.gateway);
    other.send('AUTH pw', `MGET ${'k '.repeat(20)}k`, 'QUIT');
    await client.ask('CLIENT UNPAUSE', '+OK\r\n');
    await other.until(() => other.closed);
    expect(other.text).toMatch(/^\+OK\r\n\*21\r\n(?:\$-1\r\n){21}\+OK\r\n$/);
    await client.ask('ACL SETUSER default nopass', '+OK\r\n');
  });

  test.each([':', '\xff', '\xc3\xa9', '\r\n'])('a protocol error repeats %j', async (found) => {
    client.socket.write(Buffer.from(`*1\r\n${found}\r\n`, 'latin1'));
    await client.until(() => client.closed);
    const [shown] = found.replace('\r', ' ');
    expect(client.text).toBe(`-ERR Protocol error: expected '$', got '${shown}'\r\n`);
  });

  test.each(['POST / HTTP/1.1\r\n', 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n', wire('post a')])(
    '%j of a browser is the last of its connection',
    async (request) => {
      client.socket.write(`${request}${wire('SET a 1')}`);
      await client.until(() => client.closed);
      const other = await RawClient.open(doors.gateway);
      expect(await other.ask('GET a', '$-1\r\n')).toBe('$-1\r\n');
      other.end();
    },
  );

  test.each(['SET b 1', 'DBSIZE', 'PING'])('behind %s and QUIT nothing runs', async (first) => {
    client.send(first, 'QUIT', 'SET a 1', 'PING');
    await client.until(() => client.closed);
    expect(client.text).toMatch(/^[^\r]+\r\n\+OK\r\n$/);
    const other = await RawClient.open(doors.gateway);
    expect(await other.ask('GET a', '$-1\r\n')).toBe('$-1\r\n');
    other.end();
  });

  test('an argument beyond the value limit is refused and the connection stays', async () => {
    client.end();
    await doors.close();
    doors = await openDoors(4, { valueBytesMax: 10 });
    client = await RawClient.open(doors.gateway);
    const text = await client.ask('SET a 12345678901', '-ERR an argument of 11 bytes');
    expect(text).toContain('value-bytes-max (10)');
    await client.until((all) => all.endsWith('\r\n'));
    expect(await client.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
  });

  test('a read that answers more than the reply limit is refused, a write never', async () => {
    client.end();
    await doors.close();
    doors = await openDoors(4, { replyBytesMax: 100 });
    client = await RawClient.open(doors.gateway);
    const value = 'v'.repeat(60);
    const tooLarge =
      '-ERR the reply would be larger than reply-bytes-max (100 bytes); ' +
      'use a command that reads it in parts\r\n';
    client.send(`MSET a ${value} b ${value} long ${value}${value}`);
    client.send('MGET a b', 'GET a', 'GET long', 'GETSET long x', 'CONFIG GET reply-bytes-max');
    expect(await client.until((all) => all.endsWith('$3\r\n100\r\n'))).toBe(
      `+OK\r\n${tooLarge}$60\r\n${value}\r\n${tooLarge}$120\r\n${value}${value}\r\n` +
        '*2\r\n$15\r\nreply-bytes-max\r\n$3\r\n100\r\n',
    );
  });
});

describe('faults', () => {
  test('what was not proposed is sent again in its order and the client sees nothing', async () => {
    doors.partitions[a]!.faults.push({ after: 1, code: 'NOT_LEADER' });
    client.send('SET a 1', 'APPEND a 2', 'APPEND a 3', 'GET a');
    await client.until((text) => text.endsWith('$3\r\n123\r\n'));
    expect(client.text).toBe('+OK\r\n:2\r\n:3\r\n$3\r\n123\r\n');
  });

  test('a write of unknown outcome ends its connection, once what is before it is answered', async () => {
    const open = doors.partitions[b]!.shut();
    doors.partitions[a]!.faults.push({ after: 1, code: 'OUTCOME_UNKNOWN', rest: 'NOT_LEADER' });
    client.send('SET b 1', 'SET a 1', 'APPEND a 2', 'APPEND a 3', 'SET c 1');
    await client.until(() => doors.partitions[c]!.batches.length === 1);
    expect(client.text).toBe('');
    open();
    await client.until(() => client.closed);
    expect(client.text).toBe('+OK\r\n+OK\r\n');
    const other = await RawClient.open(doors.gateway);
    // what was not asked for by a reply is counted as Redis counts errors
    const text = await other.ask('INFO errorstats', '$');
    await other.until((all) => all.includes('errorstat_UNKNOWNOUTCOME:count=1'));
    expect(text).toBeDefined();
    other.end();
  });

  test('who sends under a session is told so, and may ask again', async () => {
    doors.partitions[a]!.faults.push({ after: 0, code: 'OUTCOME_UNKNOWN' });
    const once = 'KV.ONCE session-1 1 1 SET a 1';
    expect(await client.ask(once, '-UNKNOWN')).toMatch(/^-UNKNOWNOUTCOME /);
    expect(await client.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
  });

  test('who wants no replies keeps the connection', async () => {
    doors.partitions[a]!.faults.push({ after: 0, code: 'OUTCOME_UNKNOWN' });
    client.send('CLIENT REPLY OFF', 'SET a 1', 'CLIENT REPLY ON');
    expect(await client.until((text) => text.length > 0)).toBe('+OK\r\n');
    expect(client.closed).toBe(false);
  });

  test('a read of unknown outcome is simply read again', async () => {
    doors.partitions[a]!.faults.push({ after: 0, code: 'CONNECTION_LOST' });
    expect(await client.ask('GET a', '$-1\r\n')).toBe('$-1\r\n');
  });

  test('without a leader requests are held until there is one', async () => {
    doors.partitions[a]!.isLeader = false;
    client.send('SET a 1', 'GET a');
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(client.text).toBe('');
    doors.partitions[a]!.isLeader = true;
    doors.routes.setLeader(a + 1, 'a', 2);
    expect(await client.until((text) => text.length >= 12)).toBe('+OK\r\n$1\r\n1\r\n');
  });

  test('held too long they are refused, and nothing overtakes', async () => {
    client.end();
    await doors.close();
    doors = await openDoors(4, { holdMs: 100 });
    client = await RawClient.open(doors.gateway);
    doors.partitions[a]!.isLeader = false;
    client.send('SET a 1', 'GET a', 'GET b');
    await client.until((text) => text.endsWith('$-1\r\n'));
    expect(client.text.match(/-CLUSTERDOWN partition 3 of default/g)).toHaveLength(2);
  });
});

test('a partition is told when the client of a read has gone', async () => {
  const open = doors.partitions[a]!.shut();
  client.send('LRANGE {a}l 0 -1');
  await client.until(() => doors.partitions[a]!.batches.length === 1);
  const { asker } = doors.partitions[a]!.batches[0]!;
  expect(asker?.isGone).toBe(false);
  const other = await RawClient.open(doors.gateway);
  await other.ask('CLIENT KILL TYPE normal', ':1\r\n');
  other.end();
  await expect.poll(() => asker?.isGone).toBe(true);
  open();
});

test('a deep pipeline of writes and reads is not late while it is answered', async () => {
  client.end();
  await doors.close();
  doors = await openDoors(4, { holdMs: 200 });
  client = await RawClient.open(doors.gateway);
  doors.partitions[a]!.batchMs = 10;
  const pairs = Array.from({ length: 40 }, () => ['SET a 1', 'GET a']).flat();
  client.send(...pairs);
  const text = await client.until((all) => (all.match(/\n/g) ?? []).length >= 40 * 3);
  expect(text).toBe('+OK\r\n$1\r\n1\r\n'.repeat(40));
  expect(doors.partitions[a]!.batches.length).toBe(80);
});

describe('the cluster door', () => {
  test('redirects what another node leads and never to itself', async () => {
    const cluster = await RawClient.open(doors.cluster);
    doors.partitions[a]!.isLeader = false;
    doors.routes.setLeader(a + 1, 'b', 2);
    expect(await cluster.ask('SET a 1', '-MOVED 15495 127.0.0.1:7002\r\n')).toBe(
      '-MOVED 15495 127.0.0.1:7002\r\n',
    );
    doors.routes.setLeader(a + 1, 'a', 3);
    cluster.send('SET a 1');
    await new Promise((resolve) => setTimeout(resolve, 60));
    doors.partitions[a]!.isLeader = true;
    expect(await cluster.until((text) => text.endsWith('+OK\r\n'))).toMatch(/^-MOVED.*\r\n\+OK/);
    cluster.end();
  });

  test('counts, scans and flushes only what this node leads', async () => {
    await client.ask('MSET a 1 b 2 c 3 d 4', '+OK\r\n');
    doors.partitions[a]!.isLeader = false;
    doors.partitions[d]!.isLeader = false;
    const cluster = await RawClient.open(doors.cluster);
    expect(await cluster.ask('DBSIZE', ':2\r\n')).toBe(':2\r\n');
    const keys = await cluster.ask('KEYS *', '*2\r\n$1\r\nb\r\n$1\r\nc\r\n');
    for (const [slot, found] of [
      [3_300, '*1\r\n$1\r\nb\r\n'],
      [15_495, '*0\r\n'],
    ] as const) {
      const count = `:${found[1]}\r\n`;
      expect(await cluster.ask(`CLUSTER COUNTKEYSINSLOT ${slot}`, count)).toBe(count);
      expect(await cluster.ask(`CLUSTER GETKEYSINSLOT ${slot} 9`, found)).toBe(found);
    }
    expect(keys.match(/[abcd](?=\r)/g)!.sort()).toEqual(['b', 'c']);
    doors.partitions[a]!.isLeader = true;
    doors.partitions[b]!.isLeader = false;
    expect(await cluster.ask('SCAN 0 COUNT 100', '*2\r\n')).toMatch(/c\r\n$/);
    cluster.end();
    expect(doors.partitions[c]!.isLeader).toBe(true);
  });

  test('keys of several partitions are refused there', async () => {
    const cluster = await RawClient.open(doors.cluster);
    expect(await cluster.ask('MGET a b', '-CROSSSLOT')).toMatch(/^-CROSSSLOT/);
    cluster.end();
  });
});

describe('bounds', () => {
  test('a client beyond maxclients is told and closed', async () => {
    client.end();
    await doors.close();
    doors = await openDoors(4, { clientsMax: 1 });
    client = await RawClient.open(doors.gateway);
    const second = await RawClient.open(doors.gateway);
    await second.until(() => second.closed);
    expect(second.text).toBe('-ERR max number of clients reached\r\n');
    expect(await client.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
  });

  test('the system may have room for fewer than maxclients, which CONFIG tells and does not pass', async () => {
    client.end();
    await doors.close();
    doors = await openDoors(4, {}, 'slots', 2);
    client = await RawClient.open(doors.gateway);
    const shown = await client.ask('CONFIG GET maxclients', '$1\r\n2\r\n');
    expect(shown).toBe('*2\r\n$10\r\nmaxclients\r\n$1\r\n2\r\n');
    expect(doors.server.info().clientsMax).toBe(2);
    const second = await RawClient.open(doors.gateway);
    expect(await second.ask('CONFIG SET maxclients 3', 'try with 2\r\n')).toMatch(
      /'maxclients'\) - The operating system is not able to handle the specified number of clients/,
    );
    const third = await RawClient.open(doors.gateway);
    await third.until(() => third.closed);
    expect(third.text).toBe('-ERR max number of clients reached\r\n');
    expect(await second.ask('CONFIG SET maxclients 2', '+OK\r\n')).toMatch(/\+OK\r\n$/);
    second.end();
  });

  test('of many clients beyond maxclients only a few are told, so that few files are held', async () => {
    client.end();
    await doors.close();
    doors = await openDoors(4, { clientsMax: 1 });
    client = await RawClient.open(doors.gateway);
    const startedMs = performance.now();
    // none of them closes its side: whoever was told is waited for
    const beyond = Array.from({ length: 60 }, () =>
      connect({ port: doors.gateway, host: '127.0.0.1', allowHalfOpen: true }),
    );
    let told = 0;
    for (const socket of beyond) socket.on('error', () => {}).on('data', () => told++);
    await expect.poll(() => doors.server.info().rejectedConnections).toBe(60);
    // on a busy machine some have been waited for, and left, before the last of them came
    const waits = 1 + Math.floor((performance.now() - startedMs) / limits.closeLingerMs);
    await expect.poll(() => told).toBeGreaterThan(0);
    // and others are told once those have gone
    const isTold = async () => {
      const later = await RawClient.open(doors.gateway);
      await later.until(() => later.closed);
      return later.text;
    };
    await expect.poll(isTold).toBe('-ERR max number of clients reached\r\n');
    expect(told).toBeLessThanOrEqual(limits.clientsRefusedMax * waits);
    for (const socket of beyond) socket.destroy();
  });

  test('a client that does not read its replies is not read any further', async () => {
    const value = 'v'.repeat(20_000);
    await client.ask(`SET a ${value}`, '+OK\r\n');
    client.socket.pause();
    const asked = 4_000;
    client.send(...Array.from({ length: asked }, () => 'GET a'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const read = doors.partitions[a]!.batches.reduce(
      (sum, { kind, lines }) => sum + (kind === 'read' ? lines.length : 0),
      0,
    );
    expect(read).toBeLessThanOrEqual(1_024);
    client.socket.resume();
    const answer = value.length + '$20000\r\n\r\n'.length;
    await client.until((text) => text.length === '+OK\r\n'.length + asked * answer);
  });

  test('large reads of many partitions at once do not close a client that takes them', async () => {
    client.end();
    await doors.close();
    const count = 20;
    doors = await openDoors(count);
    const keys = new Map<number, string>();
    for (let at = 0; keys.size < count; at++) {
      keys.set(doors.routes.partitionOfKey('default', Buffer.from(`k${at}`))!, `k${at}`);
    }
    const value = 'v'.repeat(15 * 1_048_576);
    const bytes = Buffer.from(`$${value.length}\r\n${value}\r\n`);
    const reads: number[] = [];
    const [, ...others] = keys.keys();
    const open = [...keys.keys()].map((at) => doors.partitions[at]!.shut());
    for (const at of keys.keys()) {
      const partition = doors.partitions[at]!;
      partition.execute = async ({ lines }) => {
        reads.push(at);
        await partition.gate;
        return lines.map(() => ({ ok: true, reply: { kind: 'encoded', bytes } }));
      };
    }
    const reader = connect(doors.gateway, '127.0.0.1');
    let [taken, isClosed] = [0, false];
    reader.on('data', (chunk) => {
      taken += chunk.length;
    });
    reader.on('close', () => {
      isClosed = true;
    });
    reader.write([...keys.values()].map((key) => wire(`GET ${key}`)).join(''));
    await expect.poll(() => reads.length).toBe(count);
    // the first answers last
    for (const each of open.slice(1)) each();
    await new Promise((resolve) => setImmediate(resolve));
    open[0]!();
    const wanted = count * bytes.length;
    await expect.poll(() => isClosed || taken === wanted, { timeout: 20_000 }).toBe(true);
    expect([isClosed, taken]).toEqual([false, wanted]);
    // those for which there was no room were read again, once
    expect(reads.slice(count).toSorted((x, y) => x - y)).toEqual(
      others.slice(5).toSorted((x, y) => x - y),
    );
    reader.destroy();
  });

  test('thousands of requests in one pipeline are all answered', async () => {
    const count = 20_000;
    client.send(...Array.from({ length: count }, (_, at) => `SET a ${at}`));
    await client.until((text) => text.length === count * 5);
    expect(await client.ask('GET a', '$5\r\n19999\r\n')).toBe('$5\r\n19999\r\n');
  });

  test('a pipeline of commands of the node leaves other clients their turns', async () => {
    const count = 2_000;
    client.send(...Array.from({ length: count }, () => 'INFO'), 'ECHO end');
    let [before, most] = [0, 0];
    while (before < count) {
      await new Promise((resolve) => setImmediate(resolve));
      const calls = callsOf('info');
      most = Math.max(most, calls - before);
      before = calls;
    }
    // of some 100 microseconds each
    expect(most).toBeLessThan(count / 10);
    await client.until((text) => text.endsWith('end\r\n'));
  });

  test('what a node answers is not made until the client takes it', async () => {
    client.socket.pause();
    // more than the sockets of both ends take in, and the bytes are made already
    const count = 250;
    client.send('INFO', ...Array.from({ length: count }, () => 'COMMAND'), 'ECHO end');
    await expect.poll(() => callsOf('command')).toBeGreaterThan(0);
    const other = await RawClient.open(doors.gateway);
    const list = await other.ask('CLIENT LIST', '$');
    const waiting = Math.max(
      ...[...list.matchAll(/ omem=(\d+) /g)].map(([, bytes]) => Number(bytes)),
    );
    expect(waiting).toBeLessThan(2 * limits.connectionOutputPauseBytes);
    expect(callsOf('command')).toBeLessThan(count);
    client.socket.resume();
    // the last to be made: to look at the end of megabytes, whenever some have come, takes a minute
    await client.until(() => callsOf('echo') === 1);
    await client.until((text) => text.endsWith('end\r\n'));
    expect(callsOf('command')).toBe(count);
    other.end();
  });

  test('a closing server answers what is under way', async () => {
    const open = doors.partitions[a]!.shut();
    client.send('SET a 1');
    await client.until(() => doors.partitions[a]!.batches.length === 1);
    const closed = doors.close();
    open();
    await closed;
    await client.until(() => client.closed);
    expect(client.text).toBe('+OK\r\n');
    doors = await openDoors(1);
  });
});
