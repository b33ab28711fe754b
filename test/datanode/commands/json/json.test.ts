/** JSON documents beside what the transcript shows: RESP2, dumps, events, versions of entries. */
import { expect, test } from 'vitest';
import { newestIn } from '../../../../src/datanode/commands/table/applies-from.ts';
import { commandTable } from '../../../../src/datanode/commands/table/table.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import { openRdbPayload, sealRdbPayload } from '../../encoding/rdb/at-once.ts';
import { LonePartition } from '../lone-partition.ts';

const DOCUMENT = '{"a":1,"b":{"a":2.5,"c":[1,"x"]}}';
const words = (line: string) => line.split(' ').map((word) => Buffer.from(word));

async function withDocument(): Promise<LonePartition> {
  const partition = await LonePartition.open();
  await partition.call('JSON.SET', 'doc', '$', DOCUMENT);
  return partition;
}

/** What a client of either protocol reads; nothing is kept of a write. */
function bothForms({ engine }: LonePartition, line: string): [string, string] {
  const args = words(line);
  const command = commandTable.get(args[0]!.toString().toLowerCase())!;
  if (command.kind === 'node') throw new Error('it has no document');
  const prepared = command.prepare(args);
  if (!prepared.ok) throw new Error('it is refused');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  const context = { nowMs: 1, firstSlot: 0, lastSlot: 16_383, random: () => 0 };
  let reply = prepared.run(txn, context);
  while (!('kind' in reply)) {
    const step = reply.next([]);
    if (step.done) reply = step.value;
  }
  return [encodeReply(reply, 2).toString(), encodeReply(reply, 3).toString()];
}

test.each([
  ['JSON.NUMINCRBY doc $..a 1', '$7\r\n[2,3.5]\r\n', '*2\r\n:2\r\n,3.5\r\n'],
  ['JSON.NUMMULTBY doc .a 2', '$1\r\n2\r\n', '*1\r\n:2\r\n'],
  ['JSON.TYPE doc $.a', '*1\r\n$7\r\ninteger\r\n', '*1\r\n*1\r\n$7\r\ninteger\r\n'],
  ['JSON.TYPE doc .b', '$6\r\nobject\r\n', '*1\r\n$6\r\nobject\r\n'],
  ['JSON.GET doc .b.a', '$3\r\n2.5\r\n', '$3\r\n2.5\r\n'],
])('%s in RESP2 and RESP3', async (line, resp2, resp3) => {
  expect(bothForms(await withDocument(), line)).toEqual([resp2, resp3]);
});

test('a dump is a value of RedisJSON, and comes back as the same document', async () => {
  const partition = await withDocument();
  const dumped = await partition.call('DUMP', 'doc');
  if (dumped.kind !== 'bulk') throw new Error('no payload');
  const { bytes } = dumped;
  // type 7 · ReJSON-RL, version 3 · 5, a string · its text · 0
  const number = 'ReJSON-RL'
    .split('')
    .map((letter) => {
      const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
      return letters.indexOf(letter).toString(2).padStart(6, '0');
    })
    .join('');
  const head = BigInt(`0b${number}0000000011`).toString(16).padStart(16, '0');
  expect(bytes.subarray(0, 10).toString('hex')).toBe(`0781${head}`);
  expect(bytes.subarray(10, 12)).toEqual(Buffer.of(5, DOCUMENT.length));
  expect(bytes.subarray(12, 13 + DOCUMENT.length).toString()).toBe(`${DOCUMENT}\0`);
  expect(await partition.call('RESTORE', 'again', '5000', bytes)).toMatchObject({ text: 'OK' });
  expect(await partition.call('JSON.GET', 'again')).toEqual({
    kind: 'bulk',
    bytes: Buffer.from(DOCUMENT),
  });
  expect(await partition.call('PTTL', 'again')).toMatchObject({ value: 5_000 });
});

test.each([
  ['another module', 3, 0],
  ['another version of it', 9, 0x2],
  ['no JSON', 12, 0x5b],
  ['no string', 10, 2],
])('a payload of %s is refused', async (_, at, byte) => {
  const partition = await withDocument();
  const dumped = await partition.call('DUMP', 'doc');
  const body = Buffer.from(openRdbPayload((dumped as { bytes: Buffer }).bytes)!);
  body[at] = byte;
  const reply = await partition.call('RESTORE', 'other', '0', sealRdbPayload([body]));
  expect(reply).toEqual({ kind: 'error', text: 'ERR Bad data format' });
  expect(await partition.call('EXISTS', 'other')).toMatchObject({ value: 0 });
});

