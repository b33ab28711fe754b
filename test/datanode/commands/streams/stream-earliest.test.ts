import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareIds, streamIdAt } from '../../../../src/datanode/encoding/records/stream-id.ts';
import { readStream } from '../../../../src/datanode/encoding/streams/stream.ts';
import { readGroup } from '../../../../src/datanode/encoding/streams/stream-groups.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

const ENTRIES = 12;
const ids = Array.from({ length: ENTRIES }, (_, at) => at + 1);

/** All entries are pending for one consumer. */
async function allPending(of = ids): Promise<LonePartition> {
  const partition = await LonePartition.open();
  for (const id of of) await partition.call('XADD', 's', `${id}-0`, 'a', 'b');
  await partition.call('XGROUP', 'CREATE', 's', 'g', '0');
  await partition.call('XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', 's', '>');
  return partition;
}

function earliestIn({ engine, nowMs }: LonePartition): Buffer {
  const view = createView(engine);
  const stream = readStream(view, Buffer.from('s'), nowMs);
  if (stream === undefined || stream === 'wrong-type') throw new Error('no stream');
  return readGroup(view, stream, Buffer.from('g'))!.earliestId;
}

test('where pending entries begin goes on with those that are acknowledged in order', async () => {
  const many = Array.from({ length: 200 }, (_, at) => at + 1);
  const partition = await allPending(many);
  expect(earliestIn(partition)).toEqual(streamIdAt(1));
  for (const id of many.slice(0, 140)) await partition.call('XACK', 's', 'g', `${id}-0`);
  // the last look was when 64 were left
  expect(earliestIn(partition)).toEqual(streamIdAt(137));
  // an earlier one that is claimed is before it
  await partition.call('XCLAIM', 's', 'g', 'c', '0', '3-0', 'FORCE');
  expect(earliestIn(partition)).toEqual(streamIdAt(3));
});

test('whatever is acknowledged in whatever order, the others are found', async () => {
  const order = fc.shuffledSubarray(ids, { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(order, fc.constantFrom(...ids), async (acknowledged, again) => {
      const partition = await allPending();
      for (const id of acknowledged) await partition.call('XACK', 's', 'g', `${id}-0`);
      await partition.call('XCLAIM', 's', 'g', 'd', '0', `${again}-0`, 'FORCE');
      const left = ids.filter((id) => !acknowledged.includes(id) || id === again);
      const text = replyText(await partition.call('XPENDING', 's', 'g', '-', '+', '100'));
      const found = [...text.matchAll(/"(\d+)-0"/g)].map(([, id]) => Number(id));
      expect(found).toEqual(left);
      const earliest = earliestIn(partition);
      expect(left.every((id) => compareIds(earliest, streamIdAt(id)) <= 0)).toBe(true);
    }),
    { numRuns: 60 },
  );
});
