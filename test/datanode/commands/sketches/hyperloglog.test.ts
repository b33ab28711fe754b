import { describe, expect, test } from 'vitest';
import { FakeNode } from '../fake-node.ts';
import { LonePartition } from '../lone-partition.ts';

test('PFSELFTEST answers as a server that found nothing wrong', async () => {
  expect(await new FakeNode().call('pfselftest')).toEqual({ kind: 'simple', text: 'OK' });
});

describe('a corrupt sketch', () => {
  test('keeps its bytes when an element after others cannot be added', async () => {
    const partition = await LonePartition.open();
    // `a` falls on a register that the runs hold, `b` on none
    const half = Buffer.concat([
      Buffer.from('HYLL'),
      Buffer.from('0100000000000000000000806000', 'hex'),
    ]);
    const held: string[] = [];
    const beyond: string[] = [];
    for (let at = 0; at < 20; at++) {
      await partition.call('SET', 's', half);
      const reply = await partition.call('PFADD', 's', String(at));
      (reply.kind === 'error' ? beyond : held).push(String(at));
    }
    expect(held.length * beyond.length).toBeGreaterThan(0);
    await partition.call('SET', 's', half);
    const reply = await partition.call('PFADD', 's', held[0]!, beyond[0]!);
    expect(reply).toEqual({ kind: 'error', text: 'INVALIDOBJ Corrupted HLL object detected' });
    expect(await partition.call('GET', 's')).toEqual({ kind: 'bulk', bytes: half });
  });
});
