import { expect, test } from 'vitest';
import { readStream, saveStream } from '../../../../src/datanode/encoding/streams/stream.ts';
import { putGroup, readGroup } from '../../../../src/datanode/encoding/streams/stream-groups.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

const LAST = 2 ** 32 - 2;
const key = Buffer.from('s');
const name = Buffer.from('g');

/** The next group of the stream, and the next consumer of its group, are the last ones. */
async function almostFull(): Promise<LonePartition> {
  const partition = await LonePartition.open();
  await partition.call('XADD', 's', '1-1', 'a', 'b');
  await partition.call('XGROUP', 'CREATE', 's', 'g', '0');
  const txn = new Txn(partition.engine);
  const stream = readStream(txn, key, partition.nowMs);
  if (stream === undefined || stream === 'wrong-type') throw new Error('no stream');
  putGroup(txn, stream.place, { ...readGroup(txn, stream, name)!, nextConsumer: LAST });
  saveStream(txn, { ...stream, nextGroup: LAST, deadlineMs: 0 });
  await partition.engine.write(txn.operations());
  return partition;
}

test('who would be one more than there are numbers is told so, whatever asks', async () => {
  const partition = await almostFull();
  const ask = async (line: string) => replyText(await partition.call(...line.split(' ')));
  expect(await ask('XREADGROUP GROUP g last STREAMS s >')).toContain('"1-1"');
  expect(await ask('XREADGROUP GROUP g last STREAMS s 0')).toContain('"1-1"');
  const full = '(error) ERR the group has had as many consumers as it can ever have';
  for (const line of [
    'XREADGROUP GROUP g more STREAMS s 0',
    'XGROUP CREATECONSUMER s g more',
    'XCLAIM s g more 0 1-1',
    'XAUTOCLAIM s g more 0 -',
  ]) {
    expect(await ask(line)).toContain(full);
  }
  expect(await ask('XPENDING s g')).toContain('"last"');
});

test('groups as well', async () => {
  const partition = await almostFull();
  const ask = async (line: string) => replyText(await partition.call(...line.split(' ')));
  expect(await ask('XGROUP CREATE s h 0')).toBe('OK');
  expect(await ask('XGROUP CREATE s i 0')).toContain('as many groups as it can ever have');
});
