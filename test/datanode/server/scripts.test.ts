/** Where scripts run: by their keys, or, of what names none, by the script; and what holds them back. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { slotOfKey } from '../../../src/common/hash.ts';
import { type Doors, openDoors, RawClient } from './doors.ts';

const SCRIPT = 'return';
const SHA = createHash('sha1').update(SCRIPT).digest('hex');
const SLOT = slotOfKey(Buffer.from(SHA));
/** Of four partitions. */
const HOME = Math.floor(SLOT / 4_096);
/** Slot 12182. */
const [KEY, KEYS_HOME] = ['foo', 2];
const CROSSSLOT = /^-CROSSSLOT Keys in request don't hash to the same slot/;

let doors: Doors;
let client: RawClient;
let seen: number[];

beforeEach(async () => {
  doors = await openDoors(4);
  client = await RawClient.open(doors.gateway);
  seen = [0, 0, 0, 0];
});

afterEach(async () => {
  client.end();
  await doors.close();
});

const END = '$3\r\nend\r\n';

async function ask(line: string, of = client): Promise<string> {
  const before = of.text.length;
  of.send(line, 'ECHO end');
  const text = await of.until((all) => all.length > before && all.endsWith(END));
  return text.slice(before, -END.length);
}

/** Which partitions were asked since it was looked last, and with what lines. */
function asked(): Record<number, string[]> {
  const found: Record<number, string[]> = {};
  doors.partitions.forEach(({ batches }, at) => {
    const lines = batches.slice(seen[at]).flatMap((batch) => batch.lines);
    seen[at] = batches.length;
    if (lines.length > 0) found[at] = lines.map((line) => line.map(String).join(' '));
  });
  return found;
}

test('a script without keys runs where EVALSHA of it finds it, in any case', async () => {
  expect(HOME).not.toBe(KEYS_HOME);
  for (const line of [
    `EVAL ${SCRIPT} 0 ${KEY}`,
    `EVALSHA ${SHA} 0`,
    `EVALSHA ${SHA.toUpperCase()} 0`,
    `EVAL_RO ${SCRIPT} 0`,
    `EVALSHA_RO ${SHA} 0`,
  ]) {
    await ask(line);
    expect(asked()).toEqual({ [HOME]: [line] });
  }
});

test('a script with keys runs where they are, at every door; of several partitions it is refused', async () => {
  const cluster = await RawClient.open(doors.cluster);
  for (const of of [client, cluster]) {
    await ask(`EVAL ${SCRIPT} 1 ${KEY} a`, of);
    expect(asked()).toEqual({ [KEYS_HOME]: [`EVAL ${SCRIPT} 1 ${KEY} a`] });
    expect(await ask(`EVAL ${SCRIPT} 2 ${KEY} a`, of)).toMatch(CROSSSLOT);
    expect(await ask(`EVALSHA_RO ${SHA} 2 ${KEY} a`, of)).toMatch(CROSSSLOT);
    expect(asked()).toEqual({});
  }
  cluster.end();
});

test('the cluster port names the leader, and forwards a script without keys to that of its partition', async () => {
  const cluster = await RawClient.open(doors.cluster);
  doors.partitions[HOME]!.isLeader = false;
  doors.routes.setLeader(HOME + 1, 'b', 7);
  const lines = [`EVALSHA ${SHA} 0`, `EVAL ${SCRIPT} 0 a`, `EVAL_RO ${SCRIPT} 0`];
  cluster.send(...lines, 'ECHO end');
  // nobody is at the other end: it is tried again until this node leads
  await new Promise((resolve) => setTimeout(resolve, 50));
  doors.partitions[HOME]!.isLeader = true;
  doors.routes.setLeader(HOME + 1, 'a', 8);
  expect(await cluster.until((all) => all.endsWith(END))).not.toContain('MOVED');
  expect(asked()).toEqual({ [HOME]: lines });
  doors.partitions[HOME]!.isLeader = false;
  doors.routes.setLeader(HOME + 1, 'b', 9);
  await cluster.ask('MULTI', '+OK\r\n');
  expect(await cluster.ask(`EVALSHA ${SHA} 0`, '-MOVED')).toMatch(
    /^-MOVED \d+ 127.0.0.1:7002\r\n$/,
  );
  await cluster.ask('DISCARD', '+OK\r\n');
  doors.partitions[KEYS_HOME]!.isLeader = false;
  doors.routes.setLeader(KEYS_HOME + 1, 'b', 7);
  expect(await ask(`EVAL ${SCRIPT} 1 ${KEY}`, cluster)).toBe('-MOVED 12182 127.0.0.1:7002\r\n');
  cluster.end();
});

