import { expect, test } from 'vitest';
import { LonePartition } from '../../commands/lone-partition.ts';

test('what groups of a stream take is not told by how many entries there are', async () => {
  const partition = await LonePartition.open();
  for (let at = 1; at <= 500; at++) await partition.call('XADD', 's', `${at}-1`, 'f', 'v');
  for (let at = 0; at < 10; at++) await partition.call('XGROUP', 'CREATE', 's', `g${at}`, '$');
  const [few, all] = [
    await partition.call('MEMORY', 'USAGE', 's', 'SAMPLES', '5'),
    await partition.call('MEMORY', 'USAGE', 's', 'SAMPLES', '0'),
  ];
  if (few.kind !== 'integer' || all.kind !== 'integer') throw new Error(JSON.stringify([few, all]));
  const ratio = Number(few.value) / Number(all.value);
  expect(ratio).toBeGreaterThan(0.9);
  expect(ratio).toBeLessThan(1.1);
});
