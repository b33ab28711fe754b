/**
 * What a datanode measures that Redis measures too, under the names of redis_exporter: dashboards
 * and alerts made for it read a datanode without an exporter beside it.
 */
import type { Family, Labelled } from '../../common/http/metrics-page.ts';
import type { Namespace } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { REDIS_VERSION } from '../../common/version.ts';
import type { CommandStat, ServerInfo } from '../commands/rows/node-context.ts';
import type { NodeMetrics } from './metrics.ts';

type RedisFamily = Family<NodeMetrics>;

type Read = (source: NodeMetrics) => number | undefined;

function gauge(name: string, help: string, read: Read): RedisFamily {
  return { type: 'gauge', name: `redis_${name}`, help, read };
}

function counter(name: string, help: string, read: Read): RedisFamily {
  return { type: 'counter', name: `redis_${name}`, help, read };
}

function perCommand(name: string, help: string, value: (stat: CommandStat) => number): RedisFamily {
  return {
    type: 'counter',
    name: `redis_${name}`,
    help,
    labels: ['cmd'],
    read: ({ info }) =>
      [...info.commandStats].map(([cmd, stat]) => ({ labels: { cmd }, value: value(stat) })),
  };
}

function perDatabase(
  name: string,
  help: string,
  value: (counts: { readonly keys: number; readonly expires: number }) => number,
): RedisFamily {
  return {
    type: 'gauge',
    name: `redis_${name}`,
    help,
    labels: ['db'],
    read: ({ keyCounts }): Labelled<number>[] =>
      [...keyCounts].slice(0, limits.infoPartitionsMax).map(([namespace, counts]) => ({
        labels: { db: databaseOf(namespace) },
        value: value(counts),
      })),
  };
}

/** What Redis calls it. A namespace may be called `db0` itself: it gets what no name can be. */
function databaseOf(namespace: Namespace): string {
  if (namespace === 'default') return 'db0';
  return namespace === 'db0' ? 'namespace:db0' : namespace;
}

const process: readonly RedisFamily[] = [
  gauge('up', 'The doors are open', () => 1),
  gauge('uptime_in_seconds', 'Time since the process started', ({ info, nowMs }) =>
    Math.max(0, Math.floor((nowMs - info.facts.startedMs) / 1_000)),
  ),
  gauge('start_time_seconds', 'When the process started, since 1970', ({ info }) =>
    Math.floor(info.facts.startedMs / 1_000),
  ),
  gauge('process_id', 'Process id', ({ info }) => info.facts.processId),
  gauge('loading_dump_file', '1 until the replicas are open', ({ info }) => (info.loading ? 1 : 0)),
  gauge('memory_used_bytes', 'JavaScript objects and buffers', ({ info }) => info.usage.heapBytes),
  gauge(
    'memory_used_peak_bytes',
    'The most of memory_used_bytes',
    ({ info }) => info.peakHeapBytes,
  ),
  gauge('memory_used_rss_bytes', 'Resident memory', ({ info }) => info.usage.rssBytes),
  gauge('memory_max_bytes', 'Limit of memory; 0: none', () => 0),
  gauge(
    'total_system_memory_bytes',
    'Memory of the host',
    ({ info }) => info.facts.systemMemoryBytes,
  ),
  counter(
    'cpu_sys_seconds_total',
    'CPU time in the kernel',
    ({ info }) => info.usage.cpuSystemSeconds,
  ),
  counter(
    'cpu_user_seconds_total',
    'CPU time in user mode',
    ({ info }) => info.usage.cpuUserSeconds,
  ),
  {
    type: 'gauge',
    name: 'redis_instance_info',
    help: 'What this node says of itself; always 1',
    labels: [
      'role',
      'redis_version',
      'redis_mode',
      'os',
      'maxmemory_policy',
      'tcp_port',
      'run_id',
      'process_id',
      'master_replid',
    ],
    // as INFO at the cluster port, whose CLUSTER INFO is further down
    read: ({ info: { facts, clusterPort } }) => [
      {
        labels: {
          role: 'master',
          redis_version: REDIS_VERSION,
          redis_mode: 'cluster',
          os: facts.os,
          maxmemory_policy: 'noeviction',
          tcp_port: clusterPort,
          run_id: facts.runId,
          process_id: facts.processId,
          master_replid: facts.clusterRunId,
        },
        value: 1,
      },
    ],
  },
];

