/** Commands with thousands of arguments: worked off in steps, and answered as if at once. */
import { expect, test, vi } from 'vitest';
import { resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import { GLANCE } from '../../../../src/datanode/encoding/steps/slices.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { array, bulk, integer, NULL, OK, type Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';

const COUNT = 1_000;
const numbers = Array.from({ length: COUNT }, (_, at) => at);
const each = (words: (at: number) => string[]) => numbers.flatMap(words);
const all = (reply: (at: number) => Reply) => array(numbers.map(reply));
const twice = (words: string[]) => [...words, ...words];

/** In order, each on what those before it left. */
const calls: readonly (readonly [words: string[], reply: Reply])[] = [
  [['SADD', 's', ...twice(each((at) => [`m${at}`]))], integer(COUNT)],
  [['SMISMEMBER', 's', ...each((at) => [`m${at * 2}`])], all((at) => integer(at < 500 ? 1 : 0))],
  [['SREM', 's', ...each((at) => [`m${at * 2}`])], integer(500)],
  [['SCARD', 's'], integer(500)],
  [['HSET', 'h', ...each((at) => [`f${at}`, `${at}`])], integer(COUNT)],
  [['HSET', 'h', ...each((at) => [`f${at + 1}`, `${at}`])], integer(1)],
  [['HMGET', 'h', ...each((at) => [`f${at + 1}`])], all((at) => bulk(`${at}`))],
  [['HDEL', 'h', ...each((at) => [`f${at * 2}`])], integer(501)],
  [['HLEN', 'h'], integer(500)],
  [
    ['HSETEX', 'x', 'FNX', 'EX', '100', 'FIELDS', `${COUNT}`, ...each((at) => [`f${at}`, `${at}`])],
    integer(1),
  ],
  [['HSETEX', 'x', 'FNX', 'FIELDS', `${COUNT}`, ...each((at) => [`f${at}`, '0'])], integer(0)],
  [
    ['HGETEX', 'x', 'PERSIST', 'FIELDS', `${COUNT}`, ...each((at) => [`f${at + 1}`])],
    all((at) => (at < COUNT - 1 ? bulk(`${at + 1}`) : NULL)),
  ],
  [
    ['HTTL', 'x', 'FIELDS', `${COUNT}`, ...each((at) => [`f${at}`])],
    all((at) => integer(at === 0 ? 100 : -1)),
  ],
  [
    ['HGETDEL', 'x', 'FIELDS', `${COUNT}`, ...each((at) => [`f${at * 2}`])],
    all((at) => (at < 500 ? bulk(`${at * 2}`) : NULL)),
  ],
  [['HLEN', 'x'], integer(500)],
  [['ZADD', 'z', ...each((at) => [`${at}`, `m${at}`])], integer(COUNT)],
  [['ZADD', 'z', 'CH', ...each((at) => [`${Math.max(at, 10)}`, `m${at}`])], integer(10)],
  [['ZMSCORE', 'z', ...each((at) => [`m${at}`])], all((at) => bulk(`${Math.max(at, 10)}`))],
  [['ZREM', 'z', ...each((at) => [`m${at * 2}`])], integer(500)],
  [['ZRANK', 'z', 'm999'], integer(499)],
  [['RPUSH', 'l', ...each((at) => [`e${at}`])], integer(COUNT)],
  [['LPUSH', 'l', ...each((at) => [`e${at}`])], integer(2 * COUNT)],
  [['LRANGE', 'l', '998', '1001'], array(['e1', 'e0', 'e0', 'e1'].map((text) => bulk(text)))],
  [['MSET', ...each((at) => [`k${at}`, `v${at}`])], OK],
  [['MSETNX', ...each((at) => [`k${at + COUNT - 1}`, 'other'])], integer(0)],
  [['MSETNX', ...each((at) => [`n${at}`, 'other'])], integer(1)],
  [['MGET', ...each((at) => [`k${at * 2}`])], all((at) => (at < 500 ? bulk(`v${at * 2}`) : NULL))],
  [['EXISTS', ...each((at) => [`k${at * 2}`])], integer(500)],
  [['DEL', ...each((at) => [`k${at * 2}`])], integer(500)],
  [['EXISTS', ...each((at) => [`k${at}`])], integer(500)],
  [['PFADD', 'p', ...each((at) => [`${at % 5}`])], integer(1)],
  [['PFADD', 'p', ...each((at) => [`${at % 5}`])], integer(0)],
  [['PFADD', 'q', '5', '6'], integer(1)],
  [['PFCOUNT', 'q', ...each((at) => [at % 2 === 0 ? 'p' : `none${at}`])], integer(7)],
  [['PFMERGE', 'q', ...each((at) => [at % 2 === 0 ? 'p' : `none${at}`])], OK],
  [['PFCOUNT', 'q'], integer(7)],
  [['BITFIELD', 'b', ...each((at) => ['SET', 'u16', `#${at}`, `${at}`])], all(() => integer(0))],
  [
    ['BITFIELD', 'b', ...each((at) => ['INCRBY', 'u16', `#${at}`, '1'])],
    all((at) => integer(at + 1)),
  ],
  [['BITFIELD', 'b', ...each((at) => ['GET', 'u16', `#${at}`])], all((at) => integer(at + 1))],
  [['BITFIELD_RO', 'b', ...each((at) => ['GET', 'u16', `#${at}`])], all((at) => integer(at + 1))],
  [['BITFIELD_RO', 'none', ...each(() => ['GET', 'u8', '0'])], all(() => integer(0))],
];

function plain(reply: Reply): unknown {
  if (reply.kind === 'array') return reply.items.map(plain);
  if (reply.kind === 'pairs') return reply.pairs.flat().map(plain);
  if (reply.kind === 'bulk') return reply.bytes.toString();
  if (reply.kind === 'double') return reply.text ?? String(reply.value);
  if (reply.kind === 'integer') return Number(reply.value);
  if (reply.kind === 'error') return { error: reply.text };
  return reply.kind === 'simple' ? reply.text : reply.kind;
}

test('thousands of arguments are answered as if they were worked off at once', async () => {
  const partition = await LonePartition.open();
  for (const [words, reply] of calls) {
    const got = await partition.call(...words);
    expect(plain(got), words.slice(0, 3).join(' ')).toEqual(plain(reply));
  }
});

test('others may have their turn after some dozens of them, unless there are few', async () => {
  const { engine } = await LonePartition.open();
  const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383 };
  const turnsOf = (count: number) => {
    const line = ['SADD', 's', ...numbers.slice(0, count).map((at) => `m${at}`)];
    const args = line.map((word) => Buffer.from(word));
    const command = resolveCommand(args);
    if (command?.kind !== 'write') throw new Error('SADD writes');
    const prepared = command.prepare(args);
    if (!prepared.ok) throw new Error('well formed');
    const result = prepared.run(new Txn(engine), context);
    if ('kind' in result) return { turns: 1, glances: 0 };
    let [turns, glances] = [1, 0];
    for (let step = result.next([]); !step.done; step = result.next([])) {
      if (step.value === GLANCE) glances++;
      else turns++;
    }
    return { turns, glances };
  };
  expect([1, 100, COUNT].map(turnsOf)).toEqual([
    { turns: 1, glances: 0 },
    { turns: 1, glances: 0 },
    { turns: 16, glances: 125 },
  ]);
});

