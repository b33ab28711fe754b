/** Commands over several partitions that a gateway splits: the client knows of no partitions there. */
import { afterEach, expect, test } from 'vitest';
import { Client, type ClientError } from '../../src/sdk/index.ts';
import { openDoors } from '../datanode/server/doors.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test('what a gateway has carried out in part is not sent again, nor called undone', async () => {
  const doors = await openDoors(4);
  ends.push(() => doors.close());
  const client = new Client(`redis://127.0.0.1:${doors.gateway}`);
  ends.push(() => client.disconnect());
  // of partition 3 and of partition 0
  expect(await client.rpush('a', 1)).toBe(1);
  const sent = doors.partitions.map(({ batches }) => batches.length);
  doors.partitions[0]!.faults.push({ after: 0, code: 'CONFLICT' });
  const partial = await client.del('a', 'b').catch((failure: ClientError) => failure);
  expect(partial).toMatchObject({
    code: 'PARTIAL',
    retriable: false,
    cause: { code: 'PARTIALOUTCOME' },
  });
  expect(String(partial)).toMatch(/del took effect in part: .*done for 'a'; not done for 'b'/);
  doors.partitions[0]!.faults.push({ after: 0, code: 'OUTCOME_UNKNOWN' });
  const unknown = await client.mset({ a: 1, b: 2 }).catch((failure: ClientError) => failure);
  expect(unknown).toMatchObject({ code: 'OUTCOME_UNKNOWN', retriable: false });
  expect(String(unknown)).toMatch(/mset may have taken effect: .*unknown for 'b'/);
  const now = doors.partitions.map(({ batches }, at) => batches.length - sent[at]!);
  expect(now).toEqual([2, 0, 0, 2]);
});
