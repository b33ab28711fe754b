import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Metrics, parseMetrics } from '../common/http/parse-metrics.ts';
import { eventually, ledAsWanted, startCluster, type TestCluster } from './cluster.ts';
import { connect } from './load.ts';

const PARTITIONS = 4;
const KEYS = 200;
const nodes = ['datanode1', 'datanode2', 'datanode3'];

let cluster: TestCluster;
let http: ReadonlyMap<string, number>;

beforeAll(async () => {
  cluster = await startCluster({ partitions: PARTITIONS, flags: ['--no-restart'] });
  const { processes } = await cluster.status();
  http = new Map(processes.map(({ name, ports }) => [name, ports.http!]));
  // each node tells of what it leads at the moment: while leaders move, sums are of no moment
  await ledAsWanted(cluster, PARTITIONS);
}, 300_000);
afterAll(() => cluster.destroy(), 300_000);

const get = (name: string, path: string) => fetch(`http://127.0.0.1:${http.get(name)}${path}`);

async function metrics(name: string): Promise<Metrics> {
  const response = await get(name, '/metrics');
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  return parseMetrics(await response.text());
}

/** A value added up over the nodes; where one tells nothing it adds nothing. */
async function sum(name: string, labels: Readonly<Record<string, string>> = {}, of = nodes) {
  let total = 0;
  for (const page of await Promise.all(of.map(metrics))) {
    for (const sample of page.samples(name)) {
      if (Object.entries(labels).every(([label, value]) => sample.labels[label] === value)) {
        total += sample.value;
      }
    }
  }
  return total;
}

const ledBy = async (name: string) =>
  (await metrics(name)).value('kvorum_raft_groups', { role: 'leader' });

test('every process answers its probes', async () => {
  for (const name of [...nodes, 'placedriver1']) {
    expect((await get(name, '/livez')).status, name).toBe(200);
    await eventually(60_000, `${name} is ready`, async () => {
      return (await get(name, '/readyz')).status === 200;
    });
    expect(await (await get(name, '/readyz')).json()).toEqual({ ready: true, reasons: [] });
  }
}, 300_000);

test('the numbers of the nodes add up to what clients did', async () => {
  const client = connect(cluster.gatewayPort(0));
  for (let at = 0; at < KEYS; at++) await client.set(`key:${at}`, at);
  for (let at = 0; at < KEYS; at += 2) await client.get(`key:${at}`);
  for (let at = 0; at < 30; at++) await client.get(`nothing:${at}`);
  for (let at = 0; at < 10; at++) await client.pexpire(`key:${at}`, 20);
  await expect(client.call('nosuch')).rejects.toThrow('unknown command');
  await eventually(
    60_000,
    'keys expire',
    async () => (await sum('redis_expired_keys_total')) === 10,
  );
  expect(await sum('redis_db_keys', { db: 'db0' })).toBe(KEYS - 10);
  expect(await sum('redis_keyspace_hits_total')).toBe(KEYS / 2);
  expect(await sum('redis_keyspace_misses_total')).toBe(30);
  expect(await sum('redis_commands_total', { cmd: 'set' })).toBe(KEYS);
  expect(await sum('kvorum_command_duration_seconds_count', { kind: 'write' })).toBe(KEYS + 10);
  expect(await sum('redis_errors_total', { err: 'ERR' })).toBe(1);
  expect(await sum('redis_cluster_state')).toBe(nodes.length);
  expect(await sum('redis_cluster_slots_assigned')).toBe(nodes.length * 16_384);
  const forwarded = await sum('kvorum_forwarded_commands_total');
  expect(forwarded).toBeGreaterThan(0);
  expect(await sum('kvorum_served_commands_total')).toBe(forwarded);
  expect(await sum('kvorum_raft_groups', { role: 'leader' })).toBe(PARTITIONS);
  expect(await sum('kvorum_raft_groups', { role: 'follower' })).toBe(2 * PARTITIONS);
  expect(await sum('kvorum_raft_log_sync_duration_seconds_count')).toBeGreaterThan(KEYS);
  expect(await sum('kvorum_raft_apply_duration_seconds_count')).toBeGreaterThan(KEYS);
  expect(await sum('kvorum_event_loop_delay_seconds_count')).toBeGreaterThan(0);
  const text = await client.info('stats', 'keyspace');
  expect(text).toMatch(/instantaneous_ops_per_sec:\d+\r\n/);
  await client.call('CONFIG', 'RESETSTAT');
  expect(await sum('redis_commands_total', { cmd: 'set' })).toBe(0);
  client.disconnect();
}, 300_000);

test('the loss of a node shows: on the placedriver, and in elections on the others', async () => {
  const alive = async () => (await metrics('placedriver1')).value('kvorum_pd_datanodes_alive');
  expect(await alive()).toBe(3);
  const rest = nodes.slice(1);
  await ledAsWanted(cluster, PARTITIONS);
  const wonBefore = await sum('kvorum_raft_elections_won_total', {}, rest);
  const lostBefore = await sum('kvorum_raft_leader_losses_total', {}, rest);
  const ledThere = await ledBy('datanode1');
  expect(ledThere).toBeGreaterThan(0);
  cluster.kill('datanode1');
  await eventually(60_000, 'the others lead everything', async () => {
    return (await sum('kvorum_raft_groups', { role: 'leader' }, rest)) === PARTITIONS;
  });
  const won = (await sum('kvorum_raft_elections_won_total', {}, rest)) - wonBefore;
  expect(won).toBeGreaterThanOrEqual(ledThere);
  const lost = (await sum('kvorum_raft_leader_losses_total', {}, rest)) - lostBefore;
  expect(lost).toBeGreaterThanOrEqual(ledThere);
  for (const name of rest) {
    await eventually(60_000, `${name} is ready`, async () => {
      return (await get(name, '/readyz')).status === 200;
    });
  }
  await eventually(90_000, 'its lease ends', async () => (await alive()) === 2);
  await eventually(60_000, 'all is led', async () => {
    return (await metrics('placedriver1')).value('kvorum_pd_partitions_led') === PARTITIONS;
  });
}, 300_000);

test('without a quorum the node that is left is live and says why it is not ready', async () => {
  cluster.kill('datanode2');
  await eventually(60_000, 'it notices', async () => {
    return (await get('datanode3', '/readyz')).status === 503;
  });
  expect((await get('datanode3', '/livez')).status).toBe(200);
  const { ready, reasons } = (await (await get('datanode3', '/readyz')).json()) as {
    ready: boolean;
    reasons: string[];
  };
  expect(ready).toBe(false);
  expect(reasons.some((reason) => /^default\/\d has no leader$/.test(reason))).toBe(true);
  expect((await metrics('datanode3')).value('kvorum_ready')).toBe(0);
}, 300_000);