test('each change is told once, as RedisJSON names it, and nothing where nothing changes', async () => {
  const partition = await withDocument();
  await partition.call('JSON.ARRAPPEND', 'doc', '$..c', '3');
  await partition.call('JSON.ARRAPPEND', 'doc', '$..zzz', '3');
  await partition.call('JSON.DEL', 'doc', '$.a');
  await partition.call('JSON.DEL', 'doc');
  expect(partition.events.map(({ of, event }) => `${of} ${event}`)).toEqual([
    ...['new new', 'module json.set', 'module json.arrappend', 'module json.del'],
    ...['module json.del', 'generic del'],
  ]);
});

test('a document that would become too large stays as it is', async () => {
  const partition = await LonePartition.open();
  await partition.call('JSON.SET', 'doc', '$', `["${'x'.repeat(9_000_000)}"]`);
  const more = await partition.call('JSON.STRAPPEND', 'doc', '$[0]', `"${'y'.repeat(9_000_000)}"`);
  expect(more).toMatchObject({ kind: 'error', text: expect.stringContaining('16777216') });
  expect(await partition.call('JSON.STRLEN', 'doc', '.[0]')).toMatchObject({ value: 9_000_000 });
});

test.each([
  ['JSON.ARRAPPEND', 'doc', '$[*]', ...'1'.repeat(300)],
  ['JSON.ARRINSERT', 'doc', '$[*]', '0', ...'1'.repeat(300)],
  ['JSON.SET', 'doc', '$[*]', `[${'1,'.repeat(300)}1]`],
  ['JSON.MERGE', 'doc', '$[*]', `{"a":[${'1,'.repeat(300)}1]}`],
])('%s of much to many places is refused while it grows', async (...line) => {
  const partition = await LonePartition.open();
  await partition.call('JSON.SET', 'doc', '$', `[${'[],'.repeat(100_000)}[]]`);
  const before = process.memoryUsage().heapUsed;
  const reply = await partition.call(...line);
  const grown = process.memoryUsage().heapUsed - before;
  expect(reply).toMatchObject({ kind: 'error', text: expect.stringContaining('262144 values') });
  // thirty million values would be hundreds of megabytes
  expect(grown).toBeLessThan(200_000_000);
  expect(await partition.call('JSON.ARRLEN', 'doc', '.')).toMatchObject({ value: 100_001 });
});

test('a long string for many places is refused before it is made', async () => {
  const partition = await LonePartition.open();
  await partition.call('JSON.SET', 'doc', '$', `[${'"",'.repeat(1_000)}""]`);
  const more = JSON.stringify('x'.repeat(1_000_000));
  const reply = await partition.call('JSON.STRAPPEND', 'doc', '$[*]', more);
  expect(reply).toMatchObject({ kind: 'error', text: expect.stringContaining('16777216 bytes') });
});

test('paths of one command share what they may pass', async () => {
  const partition = await LonePartition.open();
  await partition.call('JSON.SET', 'doc', '$', `[${'[],'.repeat(50_000)}[]]`);
  const few = await partition.call('JSON.STRLEN', 'doc', '$[5]');
  expect(few).toMatchObject({ items: [{ kind: 'null' }] });
  const many = Array.from({ length: 30 }, (_, at) => `$..[?(@.a${at})]`);
  expect(await partition.call('JSON.GET', 'doc', ...many)).toMatchObject({
    kind: 'error',
    text: expect.stringContaining('passes more than 1048576 values'),
  });
  const tooMany = Array.from({ length: 1_025 }, () => '.');
  expect(await partition.call('JSON.GET', 'doc', ...tooMany)).toMatchObject({
    text: 'ERR JSON.GET takes at most 1024 paths',
  });
});

test('one value of a document is answered the same, whether the document is read or looked through', async () => {
  const partition = await withDocument();
  const paths = ['$.a', '$.b.c[-1]', '$.b.c[7]', '$.none', '.b', 'b.c[0]', '$'];
  const lists = [
    ...paths.map((path) => [path]),
    paths.slice(0, 4),
    ['$.a', '.b'],
    ['.b', '.a'],
    ['.a', '.x'],
    ['$.a', '$.a'],
  ];
  for (const list of lists) {
    const scanned = await partition.call('JSON.GET', 'doc', ...list);
    // any layout makes it read all
    expect(await partition.call('JSON.GET', 'doc', 'SPACE', '', ...list), list.join()).toEqual(
      scanned,
    );
  }
  for (const [path, type] of [
    ['$.a', 'integer'],
    ['$.b', 'object'],
    ['$.b.c', 'array'],
    ['$.b.c[1]', 'string'],
  ] as const) {
    expect(JSON.stringify(await partition.call('JSON.TYPE', 'doc', path)), path).toContain(
      JSON.stringify([...Buffer.from(type)]),
    );
  }
});