test.each([
  ['PFADD', 'p', ...each((at) => [`m${at}`])],
  ['PFCOUNT', ...each((at) => [`p${at}`])],
  ['PFMERGE', ...each((at) => [`p${at}`])],
  ['BITFIELD', 'b', ...each((at) => ['SET', 'u8', `#${at}`, '1'])],
  ['BITFIELD', 'b', ...each((at) => ['GET', 'u8', `#${at}`])],
  ['BITFIELD_RO', 'b', ...each((at) => ['GET', 'u8', `#${at}`])],
])(
  'others have their turn while thousands of arguments are worked off: %s %s',
  async (...words) => {
    const { engine } = await LonePartition.open();
    const args = words.map((word) => Buffer.from(word));
    const command = resolveCommand(args);
    const prepared = command?.kind === 'node' ? undefined : command?.prepare(args);
    if (!prepared?.ok) throw new Error('well formed');
    const txn = new Txn(engine);
    txn.beginEntry(1);
    const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383 };
    const result = prepared.run(txn, context);
    if ('kind' in result) throw new Error('all at once');
    let pauses = 0;
    for (let step = result.next([]); !step.done; step = result.next([])) {
      if (step.value !== GLANCE) pauses++;
    }
    expect(pauses).toBeGreaterThan(10);
  },
);

