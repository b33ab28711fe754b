/**
 * Pure placement: live nodes and their data centres → who holds which partition, as ZanRedisDB deals
 * them out.
 */
import type { NodeId } from '../../common/ids.ts';

export interface PlacementNode {
  readonly node: NodeId;
  /** Data centre (`dc_info`); '' when untagged. */
  readonly dc: string;
}

/**
 * Nodes grouped by data centre, each group sorted by name, dealt out in turn: a1 b1 a2 b2 a3 b3.
 */
export function interleaveNodes(nodes: readonly PlacementNode[]): readonly NodeId[] {
  const groups = new Map<string, NodeId[]>();
  for (const { node, dc } of nodes) {
    const group = groups.get(dc) ?? [];
    group.push(node);
    groups.set(dc, group);
  }
  const queues = [...groups.keys()].sort(compare).map((dc) => groups.get(dc)!.sort(compare));
  const longest = Math.max(0, ...queues.map((queue) => queue.length));
  const order: NodeId[] = [];
  for (let rank = 0; rank < longest; rank++) {
    for (const queue of queues) {
      const node = queue[rank];
      if (node !== undefined) order.push(node);
    }
  }
  return order;
}

/**
 * The first table of a namespace: per partition `replicas` distinct nodes, the first of which
 * leads; the start position advances by one per partition. Throws when there are too few nodes.
 */
export function interleave(
  nodes: readonly PlacementNode[],
  partitions: number,
  replicas: number,
): readonly (readonly NodeId[])[] {
  const order = interleaveNodes(nodes);
  if (order.length < replicas) {
    throw new Error(`${replicas} replicas need as many nodes; only ${order.length} are alive`);
  }
  return Array.from({ length: partitions }, (_, partition) =>
    Array.from({ length: replicas }, (_, rank) => order[(partition + rank) % order.length]!),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
