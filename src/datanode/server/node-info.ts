/** Builds what node commands may ask: the doors' own state and the cluster as this node knows it. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../common/clock.ts';
import { sleep } from '../../common/clock.ts';
import type { Namespace, NodeId, Slot } from '../../common/ids.ts';
import type { AclView } from '../commands/acl-view.ts';
import type { ClusterNode, NodeContext, ServerInfo, Session } from '../commands/node-context.ts';
import type { NodeWatch } from '../commands/node-watch.ts';
import type { PubSub } from '../commands/pubsub-port.ts';
import type { RouteTable } from '../routing/table.ts';

export interface NodeInfoWorld {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly routes: RouteTable;
  readonly pubsub: PubSub;
  info(): ServerInfo;
  sessions(): readonly Session[];
  keyCounts(): Promise<ReadonlyMap<Namespace, { keys: number; expires: number }>>;
  settings(): ReadonlyMap<string, string>;
  setSetting(name: string, value: number): void;
  setForCluster(name: string, value: string): Promise<string | undefined>;
  resetStatistics(): void;
  readonly watch: NodeWatch;
  readonly acl: AclView;
  setActiveExpire(on: boolean): void;
}

export function createNodeContext(world: NodeInfoWorld, session: Session): NodeContext {
  const { clock, routes, node } = world;
  return {
    session,
    nowMs: clock.wallMs(),
    pubsub: world.pubsub,
    info: () => world.info(),
    sessions: () => world.sessions(),
    clusterNodes: () => clusterNodes(routes, node, session.namespace),
    clusterOk: () => everySlotHasLeader(routes, session.namespace),
    hasSlots: () => !routes.hasNamespace(session.namespace) || routes.hasSlots(session.namespace),
    hasNamespace: (namespace) => routes.hasNamespace(namespace),
    keyCounts: () => world.keyCounts(),
    settings: () => world.settings(),
    setSetting: (name, value) => world.setSetting(name, value),
    setForCluster: (name, value) => world.setForCluster(name, value),
    resetStatistics: () => world.resetStatistics(),
    watch: world.watch,
    acl: world.acl,
    setActiveExpire: (on) => world.setActiveExpire(on),
    followersInSync: () => followersInSync(routes, session.namespace),
    sleep: (delayMs) => sleep(clock, delayMs),
  };
}

/** A write is answered once a quorum holds it: all but the leader are followers, in any partition. */
function followersInSync(routes: RouteTable, namespace: Namespace): number {
  const counts = (routes.partitions(namespace) ?? []).map(({ replicas }) =>
    Math.floor(replicas.length / 2),
  );
  return counts.length === 0 ? 0 : Math.min(...counts);
}

/** 40 hex digits, as clients of Redis Cluster expect of a node id. */
export function clusterNodeId(node: NodeId, incarnation: string): string {
  return createHash('sha1').update(`${node}/${incarnation}`).digest('hex');
}

/**
 * All known nodes with the slots they lead. Clients need every slot at some node, so a partition
 * without a leader stays with its last one, or with the node that should lead it.
 */
export function clusterNodes(
  routes: RouteTable,
  myself: NodeId,
  namespace: Namespace,
): ClusterNode[] {
  const slots = slotsByNode(routes, namespace);
  const nodes = [...routes.knownNodes()].map(([node, { record, alive }]) => ({
    node,
    clusterNodeId: clusterNodeId(node, record.incarnation),
    host: record.host,
    clusterPort: record.clusterPort,
    gatewayPort: record.gatewayPort,
    alive: alive || node === myself,
    myself: node === myself,
    slots: slots.get(node) ?? [],
  }));
  return nodes.sort((a, b) => (a.node < b.node ? -1 : 1));
}

function slotsByNode(routes: RouteTable, namespace: Namespace): Map<NodeId, [Slot, Slot][]> {
  const found = new Map<NodeId, [Slot, Slot][]>();
  const known = routes.knownNodes();
  for (const record of routes.partitions(namespace) ?? []) {
    const leader = routes.lastLeader(namespace, record.partition)?.node;
    const node =
      leader !== undefined && known.has(leader)
        ? leader
        : record.replicas.find((replica) => known.has(replica.node))?.node;
    if (node === undefined) continue;
    const ranges = found.get(node) ?? [];
    const last = ranges.at(-1);
    if (last && last[1] + 1 === record.firstSlot) last[1] = record.lastSlot;
    else ranges.push([record.firstSlot, record.lastSlot]);
    found.set(node, ranges);
  }
  return found;
}

function everySlotHasLeader(routes: RouteTable, namespace: Namespace): boolean {
  const partitions = routes.partitions(namespace) ?? [];
  return (
    partitions.length > 0 &&
    partitions.every(({ partition }) => routes.lastLeader(namespace, partition) !== undefined)
  );
}
