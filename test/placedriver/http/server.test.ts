import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { keys } from '../../../src/meta/schema.ts';
import { parseMetrics } from '../../common/http/parse-metrics.ts';
import { ApiUnderTest, leaderRecord, namespaceRecord, nodeRecord, partitionRecord } from './api.ts';

let api: ApiUnderTest;

beforeEach(async () => {
  api = await new ApiUnderTest().start();
  await api.fill();
});

afterEach(() => api.stop());

const n1 = {
  node_id: 'n1',
  broadcast_address: '10.0.0.1',
  hostname: '10.0.0.1',
  redis_port: '6379',
  follower_port: '8001',
  http_port: '4',
  grpc_port: '',
  version: '',
  dc_info: 'dc1',
};

describe("ZanRedisDB's reads", () => {
  test('tell the nodes, the namespaces and that all is well', async () => {
    expect(await api.get('/ping')).toMatchObject({ code: 200, body: 'OK' });
    expect((await api.get('/info')).body).toEqual({ version: '9' });
    expect((await api.get('/datanodes')).body.nodes).toHaveLength(3);
    expect((await api.get('/datanodes')).body.nodes[0]).toEqual(n1);
    expect((await api.get('/namespaces')).body).toEqual({ namespaces: ['default'] });
    const stats = { stable: true, master: true, datanodes: 3, partitions: 2, led: 2, stopped: 0 };
    expect((await api.get('/cluster/stats')).body).toMatchObject(stats);
  });

  test('tell that not all is well while a node is away, comes back empty, or is emptied', async () => {
    const stable = async () => {
      await api.seen();
      return (await api.get('/cluster/stats')).body.stable;
    };
    await api.store.delete(keys.node('n3')); // it led nothing
    expect(await stable()).toBe(false);
    await api.put(keys.node('n3'), nodeRecord('n3', { incarnation: 'n3-2' }));
    expect(await stable()).toBe(false);
    await api.put(keys.node('n3'), nodeRecord('n3'));
    expect(await stable()).toBe(true);
    const draining = { sinceMs: 1, replicas: 2 };
    const state = { version: 1, node: 'n3', firstSeenMs: 1 };
    await api.put(keys.nodeState('n3'), { ...state, draining } as { version: number });
    expect(await stable()).toBe(false);
    await api.put(keys.nodeState('n3'), state as { version: number });
    expect(await stable()).toBe(true);
  });

  test('tell that not all is well while a replica of a living node has stopped', async () => {
    const carries = { replicas: 2, leaders: 0, keys: 0, diskBytes: 1, memoryBytes: 1 };
    const told = async (stopped?: number[]) => {
      const load = { version: 1, node: 'n3', ...carries, ...(stopped && { stopped }) };
      await api.put(keys.load('n3'), load);
      await api.seen();
      return (await api.get('/cluster/stats')).body;
    };
    // the second is none of a partition's: it is on its way out
    expect(await told([13, 99])).toMatchObject({ stable: false, led: 2, stopped: 1 });
    // as an older build tells it
    expect(await told()).toMatchObject({ stable: true, stopped: 0 });
  });

  test('/query tells each partition with its leader and replicas as nodes', async () => {
    const { body } = await api.get('/query/default');
    expect(body).toMatchObject({ partition_num: 2, replicator: 3, hash: 'slots' });
    expect(Object.keys(body.partitions)).toEqual(['0', '1']);
    expect(body.partitions['0'].leader).toEqual(n1);
    expect(body.partitions['0'].replicas.map((node: typeof n1) => node.node_id)).toEqual([
      'n1',
      'n2',
      'n3',
    ]);
    expect(await api.get('/query/nothing')).toMatchObject({
      code: 404,
      body: { message: 'no namespace nothing' },
    });
  });

  test('/query keeps a partition whose record cannot be read any more, as do the lists of /v1', async () => {
    await api.put(keys.partition('default', 1), { version: 1 });
    await api.seen();
    for (const path of ['/query/default', '/query/default?disable_cache=true']) {
      expect(Object.keys((await api.get(path)).body.partitions)).toEqual(['0', '1']);
    }
    const { partitions } = (await api.get('/v1/namespaces/default/partitions')).body;
    expect(partitions).toHaveLength(2);
    expect((await api.get('/v1/nodes/n2')).body).toMatchObject({ replicas: 2 });
    expect((await api.get('/cluster/stats')).body).toMatchObject({ partitions: 2, led: 2 });
  });

  test('/query leaves out nodes that are away, and keeps the partition they led', async () => {
    await api.store.delete(keys.node('n1'));
    await api.seen();
    const { partitions } = (await api.get('/query/default')).body;
    expect(partitions['0'].leader).toMatchObject({ node_id: '', redis_port: '' });
    expect(partitions['0'].replicas.map((node: typeof n1) => node.node_id)).toEqual(['n2', 'n3']);
    expect((await api.get('/cluster/stats')).body).toMatchObject({ stable: false, led: 0 });
  });

  test('give the port of ZanRedisDB’s clients, and to a murmur3 namespace no other', async () => {
    await api.put(keys.node('n1'), nodeRecord('n1', { zanPort: 12_380 }));
    await api.put(keys.namespace('zan'), namespaceRecord('zan', { hash: 'murmur3' }));
    for (const partition of [0, 1]) {
      const record = partitionRecord('zan', partition, ['n1', 'n2']);
      await api.put(keys.partition('zan', partition), record);
      await api.put(keys.leader('zan', partition), leaderRecord(record));
    }
    await api.seen();
    const { nodes } = (await api.get('/datanodes')).body;
    expect(nodes.map((node: typeof n1) => node.redis_port)).toEqual(['12380', '6379', '6379']);
    const { partitions } = (await api.get('/query/zan')).body;
    expect(Object.keys(partitions)).toEqual(['0', '1']);
    expect(partitions['1'].leader).toMatchObject({ node_id: 'n1', redis_port: '12380' });
    expect(partitions['1'].replicas.map((node: typeof n1) => node.redis_port)).toEqual([
      '12380',
      '',
    ]);
  });

  test('/query has a leader among the replicas that is about to hold none', async () => {
    const record = partitionRecord('default', 0, ['n1', 'n2', 'n3']);
    await api.put(keys.leader('default', 0), leaderRecord(record, 'n3'));
    const left = partitionRecord('default', 0, ['n1', 'n2'], { epoch: 2 });
    await api.put(keys.partition('default', 0), left);
    await api.seen();
    const { leader, replicas } = (await api.get('/query/default')).body.partitions['0'];
    expect(leader.node_id).toBe('n3');
    expect(replicas.map((node: typeof n1) => node.node_id)).toEqual(['n1', 'n2', 'n3']);
  });

  test('/query answers 304 until the table, a leader, an address or the options change', async () => {
    const epoch = async () => (await api.get('/query/default')).body.epoch as number;
    const record = partitionRecord('default', 0, ['n1', 'n2', 'n3']);
    const changes = [
      () => api.put(keys.leader('default', 0), leaderRecord(record, 'n2')),
      () =>
        api.put(keys.partition('default', 0), { ...record, replicas: record.replicas.slice(1) }),
      () => api.put(keys.node('n1'), nodeRecord('n1', { gatewayPort: 6_380 })),
      () => api.store.delete(keys.node('n3')),
    ];
    for (const change of changes) {
      const before = await epoch();
      const unchanged = await api.get(`/query/default?epoch=${before}`);
      expect(unchanged).toMatchObject({ code: 304, body: '' });
      await change();
      await api.seen();
      expect(await epoch()).toBeGreaterThan(before);
      expect((await api.get(`/query/default?epoch=${before}`)).code).toBe(200);
    }
    const last = await epoch();
    await api.put(keys.setting('x'), { version: 1 });
    const learning = { learners: [99] };
    await api.put(keys.leader('default', 0), leaderRecord(record, 'n2', learning));
    const catchingUp = [{ replica: 99, match: 1, last: 2 }];
    const told = { ...leaderRecord(record, 'n2', learning), catchingUp };
    await api.put(keys.leader('default', 0), told);
    await api.seen();
    expect(await epoch(), 'what clients are not told changes nothing').toBe(last);
    const { revision } = api.view;
    expect(revision, 'another placedriver may have told any of these').toBeGreaterThan(last + 1);
    expect((await api.get(`/query/default?epoch=${revision}`)).code).toBe(304);
    expect((await api.get(`/query/default?epoch=${revision + 1}`)).code).toBe(200);
    expect((await api.get(`/query/default?epoch=${last}&disable_cache=true`)).code).toBe(304);
    const fresh = await api.get('/query/default?disable_cache=true');
    expect(fresh.body).toEqual((await api.get('/query/default')).body);
  });

  test('/listpd tells them in Go’s names, without banned ones', async () => {
    const pd = { version: 1, host: '10.0.0.9', httpPort: 18_001, build: '9' };
    await api.put(keys.placedriver('pd1'), { ...pd, name: 'pd1' });
    await api.put(keys.placedriver('pd2'), { ...pd, name: 'pd2' });
    await api.seen();
    const none = (await api.get('/listpd')).body.pdleader;
    expect(none).toMatchObject({ ID: '', NodeIP: '', HttpPort: '' });
    await api.store.put(`${keys.election}1`, 'pd2');
    await api.put(keys.ban('pd1'), { version: 1, name: 'pd1', sinceMs: 1 });
    await api.seen();
    const { pdnodes, pdleader } = (await api.get('/listpd')).body;
    expect(pdnodes.map(({ ID }: { ID: string }) => ID)).toEqual(['pd2']);
    expect(pdleader).toMatchObject({ ID: 'pd2', NodeIP: '10.0.0.9', HttpPort: '18001', Tags: {} });
  });
});

