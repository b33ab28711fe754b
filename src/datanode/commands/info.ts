/** INFO: the sections of Redis that are true of a datanode, and one of our own. */
import { REDIS_VERSION } from '../../common/version.ts';
import type { Reply } from '../resp/reply.ts';
import { word } from './args.ts';
import { type Command, NO_KEYS, node } from './command.ts';
import type { NodeContext, ServerInfo } from './node-context.ts';

type Fields = Readonly<Record<string, string | number>>;
type Section = (context: NodeContext, info: ServerInfo) => Fields | Promise<Fields>;

const MEBIBYTE = 1_048_576;

function human(bytes: number): string {
  return `${(bytes / MEBIBYTE).toFixed(2)}M`;
}

const sections: Readonly<Record<string, Section>> = {
  server: ({ session, nowMs }, info) => {
    const uptime = Math.max(0, Math.floor((nowMs - info.startedMs) / 1_000));
    return {
      redis_version: REDIS_VERSION,
      redis_mode: session.door === 'cluster' ? 'cluster' : 'standalone',
      kvorum_version: info.version,
      arch_bits: 64,
      process_id: info.processId,
      run_id: info.runId,
      tcp_port: session.local.slice(session.local.lastIndexOf(':') + 1),
      server_time_usec: nowMs * 1_000,
      uptime_in_seconds: uptime,
      uptime_in_days: Math.floor(uptime / 86_400),
      config_file: info.configFile,
    };
  },
  clients: (_context, info) => ({
    connected_clients: info.connectedClients,
    maxclients: info.clientsMax,
    blocked_clients: info.blockedClients,
    tracking_clients: 0,
  }),
  memory: (_context, info) => ({
    used_memory: info.usedMemoryBytes,
    used_memory_human: human(info.usedMemoryBytes),
    used_memory_rss: info.rssBytes,
    used_memory_rss_human: human(info.rssBytes),
    maxmemory: 0,
    maxmemory_human: '0B',
    maxmemory_policy: 'noeviction',
  }),
  persistence: (_context, info) => ({
    loading: info.loading ? 1 : 0,
    async_loading: 0,
    rdb_changes_since_last_save: 0,
    rdb_bgsave_in_progress: 0,
    rdb_last_bgsave_status: 'ok',
    aof_enabled: 1,
    aof_rewrite_in_progress: 0,
    aof_last_bgrewrite_status: 'ok',
    aof_last_write_status: 'ok',
    ...(info.loading && { loading_eta_seconds: 1 }),
  }),
  stats: (_context, info) => ({
    total_connections_received: info.totalConnections,
    total_commands_processed: info.totalCommands,
    total_net_input_bytes: info.inputBytes,
    total_net_output_bytes: info.outputBytes,
    rejected_connections: info.rejectedConnections,
    evicted_keys: 0,
  }),
  replication: () => ({
    role: 'master',
    connected_slaves: 0,
    master_replid: '0'.repeat(40),
    master_repl_offset: 0,
  }),
  cpu: (_context, info) => ({
    used_cpu_sys: info.cpuSystemSeconds.toFixed(6),
    used_cpu_user: info.cpuUserSeconds.toFixed(6),
  }),
  modules: () => ({}),
  commandstats: (_context, info) =>
    Object.fromEntries(
      [...info.commandStats].map(([name, { calls, microseconds }]) => {
        const usec = Math.round(microseconds);
        const each = (microseconds / Math.max(1, calls)).toFixed(2);
        return [`cmdstat_${name}`, `calls=${calls},usec=${usec},usec_per_call=${each}`];
      }),
    ),
  errorstats: () => ({}),
  cluster: ({ session }) => ({ cluster_enabled: session.door === 'cluster' ? 1 : 0 }),
  keyspace: async ({ keyCounts, session }) => {
    const counts = (await keyCounts()).get(session.namespace);
    if (counts === undefined || counts.keys === 0) return {};
    return { db0: `keys=${counts.keys},expires=${counts.expires},avg_ttl=0` };
  },
  kvorum: (_context, info) => ({
    node: info.node,
    partitions: info.partitions.length,
    ...Object.fromEntries(
      info.partitions.map((one) => [
        `partition_${one.namespace}_${one.partition}`,
        `group=${one.group},role=${one.role},leader=${one.leader ?? ''},term=${one.term},` +
          `commit=${one.commit},applied=${one.applied},lag=${one.lag}`,
      ]),
    ),
  }),
};

/** Shown by INFO alone; the others by name, by `all` and by `everything`. */
const byDefault = new Set(
  Object.keys(sections).filter((name) => name !== 'commandstats' && name !== 'kvorum'),
);

/** INFO [section [section ...]] */
async function info(args: readonly Buffer[], context: NodeContext): Promise<Reply> {
  const wanted = args.slice(1).map(word);
  const all = wanted.some((name) => name === 'all' || name === 'everything');
  const defaults = wanted.length === 0 || wanted.includes('default');
  const shown = Object.keys(sections).filter(
    (name) => all || wanted.includes(name) || (defaults && byDefault.has(name)),
  );
  const parts: string[] = [];
  for (const name of shown) {
    const fields = await sections[name]!(context, context.info());
    const lines = Object.entries(fields).map(([field, value]) => `${field}:${value}\r\n`);
    parts.push(`# ${name.charAt(0).toUpperCase()}${name.slice(1)}\r\n${lines.join('')}`);
  }
  return { kind: 'verbatim', format: 'txt', text: parts.join('\r\n') };
}

export const infoCommands: readonly Command[] = [
  node({
    name: 'info',
    arity: -1,
    flags: ['loading', 'stale'],
    keys: NO_KEYS,
    categories: ['dangerous', 'slow'],
    group: 'server',
    since: '1.0.0',
    summary: 'Returns information and statistics about the server.',
    tips: ['nondeterministic_output', 'request_policy:all_shards', 'response_policy:special'],
    run: info,
  }),
];
