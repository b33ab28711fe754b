import { expect, test } from 'vitest';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

const MEMBERS = 1_000;

function parts(reply: Reply): { readonly cursor: string; readonly items: readonly string[] } {
  if (reply.kind !== 'array') throw new Error(reply.kind);
  const [cursor, list] = reply.items;
  if (cursor?.kind !== 'bulk' || list?.kind !== 'array') throw new Error('no cursor, no list');
  const texts = list.items.map((item) =>
    item.kind === 'bulk' ? item.bytes.toString() : item.kind,
  );
  return { cursor: cursor.bytes.toString(), items: texts };
}

/** All that a walk of several steps gives; `between` runs after each. */
async function walk(
  partition: LonePartition,
  line: (cursor: string) => string,
  between: (step: number) => Promise<void>,
): Promise<string[]> {
  const given: string[] = [];
  let cursor = '0';
  for (let step = 0; step < MEMBERS; step++) {
    const reply = parts(await partition.call(...line(cursor).split(' ')));
    given.push(...reply.items);
    cursor = reply.cursor;
    if (cursor === '0') return given;
    await between(step);
  }
  throw new Error('the walk does not end');
}

test('ZSCAN gives every member that stays, with its score, while others come and go', async () => {
  const partition = await LonePartition.open();
  const members = Array.from({ length: MEMBERS }, (_, at) => [String(at / 4), `m${at}`]);
  await partition.call('ZADD', 'z', ...members.flat());
  const given = await walk(
    partition,
    (cursor) => `ZSCAN z ${cursor} COUNT 37`,
    async (step) => {
      await partition.call('ZADD', 'z', '1', `new${step}`);
      await partition.call('ZREM', 'z', `new${step - 1}`);
    },
  );
  const scores = new Map<string, string>();
  for (let at = 0; at < given.length; at += 2) scores.set(given[at]!, given[at + 1]!);
  for (const [score, member] of members) expect(scores.get(member!), member).toBe(score);
});

test('SCAN gives every key that stays, while others come and go, and none that was never there', async () => {
  const partition = await LonePartition.open();
  const stays = Array.from({ length: MEMBERS }, (_, at) => (at % 4 === 0 ? `{t}${at}` : `k${at}`));
  for (const key of stays) await partition.call('SET', key, '1');
  for (let at = 0; at < 200; at++) await partition.call('SADD', `gone${at}`, '1');
  const made = new Set(stays);
  const given = await walk(
    partition,
    (cursor) => `SCAN ${cursor} COUNT 7`,
    async (step) => {
      await partition.call('DEL', `gone${step}`, `new${step - 1}`, `{t}new${step - 1}`);
      for (const key of [`new${step}`, `{t}new${step}`]) {
        made.add(key);
        await partition.call('SET', key, '1');
      }
    },
  );
  const found = new Set(given);
  expect(stays.filter((key) => !found.has(key))).toEqual([]);
  expect(given.filter((key) => !made.has(key) && !/^gone\d+$/.test(key))).toEqual([]);
  const sets = await walk(
    partition,
    (cursor) => `SCAN ${cursor} COUNT 5 TYPE set MATCH gone1*`,
    async () => {},
  );
  const left = await partition.call('KEYS', 'gone1*');
  expect(sets.length).toBeGreaterThan(0);
  expect(left.kind === 'array' && left.items.length).toBe(sets.length);
});

test('HSCAN NOVALUES gives fields alone, of small and of large hashes', async () => {
  const partition = await LonePartition.open();
  await partition.call('HSET', 'small', 'a', '1', 'b', '2');
  for (const line of [
    'HSCAN small 0 NOVALUES',
    'HSCAN small 0 novalues COUNT 5',
    'HSCAN small 0 MATCH * NOVALUES',
  ]) {
    expect(parts(await partition.call(...line.split(' '))).items.toSorted()).toEqual(['a', 'b']);
  }
  const fields = Array.from({ length: MEMBERS }, (_, at) => `f${at}`);
  await partition.call('HSET', 'large', ...fields.flatMap((field) => [field, 'v']));
  const given = await walk(
    partition,
    (cursor) => `HSCAN large ${cursor} COUNT 100 NOVALUES`,
    async () => {},
  );
  expect(given.toSorted()).toEqual(fields.toSorted());
  for (const line of ['SSCAN none 0 NOVALUES', 'ZSCAN none 0 NOVALUES']) {
    expect(replyText(await partition.call(...line.split(' ')))).toContain('(empty)');
  }
  await partition.call('SADD', 's', 'a');
  expect(replyText(await partition.call('SSCAN', 's', '0', 'NOVALUES'))).toContain('syntax error');
});
