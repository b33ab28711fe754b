/** What a datanode measures that Redis does not have: raft, its log, forwarding, the event loop. */
import type { Family, Labelled } from '../../common/http/metrics-page.ts';
import { LatencyHistogram } from '../../common/latency-histogram.ts';
import { limits } from '../../common/limits.ts';
import type { ClientTlsFigures } from '../client-network.ts';
import type { PartitionInfo, ServerInfo } from '../commands/rows/node-context.ts';
import { resolveCommand } from '../commands/table/table.ts';
import type { NodeMetrics } from './metrics.ts';

type KvorumFamily = Family<NodeMetrics>;
type Read = (source: NodeMetrics) => number;

function gauge(name: string, help: string, read: Read): KvorumFamily {
  return { type: 'gauge', name: `kvorum_${name}`, help, read };
}

function counter(name: string, help: string, read: Read): KvorumFamily {
  return { type: 'counter', name: `kvorum_${name}`, help, read };
}

function perPartition(
  name: string,
  help: string,
  value: (one: PartitionInfo) => number,
): KvorumFamily {
  return {
    type: 'gauge',
    name: `kvorum_raft_${name}`,
    help,
    labels: ['namespace', 'partition'],
    read: ({ info }): Labelled<number>[] =>
      info.partitions.slice(0, limits.infoPartitionsMax).map((one) => ({
        labels: { namespace: one.namespace, partition: one.partition },
        value: value(one),
      })),
  };
}

const roles = ['leader', 'follower', 'candidate', 'preCandidate'];

const node: readonly KvorumFamily[] = [
  {
    type: 'gauge',
    name: 'kvorum_node_info',
    help: 'The node and its version; always 1',
    labels: ['node', 'version', 'zone'],
    read: ({ info: { node, facts } }) => [
      { labels: { node, version: facts.version, zone: facts.zone }, value: 1 },
    ],
  },
  gauge('ready', '1 while /readyz says so', ({ ready }) => (ready ? 1 : 0)),
  gauge('replica_faults', 'Replicas that stopped after a fault', ({ faults }) => faults),
  {
    type: 'histogram',
    name: 'kvorum_command_duration_seconds',
    help: "From a request's arrival to its reply; CONFIG RESETSTAT begins anew",
    labels: ['kind'],
    read: ({ info }) => durationsByKind(info),
  },
  {
    type: 'histogram',
    name: 'kvorum_event_loop_delay_seconds',
    help: 'How late timers are called; what holds the loop holds every client',
    read: ({ loopDelay }) => loopDelay,
  },
  counter(
    'peer_tls_refused_total',
    'Connections to the transport that TLS did not let in',
    ({ peersRefused }) => peersRefused,
  ),
  counter(
    'forwarded_commands_total',
    'Commands sent to the node that leads',
    ({ info }) => info.forwardedCommands,
  ),
  counter(
    'repeated_batches_total',
    'Writes sent to the node that leads and asked for again, because their outcome was not known',
    ({ info }) => info.repeatedBatches,
  ),
  counter(
    'lost_entries_total',
    "Log entries of this node's leaders that other replicas were asked about, their outcome not known",
    ({ info }) => info.lostEntries,
  ),
  counter(
    'served_commands_total',
    "Commands of other nodes' clients",
    ({ info }) => info.servedCommands,
  ),
  counter(
    'pubsub_lost_messages_total',
    'Messages for subscribers of peers that were away or did not keep up',
    ({ info }) => info.pubsub.lostMessages,
  ),
  counter(
    'pubsub_slow_subscribers_total',
    'Subscribers disconnected because they did not read',
    ({ info }) => info.pubsub.slowSubscribers,
  ),
  gauge('held_requests', 'Requests waiting for a leader', ({ info }) => info.heldNow),
  counter(
    'held_requests_total',
    'Requests that had to wait for a leader',
    ({ info }) => info.heldTotal,
  ),
  gauge(
    'range_reads',
    'Reads of ranges that are under way',
    ({ info }) => info.replicas.ranges.underWay,
  ),
  gauge(
    'range_reads_waiting',
    'Reads of ranges that wait until others have ended',
    ({ info }) => info.replicas.ranges.waiting,
  ),
  gauge(
    'range_reads_bytes',
    'What large reads of ranges have in memory',
    ({ info }) => info.replicas.ranges.bytes,
  ),
];

