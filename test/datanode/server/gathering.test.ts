import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { type Doors, openDoors, RawClient } from './doors.ts';

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
const [b, c] = [0, 1];

async function ask(...lines: string[]): Promise<string> {
  const from = client.text.length;
  client.send(...lines, 'ECHO end');
  const text = await client.until((all) => all.slice(from).endsWith('$3\r\nend\r\n'));
  return text.slice(from, -'$3\r\nend\r\n'.length);
}

/** A set of so many members. */
async function fill(key: string, count: number, bytes = 1_000): Promise<void> {
  const from = client.text.length;
  for (let at = 0; at < count; at += 100) {
    const members = Array.from({ length: Math.min(100, count - at) }, (_, one) =>
      `${key}${at + one}`.padEnd(bytes, '.'),
    );
    client.send(`SADD ${key} ${members.join(' ')}`);
    await client.until((all) => all.length > from);
  }
  await ask('PING');
}

test('each partition is asked once, and for each key once', async () => {
  await ask('SADD a 1 2 3', 'SADD b 2 3', 'SADD c 3 4');
  for (const partition of doors.partitions) partition.batches.length = 0;
  expect(await ask('SINTER a b c b')).toBe('*1\r\n$1\r\n3\r\n');
  expect(doors.partitions.map(({ batches }) => batches.length)).toEqual([1, 1, 0, 1]);
  expect(doors.partitions[b]!.batches[0]!.lines[0]!.slice(3).map(String)).toEqual(['b']);
  expect(await ask('INFO commandstats')).toMatch(/cmdstat_sinter:calls=1,/);
});

test('keys of one partition take the usual way', async () => {
  await ask('SADD {b}1 x', 'SADD {b}2 x');
  doors.partitions[b]!.batches.length = 0;
  expect(await ask('SINTER {b}1 {b}2')).toBe('*1\r\n$1\r\nx\r\n');
  expect(doors.partitions[b]!.batches.map(({ lines }) => String(lines[0]![0]))).toEqual(['SINTER']);
});

test('wrong arguments are told before anything is read', async () => {
  expect(await ask('SINTERCARD 2 a b LIMIT -1')).toBe("-ERR LIMIT can't be negative\r\n");
  expect(await ask('ZUNION 3 a b')).toBe('-ERR syntax error\r\n');
  expect(doors.partitions.every(({ batches }) => batches.length === 0)).toBe(true);
});

test('what gathers is CROSSSLOT in a transaction and on the cluster port', async () => {
  const text = await ask('MULTI', 'SUNION a b', 'PFCOUNT a b', 'EXEC');
  expect(text.match(/-CROSSSLOT[^\r]*\{user1\}:name[^\r]*\r\n/g)).toHaveLength(2);
  expect(text).toContain('-EXECABORT');
  const other = await RawClient.open(doors.cluster);
  for (const line of ['SUNION a b', 'ZINTER 2 a b', 'LCS a b', 'PFCOUNT a b']) {
    expect(await other.ask(line, '-CROSSSLOT')).toMatch(/^-CROSSSLOT.*\{user1\}:name/);
  }
  other.end();
});

test('the command that asks a partition is nobody’s to send', async () => {
  expect(await ask('\0gather 1000 set a')).toMatch(/^-ERR unknown command/);
});

test('large sets are asked for again, with what is left of the bound', async () => {
  await fill('a', 1_000);
  await fill('b', 1_000);
  await ask('SADD c one');
  for (const partition of doors.partitions) partition.batches.length = 0;
  expect(await ask('SINTERCARD 3 a b c')).toBe(':0\r\n');
  expect(doors.partitions.map(({ batches }) => batches.length)).toEqual([2, 1, 0, 2]);
  const items = (await ask('SUNION a b c')).match(/\$1000\r\n/g);
  expect(items).toHaveLength(2_000);
});

test('beyond the bound an error names it and what helps', async () => {
  const count = Math.ceil(limits.gatherBytesMax / 2 / 30_000);
  await fill('a', count, 30_000);
  await fill('b', count, 30_000);
  expect(await ask('SADD c 1', 'SINTERCARD 2 a c')).toBe(':1\r\n:0\r\n');
  const refused = await ask('SINTERCARD 2 a b');
  expect(refused).toMatch(/^-ERR .* 67108864 bytes .*\{user1\}:name/);
  expect(await ask('SINTERCARD 2 c b')).toBe(':0\r\n');
});

test('a partition without a leader is waited for, and a client that goes stops waiting', async () => {
  await ask('SADD a 1', 'SADD c 1');
  doors.partitions[c]!.faults.push({ after: 0, code: 'NO_LEADER' });
  expect(await ask('SINTER a c')).toBe('*1\r\n$1\r\n1\r\n');
  const open = doors.partitions[c]!.shut();
  const other = await RawClient.open(doors.gateway);
  other.send('SINTER a c');
  await new Promise((resolve) => setTimeout(resolve, 50));
  other.end();
  open();
  expect(await ask('SINTER a c')).toBe('*1\r\n$1\r\n1\r\n');
});

test('damaged records are an error, not an answer', async () => {
  await ask('SADD a 1', 'SADD c 1');
  const { execute } = doors.partitions[c]!;
  doors.partitions[c]!.execute = async () => [
    { ok: true, reply: { kind: 'bulk', bytes: Buffer.from([1, 0, 0, 9, 9, 0]) } },
  ];
  expect(await ask('SINTER a c')).toMatch(
    /^-ERR sinter failed inside the server: gathered records/,
  );
  doors.partitions[c]!.execute = execute;
});
