/** The figures of CLUSTER INFO; /metrics tells the same. Redis's bus and its epochs are not here. */
import { SLOT_COUNT } from '../../common/hash.ts';
import type { ClusterNode } from './node-context.ts';

/** By their names in CLUSTER INFO; `isLed`: every partition has had a leader. */
export function clusterFigures(nodes: readonly ClusterNode[], isLed: boolean) {
  const covered = nodes.reduce(
    (sum, { slots }) => sum + slots.reduce((count, [from, to]) => count + to - from + 1, 0),
    0,
  );
  return {
    cluster_state: isLed && covered === SLOT_COUNT ? 'ok' : 'fail',
    cluster_slots_assigned: covered,
    cluster_slots_ok: covered,
    cluster_slots_pfail: 0,
    cluster_slots_fail: 0,
    cluster_known_nodes: nodes.length,
    cluster_size: nodes.filter(({ slots }) => slots.length > 0).length,
    cluster_current_epoch: 1,
    cluster_my_epoch: 1,
    cluster_stats_messages_sent: 0,
    cluster_stats_messages_received: 0,
  } as const;
}

export type ClusterFigures = ReturnType<typeof clusterFigures>;