describe('what goes wrong', () => {
  test('says what does not exist', async () => {
    const message = 'no route GET /what; see /v1/openapi.json';
    expect(await api.get('/what')).toMatchObject({ code: 404, body: { message } });
  });

  test('answers what it knows while the store is away, and says how old it is', async () => {
    expect((await api.get('/datanodes')).headers['kvorum-stale-ms']).toBeUndefined();
    api.meta.available = false;
    api.awayMs = 1_234;
    const { code, headers, body } = await api.get('/datanodes');
    expect([code, headers['kvorum-stale-ms'], body.nodes.length]).toEqual([200, '1234', 3]);
    expect((await api.get('/v1/cluster')).body.staleMs).toBe(1_234);
    expect(await api.get('/query/default?disable_cache=true')).toMatchObject({ code: 503 });
  });

  test('is asked to wait before it has heard from the store', async () => {
    const fresh = new ApiUnderTest();
    fresh.meta.available = false;
    await fresh.start();
    const { code, headers, body } = await fresh.get('/datanodes');
    expect([code, headers['retry-after']]).toEqual([503, '1']);
    expect(body.message).toContain('has not heard from the metadata store yet');
    expect((await fresh.get('/v1/events')).code).toBe(503);
    expect((await fresh.get('/readyz')).code).toBe(503);
    await fresh.stop();
  });
});

