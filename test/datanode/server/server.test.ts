import { afterEach, beforeEach, expect, test } from 'vitest';
import { slotOfKey } from '../../../src/common/hash.ts';
import { type Doors, openDoors, RawClient, wire } from './doors.ts';

let doors: Doors;
let client: RawClient;
beforeEach(async () => {
  doors = await openDoors(4, { holdMs: 2_000 });
  client = await RawClient.open(doors.gateway);
});
afterEach(async () => {
  client.end();
  await doors.close();
});

const partitionOf = (key: string) => Math.floor((slotOfKey(Buffer.from(key)) * 4) / 16_384);
const count = (command: string) => doors.server.info().commandStats.get(command);

test('counts calls, failures, rejections and errors by their code', async () => {
  client.send('SET a 1', 'INCR a', 'GET a', 'GET', 'SET a 1 EX nought', 'NOSUCH x', 'PING');
  client.send('SET s word', 'INCR s', 'MGET a s zz', 'DEL a s zz', 'CONFIG GET save');
  await client.until((text) => text.endsWith('$4\r\nsave\r\n$0\r\n\r\n'));
  expect(count('set')).toMatchObject({ calls: 3, failed: 1, rejected: 0 });
  expect(count('get')).toMatchObject({ calls: 1, failed: 0, rejected: 1 });
  expect(count('incr')).toMatchObject({ calls: 2, failed: 1 });
  expect(count('mget')).toMatchObject({ calls: 1, failed: 0 });
  expect(count('config|get')).toMatchObject({ calls: 1 });
  const info = doors.server.info();
  expect(info.totalCommands).toBe(10);
  expect(info.errorReplies).toBe(4);
  expect([...info.errorStats]).toEqual([['ERR', 4]]);
  expect(count('set')!.latency.count).toBe(3);
  expect(info.clusterPort).toBe(doors.cluster);
  expect(info.inputBytes).toBeGreaterThan(wire('SET a 1').length * 8);
});

test.each([
  ['gateway', 'ports.gateway'],
  ['cluster', 'ports.cluster'],
  ['follower', 'ports.follower'],
  ['zan', 'zan.port'],
] as const)('the %s door names its field when its port is taken', async (door, field) => {
  const address = { host: '127.0.0.1', port: doors.gateway };
  await expect(doors.server.listen(door, address)).rejects.toMatchObject({
    code: 'BAD_CONFIG',
    message: expect.stringContaining(`or change ${field} in the configuration`),
  });
});

test('a client is known by the address that it came to, whatever is listened on', async () => {
  const port = await doors.server.listen('gateway', { host: '0.0.0.0', port: 0 });
  const other = await RawClient.open(port);
  expect(await other.ask('CLIENT INFO', ' laddr=')).toContain(` laddr=127.0.0.1:${port} `);
  expect(await client.ask(`CLIENT KILL LADDR 0.0.0.0:${port}`, ':0\r\n')).toBe(':0\r\n');
  expect(await client.ask(`CLIENT KILL LADDR 127.0.0.1:${port}`, ':1\r\n')).toBe(':1\r\n');
  other.end();
});

test('what the cluster door sends on was not called here', async () => {
  const key = 'somewhere';
  doors.partitions[partitionOf(key)]!.isLeader = false;
  doors.routes.setLeader(partitionOf(key) + 1, 'b', 1);
  const other = await RawClient.open(doors.cluster);
  await other.ask(`SET ${key} 1`, '-MOVED');
  other.end();
  expect(count('set')).toMatchObject({ calls: 0, rejected: 1 });
  expect(Object.fromEntries(doors.server.info().errorStats)).toEqual({ MOVED: 1 });
});

test('requests held for a leader are counted once each, and are none when it is there', async () => {
  const partition = doors.partitions[partitionOf('held')]!;
  partition.isLeader = false;
  client.send('SET held 1', 'GET held', 'SET held 2');
  await expect.poll(() => doors.server.info().heldNow).toBe(3);
  await new Promise((resolve) => setTimeout(resolve, 120)); // some rounds of waiting
  partition.isLeader = true;
  await client.until((text) => text.endsWith('+OK\r\n$1\r\n1\r\n+OK\r\n'));
  expect(doors.server.info().heldNow).toBe(0);
  expect(doors.server.info().heldTotal).toBe(3);
});

test('CONFIG RESETSTAT begins anew', async () => {
  client.send(
    'SET a 1',
    'GET',
    'CONFIG RESETSTAT',
    'INFO stats commandstats errorstats latencystats',
  );
  const text = await client.until((all) => all.includes('# Latencystats'));
  expect(text).toContain('\r\ntotal_commands_processed:1\r\n');
  expect(text).toContain('\r\ntotal_error_replies:0\r\n');
  expect(text).toMatch(
    /# Commandstats\r\ncmdstat_config\|resetstat:calls=1,[^\r]*\r\n\r\n# Errorstats/,
  );
  expect(text).not.toContain('errorstat_ERR');
  expect(text).not.toContain('usec_set');
});

test('tells the rate of what passes', async () => {
  const stop = Date.now() + 30_000;
  const isTold = () => doors.server.info().rates.commandsPerSecond > 0;
  while (!isTold() && Date.now() < stop) await client.ask('PING', '+PONG\r\n');
  const { rates, totalCommands } = doors.server.info();
  expect(rates.commandsPerSecond).toBeGreaterThan(0);
  expect(rates.commandsPerSecond).toBeLessThan(totalCommands * 5);
  expect(rates.inputBytesPerSecond).toBeCloseTo(rates.commandsPerSecond * wire('PING').length, -3);
});
