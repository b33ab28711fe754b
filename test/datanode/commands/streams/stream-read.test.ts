/** XREAD of many streams, and XRANGE of a long one. */
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { streamRangeCommands } from '../../../../src/datanode/commands/streams/stream-range.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
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
