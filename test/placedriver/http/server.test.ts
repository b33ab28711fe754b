import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import { type HttpServer, startHttp } from '../../../src/placedriver/http/server.ts';
import { ClusterQueries } from '../../../src/placedriver/queries.ts';

let meta: MemoryMeta;
let http: HttpServer;

beforeEach(async () => {
  meta = new MemoryMeta({ clock: systemClock });
  const store = meta.connect();
  const put = (
    key: string,
    record: NodeRecord | NamespaceRecord | PartitionRecord | LeaderRecord,
  ) => store.put(key, encodeRecord(record));
  const replica = { replica: 1, node: 'n1', incarnation: 'i' };
  await put(keys.node('n1'), {
    version: 1,
    node: 'n1',
    incarnation: 'i',
    bootId: 'b',
    host: '127.0.0.1',
    transportPort: 1,
    gatewayPort: 6_379,
    clusterPort: 7_001,
    httpPort: 4,
    tags: { dc_info: 'dc1' },
  });
  await put(keys.namespace('default'), {
    version: 1,
    name: 'default',
    kind: 'redis',
    hash: 'slots',
    partitions: 1,
    replicas: 1,
    expiry: 'consistent',
    ready: true,
  });
  await put(keys.partition('default', 0), {
    version: 1,
    namespace: 'default',
    partition: 0,
    group: 1,
    firstSlot: 0,
    lastSlot: 16_383,
    birth: [replica],
    replicas: [replica],
    epoch: 1,
    fence: 1,
  });
  await put(keys.leader('default', 0), {
    version: 1,
    namespace: 'default',
    partition: 0,
    node: 'n1',
    replica: 1,
    term: 2,
    membership: { epoch: 1, voters: [1], learners: [], joint: false },
  });
  http = await startHttp(
    { host: '127.0.0.1', port: 0 },
    new ClusterQueries(store, 'pd1', '9', () => true),
  );
});

afterEach(() => http.close());

async function get(path: string) {
  const response = await fetch(`http://127.0.0.1:${http.port}${path}`);
  const text = await response.text();
  return { code: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

test('tells the nodes, the namespaces and who leads them', async () => {
  expect(await get('/ping')).toEqual({ code: 200, body: 'OK' });
  expect((await get('/info')).body).toEqual({ version: '9' });
  expect((await get('/datanodes')).body.nodes).toMatchObject([{ node_id: 'n1', dc_info: 'dc1' }]);
  expect((await get('/namespaces')).body).toEqual({ namespaces: ['default'] });
  expect((await get('/query/default')).body).toMatchObject({
    partition_num: 1,
    partitions: { 0: { leader: 'n1', replicas: ['n1'] } },
  });
  expect((await get('/cluster/stats')).body).toMatchObject({ stable: true, master: true, led: 1 });
});

test('says what does not exist, and when the store is away', async () => {
  expect(await get('/query/nothing')).toMatchObject({ code: 404 });
  expect(await get('/what')).toEqual({ code: 404, body: { message: 'no route GET /what' } });
  meta.available = false;
  expect(await get('/datanodes')).toMatchObject({ code: 503 });
});
