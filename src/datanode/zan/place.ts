/** Whether this node can take a command for a partition, and if not, what its client is told. */
import type { Namespace, NodeId, PartitionId } from '../../common/ids.ts';
import type { Router } from '../routing/router.ts';
import { goneReply } from '../server/gone.ts';
import { type LanePlace, NO_GROUP } from '../server/lane.ts';
import {
  NO_LEADER,
  NO_NAMESPACE,
  NO_PARTITION,
  NOT_LEADER,
  NOT_READY,
  OTHER_HASH,
} from './refusals.ts';

/** Undefined for a namespace whose keys are dealt out as ZanRedisDB's clients do. */
export function whyNotNamespace({ routes }: Router, namespace: Namespace): string | undefined {
  if (!routes.hasNamespace(namespace)) return NO_NAMESPACE;
  return routes.hasSlots(namespace) ? OTHER_HASH : undefined;
}

export function placeOf(
  { routes }: Router,
  namespace: Namespace,
  partition: PartitionId,
): LanePlace {
  const group = routes.groupOf(namespace, partition) ?? NO_GROUP;
  return { namespace, partition, group };
}

/** Undefined while this node leads it, or, `anywhere`, while the partition is there at all. */
export function whyNotHere(
  router: Router,
  node: NodeId,
  place: LanePlace,
  anywhere: boolean,
): string | undefined {
  const { namespace, partition } = place;
  const record = router.routes.partitions(namespace)?.[partition];
  if (record === undefined) {
    return router.routes.hasNamespace(namespace) ? NO_PARTITION : NO_NAMESPACE;
  }
  if (goneReply(router.routes, place) !== undefined) return NOT_READY;
  if (anywhere || router.isLocalLeader(namespace, partition)) return undefined;
  if (!record.replicas.some((replica) => replica.node === node)) return NO_PARTITION;
  return router.leader(namespace, partition) === undefined ? NO_LEADER : NOT_LEADER;
}