describe('probes', () => {
  test('it is live while its loop turns, ready while the metadata store answers', async () => {
    expect(await api.get('/livez')).toMatchObject({ code: 200, body: 'OK' });
    expect(await api.get('/readyz')).toMatchObject({ code: 200, body: { ready: true } });
    api.meta.available = false;
    expect(await api.get('/livez')).toMatchObject({ code: 200, body: 'OK' });
    const away = await api.get('/readyz');
    expect(away.code).toBe(503);
    expect(away.body.reasons[0]).toMatch(/^the metadata store does not answer: /);
  });

  test('/metrics tells of the cluster, and of the process alone when the store is away', async () => {
    const lease = await api.store.grantLease(60_000);
    const election = await api.store.campaign(keys.election, 'pd1', lease);
    for (const name of ['pd1', 'pd2']) {
      const pd = { version: 1, name, host: 'h', httpPort: 1, build: '9' };
      await api.put(keys.placedriver(name), pd);
    }
    await api.seen();
    const page = parseMetrics((await api.get('/metrics')).body);
    const { revision } = await api.store.range(keys.nodes);
    expect(page.value('kvorum_pd_election_revision')).toBe(election.revision);
    expect(page.value('kvorum_pd_metadata_revision')).toBe(revision);
    expect(page.value('kvorum_pd_is_master')).toBe(1);
    expect(page.value('kvorum_pd_datanodes_alive')).toBe(3);
    // one of them does not want to be master
    expect(page.value('kvorum_pd_placedrivers')).toBe(2);
    expect(page.value('kvorum_pd_partitions')).toBe(2);
    expect(page.value('kvorum_pd_partitions_led')).toBe(2);
    expect(page.value('kvorum_pd_info', { placedriver: 'pd1', version: '9' })).toBe(1);
    expect(page.value('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
    await lease.revoke();

    api.meta.available = false;
    const away = parseMetrics((await api.get('/metrics')).body);
    expect(away.value('kvorum_pd_store_up')).toBe(0);
    expect(away.samples('kvorum_pd_datanodes_alive')).toEqual([]);
    expect(away.value('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
  });

  test('/metrics tells that the store answers, though it has not told yet what it holds', async () => {
    vi.spyOn(api.view, 'ready', 'get').mockReturnValue(false);
    const page = parseMetrics((await api.get('/metrics')).body);
    expect(page.value('kvorum_pd_store_up')).toBe(1);
    expect(page.value('kvorum_pd_metadata_revision')).toBeGreaterThan(0);
    expect(page.samples('kvorum_pd_partitions')).toEqual([]);
  });
});
