/** What `startCluster` refuses; what it starts is used by test/cluster/sdk.test.ts. */
import { expect, test } from 'vitest';
import { startCluster } from '../../src/testing/start-cluster.ts';

test.each([
  [{ nodes: 0 }, /nodes 0: must be a whole number from 1 to 16/],
  [{ nodes: 1.5 }, /nodes 1.5/],
  [{ nodes: 2, replicas: 3 }, /replicas 3: must be a whole number from 1 to 2/],
  [{ partitions: 5_000 }, /partitions 5000/],
  [{ node: 1 }, /there is no option node \(did you mean nodes\?\); there are nodes, partitions/],
  [{ Replicas: 1 }, /no option Replicas \(did you mean replicas\?\)/],
])('%j is refused', async (options, text) => {
  await expect(startCluster(options as object)).rejects.toThrow(text);
});
