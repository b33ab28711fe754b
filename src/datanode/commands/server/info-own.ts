/** INFO's sections that Redis does not have, behind those it has: the node, its replicas, its log. */
import { limits } from '../../../common/limits.ts';
import type { PartitionInfo } from '../rows/node-context.ts';
import type { Section } from './info-sections.ts';

const kvorum: Section['fields'] = (_context, info) => ({
  node: info.node,
  partitions: info.partitions.length,
  groups_led: info.partitions.filter(({ role }) => role === 'leader').length,
  groups_asleep: info.partitions.filter(({ asleep }) => asleep).length,
  held_requests: info.heldNow,
  total_held_requests: info.heldTotal,
  range_reads: info.replicas.ranges.underWay,
  range_reads_waiting: info.replicas.ranges.waiting,
  range_reads_bytes: info.replicas.ranges.bytes,
  total_forwarded_commands: info.forwardedCommands,
  total_repeated_batches: info.repeatedBatches,
  total_lost_entries: info.lostEntries,
  total_served_commands: info.servedCommands,
  pubsub_lost_messages: info.pubsub.lostMessages,
  pubsub_slow_subscribers: info.pubsub.slowSubscribers,
});

const raft: Section['fields'] = (_context, { partitions, replicas }) => {
  const shown = partitions.slice(0, limits.infoPartitionsMax);
  return {
    elections_won: replicas.electionsWon,
    leader_losses: replicas.leaderLosses,
    snapshots_sent: replicas.snapshotsSent,
    snapshots_received: replicas.snapshotsReceived,
    snapshots_failed: replicas.snapshotsFailed,
    apply_usec_p50: replicas.apply.percentile(50),
    apply_usec_p99: replicas.apply.percentile(99),
    partitions_not_shown: partitions.length - shown.length,
    ...Object.fromEntries(shown.map(partitionLine)),
  };
};

function partitionLine(one: PartitionInfo): [string, string] {
  const { namespace, partition, group, role, leader, term, commit, applied, lag, reads } = one;
  return [
    `partition_${namespace}_${partition}`,
    `group=${group},role=${role},leader=${leader ?? ''},term=${term},` +
      `commit=${commit},applied=${applied},lag=${lag},reads=${reads}`,
  ];
}

const storage: Section['fields'] = (_context, { log }) => ({
  log_bytes: log.bytes,
  log_segments: log.segments,
  log_queued_bytes: log.queuedBytes,
  log_written_bytes: log.writtenBytes,
  log_batches: log.batches,
  log_syncs: log.syncs,
  log_sync_usec_p50: log.syncTime.percentile(50),
  log_sync_usec_p99: log.syncTime.percentile(99),
});

export const ownSections: readonly Section[] = [
  { title: 'Kvorum', byDefault: false, fields: kvorum },
  { title: 'Raft', byDefault: false, fields: raft },
  { title: 'Storage', byDefault: false, fields: storage },
];
