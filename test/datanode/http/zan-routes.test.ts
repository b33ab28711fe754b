import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NodeStatus } from '../../../src/datanode/http/server.ts';
import { addZanRoutes } from '../../../src/datanode/http/zan-routes.ts';
import type { ReplicaStatus } from '../../../src/datanode/status.ts';

let app: FastifyInstance;
let status: NodeStatus | undefined;

const replica = (more: Partial<ReplicaStatus> = {}): ReplicaStatus => ({
  namespace: 'default',
  partition: 3,
  group: 7,
  node: 'n1',
  replica: 21,
  role: 'leader',
  leader: 'n1',
  term: 4,
  commit: 90,
  applied: 90,
  lastIndex: 91,
  state: 'running',
  asleep: false,
  reads: 'linearizable',
  members: [
    { node: 'n1', id: 21, match: 91 },
    { node: 'n2', id: 22, match: 90 },
  ],
  ...more,
});

function holding(...partitions: ReplicaStatus[]): void {
  status = { node: 'n1', incarnation: 'i', version: '9', ready: true, faults: {}, partitions };
}

beforeEach(() => {
  app = fastify({ logger: false });
  addZanRoutes(app, '9', () => status);
  holding(replica(), replica({ namespace: 'a-b', partition: 0, role: 'follower', leader: 'n2' }));
});

afterEach(() => app.close());

async function get(url: string) {
  const { statusCode, body } = await app.inject({ method: 'GET', url });
  return { code: statusCode, body: JSON.parse(body) };
}

const first = { id: 21, node_id: 'n1', group_name: 'default-3', group_id: 7 };

test('tells the leader and the members of a group it holds', async () => {
  expect(await get('/cluster/leader/default-3')).toEqual({ code: 200, body: first });
  const members = (await get('/cluster/members/default-3')).body;
  expect(members).toEqual([first, { ...first, id: 22, node_id: 'n2' }]);
  const dashed = (await get('/cluster/leader/a-b-0')).body;
  expect(dashed).toMatchObject({ node_id: 'n2', group_name: 'a-b-0' });
  holding(replica({ role: 'follower', leader: null }));
  expect(await get('/cluster/leader/default-3')).toMatchObject({ code: 404 });
});

test('is synced as a voter that knows its leader and lags nowhere', async () => {
  expect((await get('/cluster/israftsynced/default-3')).code).toBe(200);
  for (const behind of [{ applied: 89 }, { role: 'learner' }, { leader: null }]) {
    holding(replica(behind));
    expect((await get('/cluster/israftsynced/default-3')).code).toBe(406);
  }
});

test('says what is no group, and what it does not hold', async () => {
  for (const name of ['default', 'default-x', '-3']) {
    const { code, body } = await get(`/cluster/members/${name}`);
    expect([code, body.message]).toEqual([
      400,
      `nspid must be NAMESPACE-PARTITION, as default-3; it is ${name}`,
    ]);
  }
  expect(await get('/cluster/members/default-4')).toMatchObject({ code: 404 });
});

test('/raft/stats and /stats choose by namespace and by leadership', async () => {
  const names = async (query: string) =>
    (await get(`/raft/stats${query}`)).body.map((one: { group_name: string }) => one.group_name);
  expect(await names('')).toEqual(['default-3', 'a-b-0']);
  expect(await names('?namespace=a-b')).toEqual(['a-b-0']);
  expect(await names('?leader_only=true')).toEqual(['default-3']);
  expect((await get('/raft/stats?namespace=default')).body[0]).toMatchObject({
    term: 4,
    commit: 90,
    last_index: 91,
    members: [{ node_id: 'n1', match: 91 }, { node_id: 'n2' }],
  });
  const stats = { version: '9', health: 'OK', replicas: 2, leaders: 1, lag: 0 };
  expect((await get('/stats')).body).toMatchObject(stats);
  expect(await get('/stats?leader_only=1')).toMatchObject({ code: 400 });
  expect((await get('/info')).body).toEqual({ version: '9' });
});

test('a node that is starting says so', async () => {
  expect((await get('/node/allready')).code).toBe(200);
  status = undefined;
  expect((await get('/node/allready')).code).toBe(406);
  for (const url of ['/cluster/members/default-3', '/raft/stats', '/stats']) {
    expect((await get(url)).code, url).toBe(503);
  }
});