test('a follower answers those that only read, for who has sent READONLY', async () => {
  for (const partition of doors.partitions) partition.isLeader = false;
  for (const group of [1, 2, 3, 4]) doors.routes.setLeader(group, 'b', 7);
  const follower = await RawClient.open(doors.follower);
  const moved = '-MOVED 12182 127.0.0.1:7002\r\n';
  expect(await ask(`EVAL_RO ${SCRIPT} 1 ${KEY}`, follower)).toBe(moved);
  await ask('READONLY', follower);
  await ask(`EVAL_RO ${SCRIPT} 1 ${KEY}`, follower);
  expect(asked()).toEqual({ [KEYS_HOME]: [`EVAL_RO ${SCRIPT} 1 ${KEY}`] });
  expect(await ask(`EVAL ${SCRIPT} 1 ${KEY}`, follower)).toBe(moved);
  follower.end();
});

test('SCRIPT LOAD and FLUSH go to all partitions, EXISTS says what all of them have', async () => {
  const sha = await ask(`SCRIPT LOAD ${SCRIPT}`);
  expect(sha).toBe(`$40\r\n${SHA}\r\n`);
  expect(Object.keys(asked())).toEqual(['0', '1', '2', '3']);
  expect(await ask(`SCRIPT EXISTS ${SHA} ${'0'.repeat(40)}`)).toBe('*2\r\n:1\r\n:0\r\n');
  const cluster = await RawClient.open(doors.cluster);
  doors.partitions[1]!.isLeader = false;
  doors.routes.setLeader(2, 'b', 7);
  asked();
  expect(await ask('SCRIPT FLUSH', cluster)).toBe('+OK\r\n');
  expect(Object.keys(asked())).toEqual(['0', '2', '3']);
  cluster.end();
  doors.partitions[1]!.isLeader = true;
  expect(await ask(`SCRIPT EXISTS ${SHA}`)).toBe('*1\r\n:0\r\n');
});

test('CLIENT PAUSE WRITE holds back scripts that may write, in a transaction as well', async () => {
  const writer = await RawClient.open(doors.gateway);
  const transaction = await RawClient.open(doors.gateway);
  transaction.send('MULTI', `EVAL ${SCRIPT} 1 ${KEY}`);
  await transaction.until((text) => text.endsWith('+QUEUED\r\n'));
  await ask('CLIENT PAUSE 100000 WRITE');
  asked();
  await ask(`EVAL_RO ${SCRIPT} 1 ${KEY}`);
  expect(asked()).toEqual({ [KEYS_HOME]: [`EVAL_RO ${SCRIPT} 1 ${KEY}`] });
  writer.send(`EVAL ${SCRIPT} 1 ${KEY}`);
  await ask('PING');
  transaction.send('EXEC');
  await ask('PING');
  expect(asked()).toEqual({});
  await ask('CLIENT UNPAUSE');
  await writer.until((text) => text.length > 0);
  await transaction.until((text) => text.includes('*1\r\n'));
  expect(asked()[KEYS_HOME]).toHaveLength(2);
  writer.end();
  transaction.end();
});

test('COMMAND GETKEYS tells the keys of a script', async () => {
  expect(await ask(`COMMAND GETKEYS EVAL ${SCRIPT} 2 a b c`)).toBe('*2\r\n$1\r\na\r\n$1\r\nb\r\n');
  expect(await ask(`COMMAND GETKEYS EVALSHA ${SHA} 0 c`)).toBe('*0\r\n');
  expect(await ask(`COMMAND GETKEYSANDFLAGS EVAL ${SCRIPT} 1 k`)).toBe(
    '*1\r\n*2\r\n$1\r\nk\r\n*3\r\n+RW\r\n+access\r\n+update\r\n',
  );
});

test('ACL CAT scripting names what Redis has there', async () => {
  const names = (await ask('ACL CAT scripting'))
    .split('\r\n')
    .filter((_, at) => at % 2 === 0 && at > 0);
  expect(names.filter((name) => name !== '').sort()).toEqual(
    ['eval', 'eval_ro', 'evalsha', 'evalsha_ro', 'fcall', 'fcall_ro'].concat(
      ['delete', 'dump', 'flush', 'help', 'kill', 'list', 'load', 'restore', 'stats'].map(
        (name) => `function|${name}`,
      ),
      ['debug', 'exists', 'flush', 'help', 'kill', 'load'].map((name) => `script|${name}`),
    ),
  );
});
