import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { LatencyHistogram } from '../../../src/common/latency-histogram.ts';
import { clusterFigures } from '../../../src/datanode/commands/cluster/cluster-figures.ts';
import type { ServerInfo } from '../../../src/datanode/commands/rows/node-context.ts';
import { type HttpDoor, type ObservedNode, openHttpDoor } from '../../../src/datanode/http/door.ts';
import { readiness } from '../../../src/datanode/status.ts';
import { parseMetrics } from '../../common/http/parse-metrics.ts';
import { FakeNode, serverInfo } from '../commands/fake-node.ts';

let door: HttpDoor;
beforeEach(async () => {
  door = await openHttpDoor(
    { host: '127.0.0.1', port: 0 },
    {
      clock: systemClock,
      peersRefused: () => 3,
      tlsDaysLeft: () => [{ file: 'cert-file', days: 12.5 }],
    },
  );
});
afterEach(() => door.close());

function observed(faults = new Map<number, string>(), leaderless = [] as number[]): ObservedNode {
  const state = () =>
    readiness(
      true,
      leaderless.map((partition) => ({ namespace: 'default', partition })),
      faults,
    );
  return {
    readiness: state,
    info: () => serverInfo,
    keyCounts: () => new Map([['default', { keys: 7, expires: 2 }]]),
    cluster: () => clusterFigures(new FakeNode().nodes, new FakeNode().slotsLed),
    status: () => ({
      node: 'n1',
      incarnation: 'i',
      version: '9',
      ready: state().ready,
      faults: Object.fromEntries(faults),
      partitions: [],
    }),
  };
}