test('a write at one place leaves the document that one at many leaves', async () => {
  const partition = await withDocument();
  // the second path names the same, and is none of which one value is known
  const pairs = [
    ['$.a', '$["a","a"]'],
    ['$.b.c', '$.b["c","c"]'],
    ['$.b.c[1]', '$.b.c[1,1]'],
    ['$.none', '$["none","none"]'],
  ] as const;
  const lines = [
    ['JSON.NUMINCRBY', '2'],
    ['JSON.NUMMULTBY', '0.5'],
    ['JSON.STRAPPEND', '"é"'],
    ['JSON.TOGGLE'],
    ['JSON.ARRAPPEND', '[7]', '8'],
    ['JSON.ARRINSERT', '-1', '{"z":1}'],
    ['JSON.ARRPOP', '0'],
    ['JSON.ARRTRIM', '1', '-1'],
  ] as const;
  for (const [name, ...args] of lines) {
    for (const [one, many] of pairs) {
      await partition.call('JSON.SET', 'doc', '$', DOCUMENT);
      await partition.call('JSON.SET', 'other', '$', DOCUMENT);
      const events = partition.events.length;
      const reply = await partition.call(name, 'doc', one, ...args);
      const ofOne = partition.events.slice(events);
      expect(await partition.call(name, 'other', many, ...args), `${name} ${one}`).toEqual(reply);
      const ofMany = partition.events.slice(events + ofOne.length);
      expect(ofMany.map(({ event }) => event)).toEqual(ofOne.map(({ event }) => event));
      expect(await partition.call('JSON.GET', 'doc'), `${name} ${one}`).toEqual(
        await partition.call('JSON.GET', 'other'),
      );
    }
  }
});

test.each([
  [
    'an array that is full',
    `[${'1,'.repeat(262_142)}1]`,
    ['JSON.ARRAPPEND', 'doc', '$', '1'],
    '262144 values',
  ],
  [
    'an object that is full',
    `{"a":[${'1,'.repeat(262_141)}1]}`,
    ['JSON.SET', 'doc', '$.b', '1'],
    '262144 values',
  ],
  [
    'a string that is long',
    `{"a":"${'x'.repeat(16_777_200)}"}`,
    ['JSON.SET', 'doc', '$.b', '"xxxxxxxxxxxx"'],
    '16777216',
  ],
  [
    'what is deep',
    `${'['.repeat(127)}1${']'.repeat(127)}`,
    ['JSON.SET', 'doc', `$${'[0]'.repeat(127)}`, '[1]'],
    'recursion limit',
  ],
])('%s is refused as ever, and stays as it is', async (_, text, line, message) => {
  const partition = await LonePartition.open();
  await partition.call('JSON.SET', 'doc', '$', text);
  const reply = await partition.call(...line);
  expect(reply).toMatchObject({ kind: 'error', text: expect.stringContaining(message) });
  const after = await partition.call('JSON.GET', 'doc');
  // not by toEqual, which looks at millions of bytes one by one
  expect(after.kind === 'bulk' && after.bytes.equals(Buffer.from(text))).toBe(true);
});

test('in a script a reply has the form of RESP2, or of RESP3 where it asks for that', async () => {
  const partition = await withDocument();
  const body = "return redis.call('JSON.NUMINCRBY', KEYS[1], '$.a', 1)";
  const plain = await partition.call('EVAL', body, '1', 'doc');
  expect(plain).toEqual({ kind: 'bulk', bytes: Buffer.from('[2]') });
  const newer = await partition.call('EVAL', `redis.setresp(3) ${body}`, '1', 'doc');
  expect(newer).toMatchObject({ kind: 'array', items: [{ kind: 'integer', value: 3 }] });
});

test('entries with them are of the version that knows them', () => {
  const writes = [...commandTable].filter(
    ([name, { kind }]) => name.startsWith('json.') && kind === 'write',
  );
  expect(writes).toHaveLength(14);
  for (const [name] of writes) expect(newestIn(words(`${name} k $ 1 1`)).version, name).toBe(10);
});
