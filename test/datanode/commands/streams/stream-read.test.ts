/** XREAD of many streams, and XRANGE of a long one. */
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { applyVersions } from '../../../../src/datanode/commands/rows/apply-versions.ts';
import { streamRangeCommands } from '../../../../src/datanode/commands/streams/stream-range.ts';
import { ReadAhead } from '../../../../src/datanode/encoding/txn/read-ahead.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import { runReply } from '../../../../src/datanode/partition/turns/run-ranges.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

const KEYS = 1_000;

test('XREAD gives way while it looks up many streams', async () => {
  const { engine } = await LonePartition.open();
  const row = streamRangeCommands.find(({ name }) => name === 'xread')!;
  const keys = Array.from({ length: KEYS }, (_, at) => `s${at}`);
  const line = ['XREAD', 'STREAMS', ...keys, ...keys.map(() => '0')];
  if (row.kind !== 'read') throw new Error('it reads');
  const prepared = row.prepare(line.map((word) => Buffer.from(word)));
  if (!prepared.ok) throw new Error('the line is well formed');
  const context = { nowMs: 0, firstSlot: 0, lastSlot: 16_383, random: () => 0 };
  const run = prepared.run(createView(engine), context);
  if ('kind' in run) throw new Error('it looked up all at once');
  let turns = 0;
  for (let step = run.next(); !step.done; step = run.next([])) turns++;
  expect(turns).toBeGreaterThan(KEYS / 20);
});

test('a range that outgrows the bound of replies is refused, and read in parts', async () => {
  const partition = await LonePartition.open();
  const value = Buffer.alloc(1_048_576, 'v');
  const count = limits.replyBytesMax / value.length + 1;
  for (let at = 1; at <= count; at++) await partition.call('XADD', 's', `${at}-0`, 'f', value);
  const tooLarge = /larger than reply-bytes-max .*; use a smaller COUNT$/;
  for (const line of ['XRANGE s - +', 'XREVRANGE s + -', 'XREAD STREAMS none s 0 0']) {
    expect(replyText(await partition.call(...line.split(' '))), line).toMatch(tooLarge);
  }
  const reply = await partition.call('XRANGE', 's', '-', '+', 'COUNT', '3');
  expect(reply.kind === 'array' && reply.items.length).toBe(3);
});

/** What `text` answers in an entry of that version; undefined: in none. */
async function readIn(partition: LonePartition, text: string, applyVersion?: number) {
  const row = streamRangeCommands.find(({ name }) => name === 'xread')!;
  const prepared =
    row.kind === 'read' && row.prepare(text.split(' ').map((word) => Buffer.from(word)));
  if (prepared === false || !prepared.ok) throw new Error('the line is well formed');
  const context = {
    ...{ nowMs: 0, firstSlot: 0, lastSlot: 16_383, random: () => 0 },
    ...(applyVersion !== undefined && { applyVersion }),
  };
  const view = createView(partition.engine);
  const pace = { isDue: () => false, pause: () => Promise.resolve() };
  const result = prepared.run(view, context);
  const ahead = new ReadAhead(partition.engine);
  return replyText('kind' in result ? result : await runReply(result, ahead, pace));
}

test('XREAD from + gives the last entry that there is, and nothing of an empty stream', async () => {
  const partition = await LonePartition.open();
  const ask = async (text: string) => replyText(await partition.call(...text.split(' ')));
  for (const id of ['1-1', '2-1', '3-1']) await ask(`XADD s ${id} at ${id}`);
  expect(await ask('XREAD STREAMS s +')).toBe(await ask('XREAD STREAMS s 2-1'));
  expect(await ask('XREAD COUNT 5 STREAMS s +')).toBe(await ask('XREAD STREAMS s 2-1'));
  await ask('XDEL s 3-1');
  expect(await ask('XREAD STREAMS s +')).toBe(await ask('XREAD STREAMS s 1-1'));
  expect(await ask('XREAD STREAMS s none s + + 9-9')).toBe(await ask('XREAD STREAMS s 1-1'));
  await ask('XDEL s 1-1 2-1');
  expect(await ask('XREAD STREAMS s none + +')).toBe('(nil)');
});

test('builds that do not know + are told as they tell it themselves', async () => {
  const partition = await LonePartition.open();
  await partition.call('XADD', 's', '1-1', 'f', 'v');
  const newest = await readIn(partition, 'XREAD STREAMS s +');
  expect(newest).toContain('1-1');
  expect(await readIn(partition, 'XREAD STREAMS s +', applyVersions.laterRedis)).toBe(newest);
  expect(await readIn(partition, 'XREAD STREAMS s +', applyVersions.laterRedis - 1)).toBe(
    '(error) ERR Invalid stream ID specified as stream command argument',
  );
});