test('what is wrong with thousands of arguments of BITFIELD is told first, and nothing is done', async () => {
  const partition = await LonePartition.open();
  await partition.call('RPUSH', 'l', 'x');
  const text = async (...words: string[]) => plain(await partition.call(...words));
  const sets = each((at) => ['SET', 'u8', `#${at}`, '1']);
  const gets = each(() => ['GET', 'u8', '0']);
  const wrongType = {
    error: 'WRONGTYPE Operation against a key holding the wrong kind of value',
  };
  for (const key of ['l', 'b']) {
    expect(await text('BITFIELD', key, ...sets, 'GET')).toEqual({ error: 'ERR syntax error' });
    expect(await text('BITFIELD_RO', key, ...gets, 'GET')).toEqual({ error: 'ERR syntax error' });
    expect(await text('BITFIELD_RO', key, ...gets, ...sets)).toEqual({
      error: 'ERR BITFIELD_RO only supports the GET subcommand',
    });
  }
  expect(await text('BITFIELD', 'l', ...sets)).toEqual(wrongType);
  expect(await text('BITFIELD', 'l', ...gets)).toEqual(wrongType);
  expect(await text('BITFIELD_RO', 'l', ...gets)).toEqual(wrongType);
  expect(await text('EXISTS', 'b')).toBe(0);
  const args = ['BITFIELD', 'b', ...sets, 'GET'].map((word) => Buffer.from(word));
  const command = resolveCommand(args);
  expect(command?.kind === 'write' && command.prepare(args).ok).toBe(true);
});

test.each(['PFCOUNT', 'PFMERGE'])('%s reads a key once that is named again', async (name) => {
  const partition = await LonePartition.open();
  await partition.call('PFADD', 'p', 'a', 'b');
  const lookups = vi.spyOn(partition.engine, 'getSync');
  await partition.call(name, 'p', ...each(() => ['p']));
  expect(lookups.mock.calls.length).toBeLessThan(10);
});

/** One more than are read before the command runs. */
const LATE = 1_025;
const late = (words: (at: number) => string[]) =>
  Array.from({ length: LATE }, (_, at) => words(at)).flat();

test('scores of thousands of members are read by the run, and all refused for one', async () => {
  const partition = await LonePartition.open();
  const text = async (...words: string[]) => plain(await partition.call(...words));
  const prepared = (...words: string[]) => {
    const args = words.map((word) => Buffer.from(word));
    const command = resolveCommand(args);
    return command?.kind === 'write' && command.prepare(args).ok;
  };
  const bad = [...late((at) => [`${at}`, `m${at}`]), 'one', 'm'];
  const badPoints = [...late((at) => ['13.5', `${at % 80}`, `m${at}`]), '181', '0', 'm'];
  expect(prepared('ZADD', 'z', 'one', 'm')).toBe(false);
  expect(prepared('ZADD', 'z', ...bad)).toBe(true);
  const notFloat = { error: 'ERR value is not a valid float' };
  const notPoint = { error: 'ERR invalid longitude,latitude pair 181.000000,0.000000' };
  await partition.call('SET', 'text', 'x');
  expect(await text('ZADD', 'z', ...bad)).toEqual(notFloat);
  expect(await text('ZADD', 'text', ...bad)).toEqual(notFloat);
  expect(await text('GEOADD', 'z', ...badPoints)).toEqual(notPoint);
  expect(await text('EXISTS', 'z')).toBe(0);
  expect(await text('ZADD', 'text', ...bad.slice(0, -2))).toEqual({
    error: 'WRONGTYPE Operation against a key holding the wrong kind of value',
  });
  expect(await text('ZADD', 'z', 'NX', ...bad.slice(0, -2))).toBe(LATE);
  expect(await text('ZADD', 'z', 'CH', 'LT', ...late((at) => ['10', `m${at}`]))).toBe(LATE - 11);
  expect(await text('GEOADD', 'g', 'CH', ...badPoints.slice(0, -3))).toBe(LATE);
  expect(await text('ZSCORE', 'z', 'm700')).toBe('10');
  expect(await text('ZCARD', 'g')).toBe(LATE);
});

