/** XREAD of streams in several partitions. */
import { afterEach, beforeEach, expect, test } from 'vitest';
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

async function ask(...lines: string[]): Promise<string> {
  const from = client.text.length;
  client.send(...lines, 'ECHO end');
  const text = await client.until((all) => all.slice(from).endsWith('$3\r\nend\r\n'));
  return text.slice(from, -'$3\r\nend\r\n'.length);
}

const row = (key: string, ...ids: readonly string[]) =>
  `$1\r\n${key}\r\n*${ids.length}\r\n${ids
    .map((id) => `*2\r\n$${id.length}\r\n${id}\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n`)
    .join('')}`;

async function fill() {
  for (const key of 'abcd') await ask(`XADD ${key} 1-1 f v`, `XADD ${key} 2-1 f v`);
  for (const partition of doors.partitions) partition.batches.length = 0;
}

test('each partition is asked for its own, and what they have comes in the order of the request', async () => {
  await fill();
  const all = [
    row('d', '1-1', '2-1'),
    row('a', '2-1'),
    row('c', '1-1', '2-1'),
    row('b', '1-1', '2-1'),
  ];
  const line = 'XREAD STREAMS d a none c b 0 1-1 0 1 0-5';
  expect(await ask(line)).toBe(`*4\r\n${all.map((one) => `*2\r\n${one}`).join('')}`);
  const lines = doors.partitions.flatMap(({ batches }) =>
    batches.map((batch) => batch.lines[0]!.join(' ')),
  );
  expect(lines).toContain('XREAD STREAMS d 0');
  expect(lines).toContain('XREAD STREAMS b 0-5');
  expect(await ask('INFO commandstats')).toMatch(/cmdstat_xread:calls=1,/);
  await ask('HELLO 3');
  expect(await ask(line)).toBe(`%4\r\n${all.join('')}`);
});

test('COUNT is of each stream; keys that have nothing are not named, nor are any if none has', async () => {
  await fill();
  const rows = [row('b', '1-1'), row('a', '1-1'), row('b', '2-1')];
  expect(await ask('XREAD COUNT 1 STREAMS b c a b 0 $ 0 1-1')).toBe(
    `*3\r\n${rows.map((one) => `*2\r\n${one}`).join('')}`,
  );
  expect(await ask('XREAD STREAMS a b c $ 2-1 7')).toBe('*-1\r\n');
  await ask('HELLO 3');
  expect(await ask('XREAD STREAMS a b c $ 2-1 7')).toBe('_\r\n');
});

test('what is wrong with one of them is the reply', async () => {
  await fill();
  await ask('SET c x');
  const wrong = '-WRONGTYPE Operation against a key holding the wrong kind of value\r\n';
  expect(await ask('XREAD STREAMS a c 0 0')).toBe(wrong);
  expect(await ask('XREAD STREAMS a b 0 x')).toMatch(/^-ERR Invalid stream ID/);
  expect(await ask('XREAD STREAMS a b c 0 x')).toMatch(/^-ERR Unbalanced/);
});

test('who waits, or reads for a group, does so in one partition, as is told', async () => {
  await fill();
  expect(await ask('XREAD BLOCK 10 STREAMS a b 0 0')).toMatch(/^-CROSSSLOT/);
  expect(await ask('XREAD BLOCK 10 STREAMS {b}1 b 0 1-1')).toBe(`*1\r\n*2\r\n${row('b', '2-1')}`);
  expect(await ask('XREADGROUP GROUP g c STREAMS a b > >')).toMatch(/^-CROSSSLOT/);
  expect(await ask('MULTI', 'XREAD STREAMS a b 0 0', 'DISCARD')).toMatch(/\r\n-CROSSSLOT/);
  const other = await RawClient.open(doors.cluster);
  expect(await other.ask('XREAD STREAMS a b 0 0', '-CROSSSLOT')).toMatch(/^-CROSSSLOT/);
  other.end();
});
