/** The figures of CLUSTER INFO; /metrics tells the same. Redis's bus and its epochs are not here. */
import { SLOT_COUNT } from '../../../common/hash.ts';
import type { ClusterNode } from '../rows/node-context.ts';

/** How the slots of a namespace are led. */
export interface SlotsLed {
  /** Every partition has had a leader. */
  readonly isEverLed: boolean;
  /** Slots whose leader resigned, or whose node is away: until one is elected nobody serves them. */
  readonly failed: number;
  /** Slots whose leader turned out not to lead, without news of another yet. */
  readonly suspected: number;
}

/**
 * By their names in CLUSTER INFO. Slots without a leader leave the state at `ok`, as in Redis with
 * `cluster-require-full-coverage no`: clients give a cluster in `fail` up, and the other partitions
 * go on serving.
 */
export function clusterFigures(
  nodes: readonly ClusterNode[],
  { isEverLed, failed, suspected }: SlotsLed,
) {
  const covered = nodes.reduce(
    (sum, { slots }) => sum + slots.reduce((count, [from, to]) => count + to - from + 1, 0),
    0,
  );
  return {
    cluster_state: isEverLed && covered === SLOT_COUNT ? 'ok' : 'fail',
    cluster_slots_assigned: covered,
    cluster_slots_ok: Math.max(0, covered - failed - suspected),
    cluster_slots_pfail: suspected,
    cluster_slots_fail: failed,
    cluster_known_nodes: nodes.length,
    cluster_size: nodes.filter(({ slots }) => slots.length > 0).length,
    cluster_current_epoch: 1,
    cluster_my_epoch: 1,
    cluster_stats_messages_sent: 0,
    cluster_stats_messages_received: 0,
  } as const;
}

export type ClusterFigures = ReturnType<typeof clusterFigures>;
