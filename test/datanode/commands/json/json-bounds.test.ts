/** What JSON commands may take, and what they leave when they are refused. */
import { beforeEach, describe, expect, test } from 'vitest';
import { cpuMsOfAll } from '../../../cpu-time.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

let partition: LonePartition;

beforeEach(async () => {
  partition = await LonePartition.open();
});

async function say(...words: string[]): Promise<string> {
  return replyText(await partition.call(...words));
}

async function document(text: string): Promise<void> {
  await partition.call('JSON.SET', 'doc', '$', text);
}

describe('arrays within arrays', () => {
  const nested = '{"a":[[1,2],[3,4]]}';

  test.each([
    ['JSON.ARRAPPEND', ['9'], '{"a":[[1,2,9],[3,4,9],9]}'],
    ['JSON.ARRINSERT', ['0', '9'], '{"a":[9,[9,1,2],[9,3,4]]}'],
    ['JSON.ARRTRIM', ['0', '0'], '{"a":[[1]]}'],
    ['JSON.ARRPOP', [], '{"a":[[1]]}'],
  ])('%s changes all that it answers for', async (name, args, after) => {
    await document(nested);
    await partition.call(name, 'doc', '$..*', ...args);
    expect(await say('JSON.GET', 'doc')).toBe(JSON.stringify(after));
  });

  test('what is taken out is answered as it was then, in the order of the document', async () => {
    await document('[[[1,2]]]');
    const reply = await partition.call('JSON.ARRPOP', 'doc', '$..*');
    expect(reply).toMatchObject({
      items: [
        { bytes: Buffer.from('[1]') },
        { bytes: Buffer.from('2') },
        { kind: 'null' },
        { kind: 'null' },
      ],
    });
    expect(await say('JSON.GET', 'doc')).toBe(JSON.stringify('[[]]'));
  });
});

test('JSON.MSET of which one document would be too large stores none', async () => {
  const half = JSON.stringify('x'.repeat(9_000_000));
  await document(`{"s":${half}}`);
  expect(await say('JSON.MSET', 'first', '$', '1', 'doc', '$.t', half)).toContain('16777216');
  expect(await say('JSON.GET', 'first')).toBe('(nil)');
  expect(await say('JSON.OBJKEYS', 'doc', '.')).not.toContain('t');
});

test('JSON.MSET of the same key goes on from what it has made', async () => {
  await document('{"old":1}');
  await partition.call('PEXPIRE', 'doc', '50000');
  const args = [
    'doc',
    '$',
    '{"a":1}',
    'new',
    '$',
    '[1]',
    'doc',
    '$.b',
    '2',
    'new',
    '$[0]',
    '3',
    'doc',
    '$.zzz.y',
    '4',
  ];
  expect(await say('JSON.MSET', ...args)).toBe('OK');
  expect(await say('JSON.MGET', 'doc', 'new', '.')).toContain('{\\"a\\":1,\\"b\\":2}');
  expect(await say('JSON.GET', 'new')).toBe('"[3]"');
  expect(await say('PTTL', 'doc')).toBe('(integer) 50000');
});

describe('a path that takes far more than its document is refused', () => {
  const numbers = `[${'1,'.repeat(100_000)}1]`;
  const objects = `[${'{"a":[[1]]},'.repeat(8_000)}1]`;
  const text = `{"s":"${'x'.repeat(8_000_000)}","t":"${'x'.repeat(8_000_000)}","a":${numbers}}`;

  // without a bound: seconds and minutes of one turn, and gigabytes
  test.each([
    ['a name again and again', objects, `$..[${"'a',".repeat(4_000)}'a']`],
    [
      'names that are not there',
      objects,
      `$..[${Array.from({ length: 2_000 }, (_, at) => `'${at}'`).join()}]`,
    ],
    ['a place again and again', objects, `$..[${'0,'.repeat(8_000)}0]`],
    ['the whole beside the whole', numbers, '$[?($==$)]'],
    ['long strings', text, '$.a[?($.s==$.t)]'],
    ['the order of long strings', text, '$.a[?($.s<$.t)]'],
    ['values beside values', numbers, `$[?(${'1==2||'.repeat(2_500)}1==2)]`],
    ['a slice of all for each', numbers, '$[?($[0:])]'],
  ])('%s', async (_, json, path) => {
    await document(json);
    const cpuMs = await cpuMsOfAll(async () => {
      expect(await say('JSON.ARRLEN', 'doc', path)).toMatch(/the path passes more than \d+ values/);
    });
    expect(cpuMs).toBeLessThan(3_000);
    // and the same of a write
    expect(await say('JSON.DEL', 'doc', path)).toMatch(/the path passes more than \d+ values/);
  });
});

test('JSON paths as people write them name a hundred thousand values', async () => {
  await document(`[${'{"a":1,"b":[1,2]},'.repeat(20_000)}1]`);
  for (const path of [
    '$..*',
    '$..a',
    "$..['a','b','c','d']",
    '$..[0,-1]',
    '$[?(@.a==1&&@.b[0]<2)]',
    '$[0:].b[0:]',
  ])
    expect(await say('JSON.CLEAR', 'doc', `${path}.none`), path).toBe('(integer) 0');
});