const clients: readonly RedisFamily[] = [
  gauge('connected_clients', 'Client connections', ({ info }) => info.connectedClients),
  gauge(
    'client_recent_max_input_buffer_bytes',
    'Largest unanswered requests of a client',
    ({ info }) => info.clientBuffers.inputBytes,
  ),
  gauge(
    'client_recent_max_output_buffer_bytes',
    'Most bytes that a client has not taken',
    ({ info }) => info.clientBuffers.outputBytes,
  ),
  gauge('blocked_clients', 'Clients in a blocking command', ({ info }) => info.blockedClients),
  gauge(
    'pubsub_channels',
    'Channels that clients of this node listen to',
    ({ info }) => info.pubsub.channels,
  ),
  gauge(
    'pubsub_patterns',
    'Patterns that clients of this node listen to',
    ({ info }) => info.pubsub.patterns,
  ),
  gauge(
    'pubsubshard_channels',
    'Shard channels that clients of this node listen to',
    ({ info }) => info.pubsub.shardChannels,
  ),
  gauge('config_maxclients', 'Connections allowed', ({ info }) => info.clientsMax),
  counter(
    'connections_received_total',
    'Connections accepted',
    ({ info }) => info.totalConnections,
  ),
  counter(
    'rejected_connections_total',
    'Connections refused',
    ({ info }) => info.rejectedConnections,
  ),
  counter('net_input_bytes_total', 'Bytes from clients', ({ info }) => info.inputBytes),
  counter('net_output_bytes_total', 'Bytes to clients', ({ info }) => info.outputBytes),
];

const commands: readonly RedisFamily[] = [
  counter('commands_processed_total', 'Commands carried out', ({ info }) => info.totalCommands),
  perCommand('commands_total', 'Calls per command', ({ calls }) => calls),
  perCommand(
    'commands_duration_seconds_total',
    "Time from the requests' arrival to their replies, per command",
    ({ microseconds }) => microseconds / 1_000_000,
  ),
  perCommand(
    'commands_rejected_calls_total',
    'Answered with an error, not called',
    ({ rejected }) => rejected,
  ),
  perCommand('commands_failed_calls_total', 'Calls that ended in an error', ({ failed }) => failed),
  {
    type: 'counter',
    name: 'redis_errors_total',
    help: 'Error replies by code',
    labels: ['err'],
    read: ({ info }) => [...info.errorStats].map(([err, value]) => ({ labels: { err }, value })),
  },
];

const slowLog: readonly RedisFamily[] = [
  gauge('slowlog_length', 'Commands in the slow log', ({ info }) => info.slowLog.length),
  gauge('slowlog_last_id', 'Id of the newest of them', ({ info }) => newestSlow(info)?.id ?? 0),
  gauge(
    'last_slow_execution_duration_seconds',
    'Time that the newest of them took',
    ({ info }) => (newestSlow(info)?.microseconds ?? 0) / 1_000_000,
  ),
];

function newestSlow(info: ServerInfo) {
  return info.slowLog.newest(1)[0];
}

/** What CLUSTER INFO tells at the cluster port. */
const cluster: readonly RedisFamily[] = [
  gauge('cluster_enabled', 'The node has a cluster port', () => 1),
  gauge(
    'cluster_state',
    '1: every slot is served',
    ({ cluster: of }) => of && (of.cluster_state === 'ok' ? 1 : 0),
  ),
  gauge(
    'cluster_slots_assigned',
    'Slots that a node serves',
    ({ cluster: of }) => of?.cluster_slots_assigned,
  ),
  gauge('cluster_slots_ok', 'Those in order', ({ cluster: of }) => of?.cluster_slots_ok),
  gauge('cluster_slots_pfail', 'None ever', ({ cluster: of }) => of?.cluster_slots_pfail),
  gauge('cluster_slots_fail', 'None ever', ({ cluster: of }) => of?.cluster_slots_fail),
  gauge('cluster_known_nodes', 'Datanodes', ({ cluster: of }) => of?.cluster_known_nodes),
  gauge('cluster_size', 'Datanodes that lead slots', ({ cluster: of }) => of?.cluster_size),
  gauge('cluster_current_epoch', 'Always 1', ({ cluster: of }) => of?.cluster_current_epoch),
  gauge('cluster_my_epoch', 'Always 1', ({ cluster: of }) => of?.cluster_my_epoch),
];

const data: readonly RedisFamily[] = [
  perDatabase('db_keys', 'Keys of the partitions this node leads', ({ keys }) => keys),
  perDatabase('db_keys_expiring', 'Those with a deadline', ({ expires }) => expires),
  counter(
    'keyspace_hits_total',
    'Reads of keys that were there',
    ({ info }) => info.replicas.lookups.hits,
  ),
  counter(
    'keyspace_misses_total',
    'Reads of keys that were not',
    ({ info }) => info.replicas.lookups.misses,
  ),
  counter(
    'expired_keys_total',
    'Keys deleted at their deadline',
    ({ info }) => info.replicas.expiredKeys,
  ),
  counter('evicted_keys_total', 'Keys deleted for lack of memory: none ever', () => 0),
  gauge('connected_slaves', 'Every node is a master', () => 0),
  gauge('master_repl_offset', 'Entries applied, over all groups', ({ info }) =>
    info.partitions.reduce((sum, { applied }) => sum + applied, 0),
  ),
];

export const redisFamilies: readonly RedisFamily[] = [
  ...process,
  ...clients,
  ...commands,
  ...slowLog,
  ...cluster,
  ...data,
];