const raft: readonly KvorumFamily[] = [
  {
    type: 'gauge',
    name: 'kvorum_raft_groups',
    help: 'Replicas of this node by their role',
    labels: ['role'],
    read: ({ info }) =>
      roles.map((role) => ({
        labels: { role },
        value: info.partitions.filter((one) => one.role === role).length,
      })),
  },
  gauge(
    'raft_groups_asleep',
    'Replicas whose group is idle',
    ({ info }) => info.partitions.filter(({ asleep }) => asleep).length,
  ),
  gauge(
    'raft_apply_lag_entries',
    'Entries committed and not applied here, over all groups',
    ({ info }) => info.partitions.reduce((sum, { lag }) => sum + lag, 0),
  ),
  perPartition('is_leader', 'This node leads the partition', ({ role }) =>
    role === 'leader' ? 1 : 0,
  ),
  perPartition('term', "The replica's term", ({ term }) => term),
  perPartition('commit_index', 'Entries known to be committed', ({ commit }) => commit),
  perPartition('applied_index', 'Entries applied', ({ applied }) => applied),
  counter(
    'raft_elections_won_total',
    'Elections replicas of this node won',
    ({ info }) => info.replicas.electionsWon,
  ),
  counter(
    'raft_leader_losses_total',
    'How often a leader was lost sight of',
    ({ info }) => info.replicas.leaderLosses,
  ),
  {
    type: 'histogram',
    name: 'kvorum_raft_apply_duration_seconds',
    help: 'From known to be committed until in the engine, per batch of entries',
    read: ({ info }) => info.replicas.apply,
  },
  counter(
    'snapshots_sent_total',
    'Snapshots streamed to peers',
    ({ info }) => info.replicas.snapshotsSent,
  ),
  counter(
    'snapshots_received_total',
    'Snapshots taken in',
    ({ info }) => info.replicas.snapshotsReceived,
  ),
  counter(
    'snapshots_failed_total',
    'Snapshot streams that broke',
    ({ info }) => info.replicas.snapshotsFailed,
  ),
];

function ofTls(
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  value: (figures: ClientTlsFigures) => number,
): KvorumFamily {
  const read = ({ clientTls }: NodeMetrics) => clientTls && value(clientTls);
  return { type, name: `kvorum_tls_${name}`, help, read };
}

const tls: readonly KvorumFamily[] = [
  ofTls('counter', 'handshakes_total', 'Of clients, well ended', (one) => one.handshakes),
  ofTls('counter', 'handshake_failures_total', 'Of clients', (one) => one.failures),
  ofTls('counter', 'plain_refused_total', 'Clients without TLS', (one) => one.plainRefused),
  ofTls('gauge', 'handshakes_pending', 'Clients before their handshake', (one) => one.pending),
  {
    type: 'gauge',
    name: 'kvorum_tls_certificate_days_left',
    help: 'Until the first certificate of a file expires',
    labels: ['file'],
    read: ({ tlsDaysLeft }) =>
      tlsDaysLeft?.map(({ file, days }) => ({ labels: { file }, value: days })),
  },
];

const log: readonly KvorumFamily[] = [
  {
    type: 'histogram',
    name: 'kvorum_raft_log_sync_duration_seconds',
    help: 'A synced write of the raft log',
    read: ({ info }) => info.log.syncTime,
  },
  gauge('raft_log_bytes', 'Size of the raft log on disk', ({ info }) => info.log.bytes),
  gauge('raft_log_segments', 'Files of the raft log', ({ info }) => info.log.segments),
  gauge('raft_log_queued_bytes', 'Appended, not durable yet', ({ info }) => info.log.queuedBytes),
  counter(
    'raft_log_written_bytes_total',
    'Written to the raft log',
    ({ info }) => info.log.writtenBytes,
  ),
  counter('raft_log_batches_total', 'Batches made durable', ({ info }) => info.log.batches),
];

export const kvorumFamilies: readonly KvorumFamily[] = [...node, ...raft, ...log, ...tls];

/** The commands' own histograms added up by what they do with the data. */
function durationsByKind({ commandStats }: ServerInfo): Labelled<LatencyHistogram>[] {
  const kinds = { read: new LatencyHistogram(), write: new LatencyHistogram() };
  for (const [name, { latency }] of commandStats) {
    const kind = resolveCommand([Buffer.from(name)])?.kind;
    if (kind === 'read' || kind === 'write') kinds[kind].add(latency);
  }
  return Object.entries(kinds).map(([kind, value]) => ({ labels: { kind }, value }));
}
