import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { LoopMeter } from '../../../src/common/loop-meter.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import { createProbes } from '../../../src/placedriver/http/probes.ts';
import { type HttpServer, startHttp } from '../../../src/placedriver/http/server.ts';
import { ClusterQueries } from '../../../src/placedriver/queries.ts';
import { parseMetrics } from '../../common/http/parse-metrics.ts';

let meta: MemoryMeta;
let http: HttpServer;
let loop: LoopMeter;

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
  loop = new LoopMeter(systemClock);
  loop.start();
  const queries = new ClusterQueries(store, 'pd1', '9', () => true);
  http = await startHttp({ host: '127.0.0.1', port: 0 }, queries, createProbes(queries, loop));
});

afterEach(() => {
  loop.stop();
  return http.close();
});

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

test('is live while its loop turns, ready while the metadata store answers', async () => {
  expect(await get('/livez')).toEqual({ code: 200, body: 'OK' });
  expect(await get('/readyz')).toEqual({ code: 200, body: { ready: true, reasons: [] } });
  meta.available = false;
  expect(await get('/livez')).toEqual({ code: 200, body: 'OK' });
  const away = await get('/readyz');
  expect(away.code).toBe(503);
  expect(away.body.ready).toBe(false);
  expect(away.body.reasons[0]).toMatch(/^the metadata store does not answer: /);
});

test('/metrics tells of the cluster, and of the process alone when the store is away', async () => {
  const store = meta.connect();
  const lease = await store.grantLease(60_000);
  const election = await store.campaign(keys.election, 'pd1', lease);
  const page = parseMetrics((await get('/metrics')).body);
  const { revision } = await store.range(keys.nodes);
  expect(page.value('kvorum_pd_election_revision')).toBe(election.revision);
  expect(page.value('kvorum_pd_metadata_revision')).toBe(revision);
  expect(page.value('kvorum_pd_is_master')).toBe(1);
  expect(page.value('kvorum_pd_datanodes_alive')).toBe(1);
  expect(page.value('kvorum_pd_placedrivers')).toBe(1);
  expect(page.value('kvorum_pd_partitions')).toBe(1);
  expect(page.value('kvorum_pd_partitions_led')).toBe(1);
  expect(page.value('kvorum_pd_info', { placedriver: 'pd1', version: '9' })).toBe(1);
  expect(page.value('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
  await lease.revoke();

  meta.available = false;
  const away = parseMetrics((await get('/metrics')).body);
  expect(away.value('kvorum_pd_store_up')).toBe(0);
  expect(away.samples('kvorum_pd_datanodes_alive')).toEqual([]);
  expect(away.value('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
});