test('members drawn from a large sorted set are its members, with their scores', async () => {
  const partition = await LonePartition.open();
  await partition.call('ZADD', 'z', ...each((at) => [`${at}`, `m${at}`]));
  const draw = async (count: string) =>
    plain(await partition.call('ZRANDMEMBER', 'z', count, 'WITHSCORES')) as string[];
  for (const [count, members, distinct] of [
    ['7', 7, 7],
    ['500', 500, 500],
    [`${COUNT + 1}`, COUNT, COUNT],
    ['-3000', 3_000, undefined],
  ] as const) {
    const drawn = await draw(count);
    const names = drawn.filter((_, at) => at % 2 === 0);
    expect(names).toHaveLength(members);
    expect(names).toEqual(drawn.filter((_, at) => at % 2 === 1).map((score) => `m${score}`));
    const different = new Set(names).size;
    if (distinct !== undefined) expect(different).toBe(distinct);
    // of 3,000 draws of 1,000 some 950 differ, and the first ones are in no order
    else expect(different).toBeGreaterThan(900);
    if (distinct === undefined) expect(names.slice(0, 50)).not.toEqual(names.slice(0, 50).sort());
  }
});

test('places found in a large index are given nearest first, and stored with their distance', async () => {
  const partition = await LonePartition.open();
  const placeOf = (at: number) => (at * 7) % COUNT;
  await partition.call('GEOADD', 'g', ...each((at) => [`${placeOf(at) / 100}`, '0', `m${at}`]));
  const nearest = ['FROMLONLAT', '0', '0', 'BYRADIUS', '2000', 'km'];
  const found = plain(await partition.call('GEOSEARCH', 'g', ...nearest, 'ASC')) as string[];
  const inOrder = [...numbers].sort((a, b) => placeOf(a) - placeOf(b));
  expect(found).toEqual(inOrder.map((at) => `m${at}`));
  const stored = await partition.call('GEOSEARCHSTORE', 'd', 'g', ...nearest, 'STOREDIST');
  expect(plain(stored)).toBe(COUNT);
  expect(plain(await partition.call('ZRANGE', 'd', '0', '-1'))).toEqual(found);
});

test.each([
  ['MGET', ...tenKeys()],
  ['EXISTS', ...tenKeys()],
  ['MSET', ...tenKeys().flatMap((key) => [key, 'v'])],
  ['DEL', ...tenKeys()],
])('few keys with long strings are given way between: %s', async (...words) => {
  const partition = await LonePartition.open();
  const run = async (bytes: number) => {
    for (const key of tenKeys()) {
      const stored = await partition.call('SET', key, 'x'.repeat(bytes), 'EX', '100');
      expect(stored).toEqual(OK);
    }
    const args = words.map((word) => Buffer.from(word));
    const command = resolveCommand(args);
    const prepared = command?.kind === 'node' ? undefined : command?.prepare(args);
    if (!prepared?.ok) throw new Error('well formed');
    const txn = new Txn(partition.engine);
    txn.beginEntry(1);
    const { nowMs, firstSlot, lastSlot } = partition;
    const result = prepared.run(txn, { nowMs, random: () => 0, firstSlot, lastSlot });
    if ('kind' in result) return { reply: result, glances: 0 };
    let glances = 0;
    let step = result.next([]);
    for (; !step.done; step = result.next([])) if (step.value === GLANCE) glances++;
    return { reply: step.value, glances };
  };
  const short = await run(100);
  expect(short.glances).toBe(0);
  // four are a megabyte
  const long = await run(300_000);
  expect(long.glances).toBe(6);
  if (words[0] !== 'MGET') expect(plain(long.reply)).toEqual(plain(short.reply));
});

/** Of one slot. */
function tenKeys(): string[] {
  return numbers.slice(0, 10).map((at) => `{t}${at}`);
}
