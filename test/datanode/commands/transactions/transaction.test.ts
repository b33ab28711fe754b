/** MULTI, EXEC, DISCARD, WATCH, UNWATCH as rows; what they do is seen through connections. */
import { expect, test } from 'vitest';
import { resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import {
  decodeExec,
  encodeExec,
  watchedOf,
} from '../../../../src/datanode/commands/transactions/exec-line.ts';
import type { Slices } from '../../../../src/datanode/encoding/steps/slices.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { replyText } from '../reply-text.ts';

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));

/** Runs one EXEC line on an empty partition. */
async function exec(...texts: string[]): Promise<Reply> {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  const args = encodeExec(texts.map(line));
  const command = resolveCommand(args);
  if (command?.kind !== 'write') throw new Error('EXEC is a row');
  const prepared = command.prepare(args);
  if (!prepared.ok) return prepared.reply;
  const context = { nowMs: 1_000, random: () => 0.5, firstSlot: 0, lastSlot: 16_383 };
  const result = prepared.run(txn, context);
  if ('kind' in result) return result;
  let step = result.next();
  while (!step.done) step = result.next(await txn.range(step.value));
  return step.value;
}

test('commands run one after the other, and see what those before them did', async () => {
  const reply = await exec('SET a 1', 'INCR a', 'GET a', 'RENAME a b', 'EXISTS a b');
  expect(replyText(reply).replace(/^-\n {2}/gm, '')).toBe(
    ['OK', '(integer) 2', '"2"', 'OK', '(integer) 1'].join('\n'),
  );
});

test('others have their turns in the midst of a large one', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  const args = encodeExec(Array.from({ length: 400 }, (_, at) => line(`SET k${at} v`)));
  const command = resolveCommand(args);
  if (command?.kind !== 'write') throw new Error('EXEC is a row');
  const prepared = command.prepare(args);
  if (!prepared.ok) throw new Error('it is one of ours');
  const context = { nowMs: 1_000, random: () => 0.5, firstSlot: 0, lastSlot: 16_383 };
  const run = prepared.run(txn, context) as Slices<Reply>;
  let looks = 0;
  let changesMax = 0;
  for (let before = 0, step = run.next(); !step.done; step = run.next([])) {
    const changes = [...txn.changes()].length;
    changesMax = Math.max(changesMax, changes - before);
    before = changes;
    looks++;
  }
  // a look at the clock behind every command, and behind every eight that are decoded
  expect(changesMax).toBeLessThanOrEqual(2);
  expect(looks).toBeGreaterThan(400 + 400 / 8 - 10);
});

test('one that fails does not hold up the others', async () => {
  const reply = await exec('SET a x', 'INCR a', 'SET a 5 NX XX', 'PING', 'GET a');
  const texts = reply.kind === 'array' ? reply.items.map((item) => replyText(item)) : [];
  expect(texts[1]).toContain('not an integer');
  expect(texts[2]).toBe('(error) ERR syntax error');
  expect(texts[3]).toContain('cannot be part of a transaction');
  expect(texts[4]).toBe('"x"');
});

test('a transaction reads ranges, too', async () => {
  const reply = await exec('MSET a 1 b 2', 'KEYS *');
  expect(reply.kind === 'array' && replyText(reply.items[1]!).split('\n')).toHaveLength(4);
});

test('FLUSHALL in a transaction empties the partition for what comes after it', async () => {
  const reply = await exec('MSET a 1 b 2', 'FLUSHALL', 'DBSIZE', 'SET c 3', 'KEYS *', 'DBSIZE');
  const items = reply.kind === 'array' ? reply.items.map((item) => replyText(item)) : [];
  expect(items).toEqual(['OK', 'OK', '(integer) 0', 'OK', '-\n  "c"', '(integer) 1']);
});

test('the line keeps the commands and what is watched, and bent ones are refused', () => {
  const lines = [line('SET key value'), [Buffer.from('GET'), Buffer.alloc(0)]];
  const encoded = encodeExec(lines, { token: 'abc', calls: 3 });
  expect(decodeExec(encoded)).toEqual(lines);
  expect(watchedOf(encoded)).toEqual({ token: 'abc', calls: 3 });
  const body = encoded[3]!;
  for (let length = 0; length < body.length; length++) {
    expect(decodeExec([...encoded.slice(0, 3), body.subarray(0, length)])).toBeUndefined();
  }
  expect(decodeExec([encoded[0]!])).toBeUndefined();
  const command = resolveCommand(encoded);
  const prepared = command?.kind === 'write' && command.prepare(line('EXEC'));
  expect(prepared).toMatchObject({ ok: false, reply: { text: 'ERR EXEC without MULTI' } });
});
