/**
 * INFO's sections as Redis names and orders them, with the fields that are true of a datanode. What
 * a datanode does not have (forks, evictions) is 0 as in a Redis that does not use it; what
 * it does not measure is left out. Some tools look for the first occurrence of a field's name in the
 * whole text, so no field may be the end of an earlier one's name.
 */
import { REDIS_VERSION } from '../../../common/version.ts';
import { isClusterDoor, type NodeContext, type ServerInfo } from '../rows/node-context.ts';
import { rememberedScripts } from '../scripts/compiled.ts';
import { LATENCY_PERCENTILES } from './config-table.ts';

export type Fields = Readonly<Record<string, string | number>>;

export interface Section {
  /** As it is printed; asked for in any case. */
  readonly title: string;
  /** Shown by INFO alone and by `default`; the others by name, by `all` and by `everything`. */
  readonly byDefault: boolean;
  readonly fields: (context: NodeContext, info: ServerInfo) => Fields | Promise<Fields>;
}

const UNITS = ['B', 'K', 'M', 'G', 'T', 'P'];

/** As Redis prints sizes: whole bytes, then two digits of the next larger unit. */
function human(bytes: number): string {
  let unit = 0;
  let size = bytes;
  while (size >= 1_024 && unit < UNITS.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(2)}${UNITS[unit]}`;
}

const server: Section['fields'] = ({ session, nowMs }, { facts }) => {
  const uptime = Math.max(0, Math.floor((nowMs - facts.startedMs) / 1_000));
  return {
    redis_version: REDIS_VERSION,
    server_name: 'kvorum',
    kvorum_version: facts.version,
    redis_mode: isClusterDoor(session) ? 'cluster' : 'standalone',
    os: facts.os,
    arch_bits: 64,
    process_id: facts.processId,
    run_id: facts.runId,
    tcp_port: session.local.slice(session.local.lastIndexOf(':') + 1),
    server_time_usec: nowMs * 1_000,
    uptime_in_seconds: uptime,
    uptime_in_days: Math.floor(uptime / 86_400),
    hz: facts.hz,
    configured_hz: facts.hz,
    config_file: facts.configFile,
    availability_zone: facts.zone,
  };
};

const clients: Section['fields'] = (_context, info) => ({
  connected_clients: info.connectedClients,
  maxclients: info.clientsMax,
  client_recent_max_input_buffer: info.clientBuffers.inputBytes,
  client_recent_max_output_buffer: info.clientBuffers.outputBytes,
  blocked_clients: info.blockedClients,
  tracking_clients: info.tracking.clients,
  pubsub_clients: info.pubsub.clients,
  watching_clients: info.watches.clients,
  clients_in_timeout_table: info.waits.timed,
  total_watched_keys: info.watches.keys,
  total_blocking_keys: info.waits.keys,
  total_blocking_keys_on_nokey: info.waits.groupKeys,
});

const memory: Section['fields'] = async (context, { usage, facts, peakHeapBytes }) => ({
  used_memory: usage.heapBytes,
  used_memory_human: human(usage.heapBytes),
  used_memory_rss: usage.rssBytes,
  used_memory_rss_human: human(usage.rssBytes),
  used_memory_peak: peakHeapBytes,
  used_memory_peak_human: human(peakHeapBytes),
  total_system_memory: facts.systemMemoryBytes,
  total_system_memory_human: human(facts.systemMemoryBytes),
  used_memory_scripts_eval: rememberedScripts().bytes,
  number_of_cached_scripts: rememberedScripts().count,
  ...(await functionFields(context)),
  maxmemory: 0,
  maxmemory_human: '0B',
  maxmemory_policy: 'noeviction',
  mem_fragmentation_ratio: (usage.rssBytes / Math.max(1, usage.heapBytes)).toFixed(2),
});

/** Of the session's namespace, as FUNCTION STATS; nothing where no partition of it is here. */
async function functionFields({ libraryCounts }: NodeContext): Promise<Fields> {
  const counts = await libraryCounts();
  if (counts === undefined) return {};
  return { number_of_functions: counts.functions, number_of_libraries: counts.libraries };
}

/** Every write is durable before its reply, so the last save is always now. */
const persistence: Section['fields'] = ({ nowMs }, { loading }) => ({
  loading: loading ? 1 : 0,
  async_loading: 0,
  rdb_changes_since_last_save: 0,
  rdb_bgsave_in_progress: 0,
  rdb_last_save_time: Math.floor(nowMs / 1_000),
  rdb_last_bgsave_status: 'ok',
  rdb_last_bgsave_time_sec: -1,
  rdb_current_bgsave_time_sec: -1,
  aof_enabled: 1,
  aof_rewrite_in_progress: 0,
  aof_rewrite_scheduled: 0,
  aof_last_rewrite_time_sec: -1,
  aof_current_rewrite_time_sec: -1,
  aof_last_bgrewrite_status: 'ok',
  aof_last_write_status: 'ok',
  ...(loading && { loading_eta_seconds: 1 }),
});

const kilobytes = (bytes: number) => (bytes / 1_024).toFixed(2);

const stats: Section['fields'] = (_context, info) => ({
  total_connections_received: info.totalConnections,
  total_commands_processed: info.totalCommands,
  instantaneous_ops_per_sec: Math.round(info.rates.commandsPerSecond),
  total_net_input_bytes: info.inputBytes,
  total_net_output_bytes: info.outputBytes,
  instantaneous_input_kbps: kilobytes(info.rates.inputBytesPerSecond),
  instantaneous_output_kbps: kilobytes(info.rates.outputBytesPerSecond),
  rejected_connections: info.rejectedConnections,
  expired_subkeys: info.replicas.expiredFields,
  expired_keys: info.replicas.expiredKeys,
  evicted_keys: 0,
  evicted_clients: info.evictedClients,
  keyspace_hits: info.replicas.lookups.hits,
  keyspace_misses: info.replicas.lookups.misses,
  pubsub_channels: info.pubsub.channels,
  pubsub_patterns: info.pubsub.patterns,
  pubsubshard_channels: info.pubsub.shardChannels,
  latest_fork_usec: 0,
  total_forks: 0,
  tracking_total_keys: info.tracking.keys,
  tracking_total_items: info.tracking.items,
  tracking_total_prefixes: info.tracking.prefixes,
  total_error_replies: info.errorReplies,
  total_reads_processed: info.socketReads,
  total_writes_processed: info.socketWrites,
  acl_access_denied_auth: info.refusals.auth,
  acl_access_denied_cmd: info.refusals.command,
  acl_access_denied_key: info.refusals.key,
  acl_access_denied_channel: info.refusals.channel,
});

/** What takes the place of Redis's offset: entries applied here, over all groups. */
export function replicationOffset({ partitions }: ServerInfo): number {
  return partitions.reduce((sum, { applied }) => sum + applied, 0);
}

/**
 * Every node takes every command, so each is a master; replicas of partitions are no slaves. The
 * follower-read port shows as a slave of its own node, whose cluster port sends on what it may not.
 */
const replication: Section['fields'] = (context, info) => ({
  role: context.session.door === 'follower' ? 'slave' : 'master',
  ...(context.session.door === 'follower' && masterOf(context, info)),
  connected_slaves: 0,
  master_failover_state: 'no-failover',
  master_replid: info.facts.clusterRunId,
  master_replid2: '0'.repeat(40),
  master_repl_offset: replicationOffset(info),
  second_repl_offset: -1,
});

function masterOf({ clusterNodes }: NodeContext, info: ServerInfo) {
  const own = clusterNodes().find(({ myself }) => myself);
  const offset = replicationOffset(info);
  return {
    master_host: own?.host ?? '',
    master_port: own?.clusterPort ?? 0,
    master_link_status: 'up',
    master_last_io_seconds_ago: 0,
    master_sync_in_progress: 0,
    slave_read_repl_offset: offset,
    slave_repl_offset: offset,
    slave_priority: 0,
    slave_read_only: 1,
    replica_announced: 1,
  };
}

const cpu: Section['fields'] = (_context, { usage }) => ({
  used_cpu_sys: usage.cpuSystemSeconds.toFixed(6),
  used_cpu_user: usage.cpuUserSeconds.toFixed(6),
});

const commandstats: Section['fields'] = (_context, { commandStats }) =>
  Object.fromEntries(
    [...commandStats].map(([name, { calls, microseconds, rejected, failed }]) => [
      `cmdstat_${name}`,
      `calls=${calls},usec=${Math.round(microseconds)},` +
        `usec_per_call=${(microseconds / Math.max(1, calls)).toFixed(2)},` +
        `rejected_calls=${rejected},failed_calls=${failed}`,
    ]),
  );

const errorstats: Section['fields'] = (_context, { errorStats }) =>
  Object.fromEntries(
    [...errorStats].map(([code, count]) => [`errorstat_${code}`, `count=${count}`]),
  );

const latencystats: Section['fields'] = (_context, { commandStats }) =>
  Object.fromEntries(
    [...commandStats]
      .filter(([, { calls }]) => calls > 0)
      .map(([name, { latency }]) => [
        `latency_percentiles_usec_${name}`,
        LATENCY_PERCENTILES.map((p) => `p${p}=${latency.percentile(p).toFixed(3)}`).join(','),
      ]),
  );

const cluster: Section['fields'] = ({ session }) => ({
  cluster_enabled: isClusterDoor(session) ? 1 : 0,
});

/** The keys that this node leads; monitoring adds up the nodes. */
const keyspace: Section['fields'] = async ({ keyCounts, session }) => {
  const counts = (await keyCounts()).get(session.namespace);
  if (counts === undefined || counts.keys === 0) return {};
  return { db0: `keys=${counts.keys},expires=${counts.expires},avg_ttl=0` };
};

export const redisSections: readonly Section[] = [
  { title: 'Server', byDefault: true, fields: server },
  { title: 'Clients', byDefault: true, fields: clients },
  { title: 'Memory', byDefault: true, fields: memory },
  { title: 'Persistence', byDefault: true, fields: persistence },
  { title: 'Stats', byDefault: true, fields: stats },
  { title: 'Replication', byDefault: true, fields: replication },
  { title: 'CPU', byDefault: true, fields: cpu },
  { title: 'Modules', byDefault: true, fields: () => ({}) },
  { title: 'Commandstats', byDefault: false, fields: commandstats },
  { title: 'Errorstats', byDefault: true, fields: errorstats },
  { title: 'Latencystats', byDefault: false, fields: latencystats },
  { title: 'Cluster', byDefault: true, fields: cluster },
  { title: 'Keyspace', byDefault: true, fields: keyspace },
];