async function get(path: string) {
  const response = await fetch(`http://127.0.0.1:${door.port}${path}`);
  const text = await response.text();
  return { code: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

const metrics = async () => parseMetrics((await get('/metrics')).body);

test('before it has joined a cluster it is live, not ready, and tells of its process', async () => {
  expect(await get('/livez')).toEqual({ code: 200, body: 'OK' });
  expect(await get('/readyz')).toEqual({
    code: 503,
    body: { ready: false, reasons: ['waiting to join a cluster'] },
  });
  expect(await get('/status')).toMatchObject({ code: 503, body: { message: /starting/ } });
  const page = await metrics();
  expect(page.samples('redis_up')).toEqual([]);
  expect(page.value('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
});

test('ready, and not any more once it stops', async () => {
  door.serve(observed());
  expect(await get('/readyz')).toEqual({ code: 200, body: { ready: true, reasons: [] } });
  expect(await get('/status')).toMatchObject({ code: 200, body: { node: 'n1', ready: true } });
  door.stopping();
  expect(await get('/livez')).toMatchObject({ code: 200 });
  expect(await get('/readyz')).toMatchObject({
    code: 503,
    body: { ready: false, reasons: ['this datanode is stopping'] },
  });
});

test('says which partitions have no leader, some of many, and which replicas stopped', async () => {
  const faults = new Map([[3, 'CORRUPT file 000005.ldb']]);
  door.serve(observed(faults));
  expect(await get('/readyz')).toEqual({
    code: 200,
    body: { ready: true, reasons: ['a replica of group 3 stopped: CORRUPT file 000005.ldb'] },
  });
  door.serve(observed(faults, [4, 7]));
  const { code, body } = await get('/readyz');
  expect(code).toBe(503);
  expect(body.reasons.slice(0, 2)).toEqual(['default/4 has no leader', 'default/7 has no leader']);
  const many = Array.from({ length: 1_000 }, (_, at) => at);
  door.serve(observed(faults, many));
  expect((await get('/readyz')).body.reasons).toHaveLength(16);
});

test('what is not here names what is', async () => {
  const { code, body } = await get('/nothing');
  expect(code).toBe(404);
  for (const route of ['/livez', '/readyz', '/metrics']) expect(body.message).toContain(route);
});

test('/metrics has what redis_exporter would make of INFO', async () => {
  door.serve(observed());
  const page = await metrics();
  for (const [name, value] of Object.entries({
    redis_up: 1,
    redis_connected_clients: 3,
    redis_client_recent_max_input_buffer_bytes: 300,
    redis_client_recent_max_output_buffer_bytes: 20_000,
    redis_slowlog_length: 2,
    redis_slowlog_last_id: 9,
    redis_last_slow_execution_duration_seconds: 0.012,
    redis_cluster_enabled: 1,
    redis_cluster_state: 1,
    redis_cluster_slots_assigned: 16_384,
    redis_cluster_slots_ok: 16_384,
    redis_cluster_slots_fail: 0,
    redis_cluster_known_nodes: 3,
    redis_cluster_size: 2,
    redis_cluster_current_epoch: 1,
    redis_blocked_clients: 0,
    redis_memory_used_bytes: 3_145_728,
    redis_memory_max_bytes: 0,
    redis_commands_processed_total: 100,
    redis_keyspace_hits_total: 8,
    redis_keyspace_misses_total: 3,
    redis_expired_keys_total: 6,
    redis_evicted_keys_total: 0,
    redis_net_input_bytes_total: 1_000,
    redis_net_output_bytes_total: 2_000,
    redis_connections_received_total: 9,
    redis_rejected_connections_total: 1,
    redis_master_repl_offset: 11,
    redis_cpu_user_seconds_total: 1.5,
  })) {
    expect(page.value(name), name).toBe(value);
    expect(page.types.get(name)).toBe(name.endsWith('_total') ? 'counter' : 'gauge');
  }
  expect(page.value('redis_commands_total', { cmd: 'set' })).toBe(2);
  expect(page.value('redis_commands_duration_seconds_total', { cmd: 'set' })).toBeCloseTo(0.0004);
  expect(page.value('redis_commands_rejected_calls_total', { cmd: 'set' })).toBe(3);
  expect(page.value('redis_commands_failed_calls_total', { cmd: 'set' })).toBe(1);
  expect(page.value('redis_errors_total', { err: 'MOVED' })).toBe(1);
  expect(page.value('redis_db_keys', { db: 'db0' })).toBe(7);
  expect(page.value('redis_db_keys_expiring', { db: 'db0' })).toBe(2);
  const labels = { role: 'master', redis_version: '7.4.0', process_id: '42' };
  expect(page.value('redis_instance_info', labels)).toBe(1);
});

test('/metrics tells of one door, the cluster port', async () => {
  door.serve(observed());
  const page = await metrics();
  expect(page.value('redis_cluster_enabled')).toBe(1);
  const labels = { redis_mode: 'cluster', tcp_port: '7001' };
  expect(page.value('redis_instance_info', labels)).toBe(1);
});

test('/metrics says when certificates end where clients speak no TLS, too', async () => {
  door.serve(observed());
  const page = await metrics();
  expect(page.value('kvorum_tls_certificate_days_left', { file: 'cert-file' })).toBe(12.5);
  expect(page.samples('kvorum_tls_handshakes_total')).toEqual([]);
});

test('/metrics has what is ours, durations in seconds', async () => {
  door.serve(observed(new Map([[3, 'broken']])));
  const page = await metrics();
  for (const [name, value] of Object.entries({
    kvorum_ready: 1,
    kvorum_replica_faults: 1,
    kvorum_peer_tls_refused_total: 3,
    kvorum_forwarded_commands_total: 11,
    kvorum_served_commands_total: 13,
    kvorum_repeated_batches_total: 17,
    kvorum_lost_entries_total: 19,
    kvorum_held_requests: 2,
    kvorum_held_requests_total: 7,
    kvorum_range_reads: 3,
    kvorum_range_reads_waiting: 23,
    kvorum_range_reads_bytes: 29,
    kvorum_raft_apply_lag_entries: 1,
    kvorum_raft_elections_won_total: 2,
    kvorum_raft_leader_losses_total: 1,
    kvorum_snapshots_sent_total: 1,
    kvorum_raft_log_bytes: 4_096,
    kvorum_raft_log_written_bytes_total: 9_000,
  })) {
    expect(page.value(name), name).toBe(value);
  }
  expect(page.value('kvorum_raft_groups', { role: 'leader' })).toBe(1);
  expect(page.value('kvorum_raft_groups', { role: 'follower' })).toBe(0);
  expect(page.value('kvorum_raft_applied_index', { namespace: 'default', partition: '0' })).toBe(
    11,
  );
  const writes = { kind: 'write' };
  expect(page.value('kvorum_command_duration_seconds_count', writes)).toBe(2);
  expect(page.value('kvorum_command_duration_seconds_sum', writes)).toBeCloseTo(0.0004);
  const within = (le: string) =>
    page.value('kvorum_command_duration_seconds_bucket', { ...writes, le });
  expect([within('0.000128'), within('0.000256')]).toEqual([0, 2]);
  expect(page.value('kvorum_command_duration_seconds_count', { kind: 'read' })).toBe(4);
  expect(page.value('kvorum_raft_log_sync_duration_seconds_sum')).toBeCloseTo(0.0015);
  expect(page.value('kvorum_raft_apply_duration_seconds_count')).toBe(1);
  expect(page.types.get('kvorum_event_loop_delay_seconds')).toBe('histogram');
});

test('the number of series is bounded, whatever the node holds', async () => {
  const [one] = serverInfo.partitions;
  const info: ServerInfo = {
    ...serverInfo,
    partitions: Array.from({ length: 3_000 }, (_, partition) => ({ ...one!, partition })),
    commandStats: new Map([
      [
        'no-such-command',
        { calls: 1, microseconds: 1, rejected: 0, failed: 0, latency: new LatencyHistogram() },
      ],
    ]),
  };
  const namespaces = Array.from({ length: 3_000 }, (_, at) => `namespace${at}`);
  const keyCounts = () => new Map(namespaces.map((name) => [name, { keys: 1, expires: 0 }]));
  door.serve({ ...observed(), info: () => info, keyCounts });
  const page = await metrics();
  expect(page.samples('kvorum_raft_term')).toHaveLength(1_024);
  expect(page.samples('redis_db_keys')).toHaveLength(1_024);
  expect(page.value('kvorum_raft_groups', { role: 'leader' })).toBe(3_000);
  expect(page.value('kvorum_command_duration_seconds_count', { kind: 'read' })).toBe(0);
});

test('the default namespace is db0, and one of that name is not', async () => {
  const keyCounts = () =>
    new Map(['default', 'db0', 'db1'].map((name, keys) => [name, { keys, expires: 0 }]));
  door.serve({ ...observed(), keyCounts });
  const page = await metrics();
  const keys = ['db0', 'namespace:db0', 'db1'].map((db) => page.value('redis_db_keys', { db }));
  expect(keys).toEqual([0, 1, 2]);
});

test('the series of what is gone go with it', async () => {
  const [one] = serverInfo.partitions;
  const holding = (...namespaces: string[]): ObservedNode => ({
    ...observed(),
    info: () => ({
      ...serverInfo,
      partitions: namespaces.map((namespace) => ({ ...one!, namespace })),
    }),
    keyCounts: () => new Map(namespaces.map((name) => [name, { keys: 1, expires: 0 }])),
  });
  door.serve(holding('abandoned', 'kept'));
  expect((await metrics()).samples('redis_db_keys')).toHaveLength(2);
  door.serve(holding('kept'));
  const { body } = await get('/metrics');
  expect(body).toContain('namespace="kept"');
  expect(body).not.toContain('abandoned');
});

/**
 * As redis_exporter 1.45 prints them when it reads a datanode's INFO (with system metrics); shard
 * channels since a later one.
 */
const exporterNames: Readonly<Record<string, readonly string[]>> = {
  gauge: [
    'blocked_clients',
    'client_recent_max_input_buffer_bytes',
    'client_recent_max_output_buffer_bytes',
    'cluster_current_epoch',
    'cluster_enabled',
    'cluster_known_nodes',
    'cluster_my_epoch',
    'cluster_size',
    'cluster_slots_assigned',
    'cluster_slots_fail',
    'cluster_slots_ok',
    'cluster_slots_pfail',
    'cluster_state',
    'config_maxclients',
    'connected_clients',
    'connected_slaves',
    'db_keys',
    'db_keys_expiring',
    'instance_info',
    'last_slow_execution_duration_seconds',
    'loading_dump_file',
    'master_repl_offset',
    'memory_max_bytes',
    'memory_used_bytes',
    'memory_used_peak_bytes',
    'memory_used_rss_bytes',
    'process_id',
    'pubsub_channels',
    'pubsub_patterns',
    'pubsubshard_channels',
    'slowlog_last_id',
    'slowlog_length',
    'start_time_seconds',
    'total_system_memory_bytes',
    'up',
    'uptime_in_seconds',
  ],
  counter: [
    'commands_duration_seconds_total',
    'commands_failed_calls_total',
    'commands_processed_total',
    'commands_rejected_calls_total',
    'commands_total',
    'connections_received_total',
    'cpu_sys_seconds_total',
    'cpu_user_seconds_total',
    'errors_total',
    'evicted_keys_total',
    'expired_keys_total',
    'keyspace_hits_total',
    'keyspace_misses_total',
    'net_input_bytes_total',
    'net_output_bytes_total',
    'rejected_connections_total',
  ],
};

test("every redis_ name is one of redis_exporter's, with its type", async () => {
  door.serve(observed());
  const { types } = await metrics();
  const told = [...types].filter(([name]) => name.startsWith('redis_'));
  expect(told.length).toBeGreaterThan(30);
  for (const [name, type] of told) {
    expect(exporterNames[type], name).toContain(name.slice('redis_'.length));
  }
});
