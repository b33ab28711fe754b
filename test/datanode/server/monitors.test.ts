/** What a client that monitors is sent, and when: lines between replies, never in place of one. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { ReplyQueue, type ReplySlot } from '../../../src/datanode/server/reply-queue.ts';
import { hasRedis, RealRedis } from '../commands/real-redis.ts';
import { type Doors, openDoors, RawClient } from './doors.ts';

let doors: Doors;
let monitor: RawClient;
let other: RawClient;

beforeEach(async () => {
  doors = await openDoors(1);
  monitor = await RawClient.open(doors.gateway);
  other = await RawClient.open(doors.gateway);
});
afterEach(async () => {
  monitor.end();
  other.end();
  await doors.close();
});

/** Lines without their time and client; without `\r\n`. */
const shown = (text: string) =>
  text
    .replaceAll(/\+\d{10}\.\d{6} \[0 \S+\] /g, '+')
    .split('\r\n')
    .slice(0, -1);

test('RESET ends it, and is not shown to who sends it', async () => {
  const bystander = await RawClient.open(doors.gateway);
  await bystander.ask('MONITOR', '+OK\r\n');
  await monitor.ask('MONITOR', '+OK\r\n');
  await monitor.ask('RESET', '+RESET\r\n');
  await monitor.ask('ECHO a', '$1\r\na\r\n');
  await monitor.ask('ECHO b', '$1\r\nb\r\n');
  expect(shown(monitor.text)).toEqual(['+OK', '+RESET', '$1', 'a', '$1', 'b']);
  await bystander.until((text) => text.endsWith('"ECHO" "b"\r\n'));
  expect(shown(bystander.text)).toEqual(['+OK', '+"RESET"', '+"ECHO" "a"', '+"ECHO" "b"']);
  bystander.end();
});

test('the same in one pipeline, where its own commands come behind their replies', async () => {
  monitor.send('MONITOR', 'ECHO a', 'PING', 'RESET', 'ECHO b');
  await monitor.until((text) => text.endsWith('$1\r\nb\r\n'));
  expect(shown(monitor.text)).toEqual([
    ...['+OK', '$1', 'a', '+"ECHO" "a"', '+PONG', '+"PING"'],
    ...['+RESET', '$1', 'b'],
  ]);
});

test.each(['another', 'the same'])('%s client may run a transaction of any length', async (who) => {
  const count = limits.monitorExecLinesMax + 20_000;
  await monitor.ask('MONITOR', '+OK\r\n');
  const client = who === 'another' ? other : monitor;
  client.send('MULTI', ...Array.from({ length: count }, () => 'PING'), 'EXEC', 'ECHO end');
  const text = await monitor.until((all) => all.endsWith('"ECHO" "end"\r\n'));
  const lines = shown(text).filter((line) => line.startsWith('+"'));
  expect(lines.filter((line) => line === '+"PING"')).toHaveLength(limits.monitorExecLinesMax);
  expect(lines.slice(-3)).toEqual([
    '+"... (20000 more commands of the transaction)"',
    '+"EXEC"',
    '+"ECHO" "end"',
  ]);
});

test('of other clients it is told ahead of replies that are still to come', async () => {
  await monitor.ask('MONITOR', '+OK\r\n');
  const open = doors.partitions[0]!.shut();
  monitor.send('WATCH a', 'PING', 'RESET', 'ECHO b');
  await other.ask('ECHO one', '$3\r\none\r\n');
  await other.ask('ECHO two', '$3\r\ntwo\r\n');
  await monitor.until((text) => text.endsWith('"two"\r\n'));
  expect(shown(monitor.text)).toEqual(['+OK', '+"ECHO" "one"', '+"ECHO" "two"']);
  open();
  await monitor.until((text) => text.endsWith('$1\r\nb\r\n'));
  expect(shown(monitor.text).slice(3)).toEqual([
    ...['+OK', '+"WATCH" "a"', '+PONG', '+"PING"'],
    ...['+RESET', '$1', 'b'],
  ]);
});

