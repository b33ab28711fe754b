/** Builds what node commands may ask: the doors' own state and the cluster as this node knows it. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../common/clock.ts';
import { sleep } from '../../common/clock.ts';
import type { Namespace, NodeId, Slot } from '../../common/ids.ts';
import { clientAddress, type PartitionRecord } from '../../meta/schema.ts';
import {
  type ClusterFigures,
  clusterFigures,
  type SlotsLed,
} from '../commands/cluster/cluster-figures.ts';
import type { Tracking } from '../commands/connection/tracking-port.ts';
import type { PubSub } from '../commands/pubsub/pubsub-port.ts';
import type { BackupPort } from '../commands/rows/backup-port.ts';
import type {
  ClusterNode,
  Follower,
  LibraryCounts,
  NodeContext,
  ServerInfo,
  Session,
  SlotRange,
} from '../commands/rows/node-context.ts';
import type { NodeWatch } from '../commands/rows/node-watch.ts';
import type { AclView } from '../commands/users/acl-view.ts';
import type { RouteTable } from '../routing/table.ts';

export interface NodeInfoWorld {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly routes: RouteTable;
  readonly pubsub: PubSub;
  readonly backups: BackupPort;
  readonly tracking: Tracking;
  info(): ServerInfo;
  sessions(): readonly Session[];
  keyCounts(): Promise<ReadonlyMap<Namespace, { keys: number; expires: number }>>;
  libraryCounts(namespace: Namespace): Promise<LibraryCounts | undefined>;
  settings(): ReadonlyMap<string, string>;
  settingProblem(name: string, value: number): string | undefined;
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
    backups: world.backups,
    tracking: world.tracking,
    info: () => world.info(),
    sessions: () => world.sessions(),
    clusterNodes: () => clusterNodes(routes, node, session.namespace),
    slotRanges: () => slotRanges(routes, node, session.namespace),
    slotsLed: () => slotsLed(routes, node, session.namespace),
    hasSlots: () => !routes.hasNamespace(session.namespace) || routes.hasSlots(session.namespace),
    hasNamespace: (namespace) => routes.hasNamespace(namespace),
    keyCounts: () => world.keyCounts(),
    libraryCounts: () => world.libraryCounts(session.namespace),
    settings: () => world.settings(),
    settingProblem: (name, value) => world.settingProblem(name, value),
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
function clusterNodeId(node: NodeId, incarnation: string): string {
  return createHash('sha1').update(`${node}/${incarnation}`).digest('hex');
}

/**
 * All known nodes with the slots they lead. Clients need every slot at some node, so a partition
 * without a leader stays with its last one, or with the node that should lead it.
 */
function clusterNodes(routes: RouteTable, myself: NodeId, namespace: Namespace): ClusterNode[] {
  const slots = slotsByNode(routes, namespace);
  const nodes = [...routes.knownNodes()].map(([node, { record, alive }]) => ({
    node,
    clusterNodeId: clusterNodeId(node, record.incarnation),
    ...clientAddress(record),
    alive: alive || node === myself,
    myself: node === myself,
    slots: slots.get(node) ?? [],
  }));
  return nodes.sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** Followers that are away are left out: clients would only try them in vain. */
function slotRanges(
  routes: RouteTable,
  myself: NodeId,
  namespace: Namespace,
): readonly SlotRange[] {
  const nodes = new Map(clusterNodes(routes, myself, namespace).map((each) => [each.node, each]));
  const ranges: SlotRange[] = [];
  for (const record of routes.partitions(namespace) ?? []) {
    const leader = nodes.get(shownLeader(routes, record) ?? '');
    if (leader === undefined) continue;
    const followers = record.replicas
      .filter(({ node }) => node !== leader.node)
      .flatMap(({ node }) => followerOf(routes, node))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const range = { from: record.firstSlot, to: record.lastSlot, leader, followers };
    const last = ranges.at(-1);
    if (last && last.to + 1 === range.from && isServedAlike(last, range)) last.to = range.to;
    else ranges.push(range);
  }
  return ranges;
}

function followerOf(routes: RouteTable, node: NodeId): Follower[] {
  const known = routes.knownNodes().get(node);
  if (known?.alive !== true) return [];
  const { host, followerPort } = clientAddress(known.record);
  if (followerPort === undefined) return [];
  return [
    { id: clusterNodeId(`${node}/follower`, known.record.incarnation), host, port: followerPort },
  ];
}

function isServedAlike(one: SlotRange, other: SlotRange): boolean {
  return (
    one.leader === other.leader &&
    one.followers.map(({ id }) => id).join() === other.followers.map(({ id }) => id).join()
  );
}

function shownLeader(routes: RouteTable, record: PartitionRecord): NodeId | undefined {
  const known = routes.knownNodes();
  const leader = routes.lastLeader(record.namespace, record.partition)?.node;
  if (leader !== undefined && known.has(leader)) return leader;
  return record.replicas.find((replica) => known.has(replica.node))?.node;
}

function slotsByNode(routes: RouteTable, namespace: Namespace): Map<NodeId, [Slot, Slot][]> {
  const found = new Map<NodeId, [Slot, Slot][]>();
  for (const record of routes.partitions(namespace) ?? []) {
    const node = shownLeader(routes, record);
    if (node === undefined) continue;
    const ranges = found.get(node) ?? [];
    const last = ranges.at(-1);
    if (last && last[1] + 1 === record.firstSlot) last[1] = record.lastSlot;
    else ranges.push([record.firstSlot, record.lastSlot]);
    found.set(node, ranges);
  }
  return found;
}

/** Undefined where keys are dealt out in another way than by slots, or nothing is known yet. */
export function clusterFiguresOf(
  routes: RouteTable,
  myself: NodeId,
  namespace: Namespace,
): ClusterFigures | undefined {
  if (!routes.hasNamespace(namespace) || !routes.hasSlots(namespace)) return undefined;
  const nodes = clusterNodes(routes, myself, namespace);
  return clusterFigures(nodes, slotsLed(routes, myself, namespace));
}

function slotsLed(routes: RouteTable, myself: NodeId, namespace: Namespace): SlotsLed {
  const partitions = routes.partitions(namespace) ?? [];
  const sum = { isEverLed: partitions.length > 0, failed: 0, suspected: 0 };
  for (const { partition, firstSlot, lastSlot } of partitions) {
    const slots = lastSlot - firstSlot + 1;
    const last = routes.lastLeader(namespace, partition);
    if (last === undefined) sum.isEverLed = false;
    const isHere = last?.node === myself || routes.nodes().has(last?.node ?? '');
    if (!isHere || routes.hasResigned(namespace, partition)) sum.failed += slots;
    else if (routes.leader(namespace, partition) === undefined) sum.suspected += slots;
  }
  return sum;
}
