import { expect, test } from 'vitest';
import { planPorts } from '../../src/cli/port-plan.ts';

test.each([
  ['transport and HTTP', 12_500, 18_001],
  ['all that follow cluster ports', 37_001, 18_001],
  ['the store beside its HTTP door', 7_001, 38_001],
])('inner ports lie below those of outgoing connections: %s', async (_, clusterPort, httpPort) => {
  const doors = { nodes: 3, port: 36_379, clusterPort, httpPort };
  const { meta, datanodes } = await planPorts({ ...doors, embedded: true });
  const inner = datanodes.flatMap(({ follower, transport, http }) => [follower, transport, http]);
  const all = [meta!, ...inner];
  expect(new Set(all).size).toBe(10);
  expect(all.filter((port) => port >= 32_000)).toEqual([]);
});