test('a transaction is shown behind its replies, in the order in which it ran', async () => {
  await monitor.ask('MONITOR', '+OK\r\n');
  monitor.send('MULTI', 'PING', 'ECHO a', 'EXEC', 'RESET', 'PING');
  await monitor.until((text) => text.endsWith('+RESET\r\n+PONG\r\n'));
  expect(shown(monitor.text)).toEqual([
    ...['+OK', '+OK', '+"MULTI"', '+QUEUED', '+QUEUED', '*2', '+PONG', '$1', 'a'],
    ...['+"PING"', '+"ECHO" "a"', '+"EXEC"', '+RESET', '+PONG'],
  ]);
});

describe.runIf(hasRedis)('beside a stock redis-server', () => {
  let redis: RealRedis;
  beforeAll(async () => {
    redis = await RealRedis.start();
  });
  afterAll(() => redis?.stop());

  const lines: readonly string[] = [
    ...['MONITOR', 'ECHO a', 'GET a', 'SET a 1', 'MGET a b', 'BLPOP a 0', 'DBSIZE', 'KEYS *'],
    ...['FLUSHALL', 'SCAN 0', 'PUBLISH a b', 'SPUBLISH a b', 'PFCOUNT a', 'EXPIRE a 1', 'GET'],
    ...['OBJECT ENCODING a', 'CLIENT GETNAME', 'PUBSUB CHANNELS', 'WATCH a', 'UNWATCH'],
    ...['MULTI', 'PING', 'EXEC', 'MULTI', 'GET a', 'EXEC', 'CLIENT NO-EVICT on'],
    ...['RESET', 'ECHO b', 'GET a', 'PUBLISH a b'],
  ];

  test('it may not touch keys, and gets the same bytes', async () => {
    const texts: string[] = [];
    for (const place of [doors.gateway, redis.path]) {
      const client = await RawClient.open(place);
      for (const line of lines) {
        const { length } = client.text;
        client.send(line);
        await client.until((text) => text.length > length);
      }
      client.send('ECHO end');
      texts.push(await client.until((text) => text.endsWith('$3\r\nend\r\n')));
      client.end();
    }
    expect(shown(texts[0]!)).toEqual(shown(texts[1]!));
    expect(texts[0]!.match(/-ERR Replica can't interact with the keyspace\r\n/g)).toHaveLength(14);
  });

  test('QUIT is shown to others, and to nobody when a monitor quits', async () => {
    const texts = await Promise.all([doors.gateway, redis.path].map(quitBeforeMonitors));
    expect(texts[0]).toEqual([
      ['+OK', '+"QUIT"', '+"quit"'],
      ['+OK', '+"QUIT"', '+OK'],
    ]);
    expect(texts[0]).toEqual(texts[1]);
  });

  /** What two monitors are shown while a client quits, and then one of them. */
  async function quitBeforeMonitors(place: number | string): Promise<string[][]> {
    const [first, second, client] = await Promise.all([1, 2, 3].map(() => RawClient.open(place)));
    for (const one of [first!, second!]) await one.ask('MONITOR', '+OK\r\n');
    client!.send('QUIT');
    for (const one of [first!, second!]) await one.until((text) => text.endsWith('"QUIT"\r\n'));
    second!.send('quit');
    await second!.until(() => second!.closed);
    await first!.until((text) => text.endsWith('"quit"\r\n'));
    first!.end();
    return [shown(first!.text), shown(second!.text)];
  }
});

test('what is inserted among replies keeps its place while others are taken', () => {
  const queue = new ReplyQueue();
  const settle = (slot: ReplySlot, text: string) => queue.settle(slot, { kind: 'simple', text });
  const tell = (text: string, behind?: ReplySlot) => settle(queue.insert(behind, 2), text);
  const take = () => {
    const taken: string[] = [];
    for (let slot = queue.take(); slot; slot = queue.take()) {
      if (slot.reply?.kind === 'simple') taken.push(slot.reply.text);
    }
    return taken.join(' ');
  };
  let a = queue.open(0, 2);
  // never empty, and more than are dropped from the queue together
  for (let round = 0; round < 700; round++) {
    const b = queue.open(0, 2);
    tell('behind-a', a);
    tell('too', a);
    settle(b, 'b');
    tell('behind-b', b);
    tell('1');
    expect(take()).toBe('1');
    tell('2');
    tell('3');
    settle(a, 'a');
    const next = queue.open(0, 2);
    tell('4');
    expect(take()).toBe('2 3 a behind-a too b behind-b 4');
    expect([queue.length, queue.readyBytes]).toEqual([1, 0]);
    a = next;
  }
});
