import { expect, test } from 'vitest';
import { LonePartition } from '../lone-partition.ts';

test('a small part of a large value keeps none of the rest in memory', async () => {
  const partition = await LonePartition.open();
  await partition.call('SETRANGE', 'k', '1048575', 'x');
  for (const command of ['GETRANGE', 'SUBSTR']) {
    const reply = await partition.call(command, 'k', '-2', '-1');
    if (reply.kind !== 'bulk') throw new Error(`${command} answered ${reply.kind}`);
    expect(reply.bytes).toEqual(Buffer.from('\0x'));
    expect(reply.bytes.buffer.byteLength).toBeLessThanOrEqual(Buffer.poolSize);
  }
});
