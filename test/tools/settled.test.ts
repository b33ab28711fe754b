import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { type ReplicaStatus, statusOf, unsettledOf } from '../../tools/settled.ts';

const replica = (choices: Partial<ReplicaStatus> = {}): ReplicaStatus => ({
  ...{ partition: 0, node: 'a', role: 'follower', leader: 'b', commit: 100, applied: 100 },
  ...{ state: 'running', reads: 'linearizable', ...choices },
});
const wanted = { partitions: 1, replicas: 2 };

test('a cluster is settled when every replica runs, knows its leader and has caught up', () => {
  expect(unsettledOf([[replica()], [replica({ applied: 60 })]], wanted)).toBe(0);
});

test.each<[string, readonly (readonly ReplicaStatus[] | undefined)[], number]>([
  ['a node that does not answer, and its replica', [[replica()], undefined], 2],
  ['a replica that is away', [[replica()], []], 1],
  ['a replica far behind', [[replica()], [replica({ applied: 49 })]], 1],
  ['a replica that stopped', [[replica()], [replica({ state: 'stopped' })]], 1],
  ['a group without a leader', [[replica()], [replica({ leader: null })]], 1],
  ['a replica too many', [[replica(), replica()], [replica()]], 1],
])('%s', (_what, answers, count) => {
  expect(unsettledOf(answers, wanted)).toBe(count);
});

test('a node that is away, or not ready to tell, has no status', async () => {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/status' ? 200 : 404;
    response.end(JSON.stringify({ partitions: [replica()] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await statusOf(`127.0.0.1:${port}`)).toEqual([replica()]);
  await new Promise((resolve) => server.close(resolve));
  expect(await statusOf(`127.0.0.1:${port}`)).toBeUndefined();
});
