/** The cluster as /v1 tells it. Pure. */
import type { NodeId } from '../../common/ids.ts';
import {
  type BalanceWindow,
  clientAddress,
  type NamespaceRecord,
  type PartitionRecord,
} from '../../meta/schema.ts';
import { type GroupStates, isSettled } from '../balance/group-states.ts';
import type { Picture } from '../picture.ts';
import { drainWaits } from '../view/drain-waits.ts';
import { stoppedOf } from '../view/stopped-replicas.ts';
import { type Move, movesUnderWay, nodesNeeded } from '../view/under-way.ts';
import { byText } from './zan-shapes.ts';

const HOUR_MINUTES = 60;

/** Replicas and leaders by node, counted once for a whole answer. */
interface Holdings {
  readonly replicas: ReadonlyMap<NodeId, number>;
  readonly leaders: ReadonlyMap<NodeId, number>;
  /** Of the replicas, those that stopped after a fault. */
  readonly stopped: ReadonlyMap<NodeId, number>;
  /** Partitions that need the node: also those whose replica there is only about to go. */
  readonly needed: ReadonlyMap<NodeId, number>;
}

export function holdingsOf(picture: Picture): Holdings {
  const replicas = new Map<NodeId, number>();
  const leaders = new Map<NodeId, number>();
  const stopped = new Map<NodeId, number>();
  const needed = new Map<NodeId, number>();
  const count = (counts: Map<NodeId, number>, node: NodeId) =>
    counts.set(node, (counts.get(node) ?? 0) + 1);
  for (const record of picture.shownPartitions()) {
    for (const { node } of record.replicas) count(replicas, node);
    for (const { node } of stoppedOf(picture, record)) count(stopped, node);
    const leading = picture.leading(record);
    if (leading !== undefined) count(leaders, leading.node);
    for (const node of nodesNeeded(record, picture.leader(record))) count(needed, node);
  }
  return { replicas, leaders, stopped, needed };
}

/** Names of all nodes: those that live, and those that the cluster has not forgotten. */
export function nodeNames(picture: Picture): NodeId[] {
  const alive = picture.aliveNodes().map(({ node }) => node);
  const seen = picture.nodeStates().map(({ record }) => record.node);
  const held = picture.shownPartitions().flatMap((record) => record.replicas.map((r) => r.node));
  return byText([...new Set([...alive, ...seen, ...held])], (name) => name);
}

/** Undefined: no such node. `states` is asked for only where a drain goes on. */
export function nodeAnswer(
  picture: Picture,
  node: NodeId,
  holdings: Holdings,
  nowMs: number,
  states: () => GroupStates,
) {
  const record = picture.aliveNode(node);
  const state = picture.nodeState(node);
  const held = holdings.replicas.get(node);
  if (record === undefined && state === undefined && held === undefined) return undefined;
  const load = picture.load(node);
  return {
    name: node,
    alive: record !== undefined,
    lostSinceMs: record === undefined ? (state?.lostSinceMs ?? null) : null,
    address: record && {
      host: record.host,
      gatewayPort: record.gatewayPort,
      clusterPort: record.clusterPort,
      ...(record.followerPort !== undefined && { followerPort: record.followerPort }),
      ...(record.announce !== undefined && { announced: clientAddress(record) }),
      httpPort: record.httpPort,
      transportPort: record.transportPort,
    },
    incarnation: record?.incarnation ?? picture.incarnation(node) ?? null,
    build: record?.build ?? null,
    tags: record?.tags ?? {},
    capacity: record?.capacity ?? null,
    replicas: held ?? 0,
    leaders: holdings.leaders.get(node) ?? 0,
    stopped: holdings.stopped.get(node) ?? 0,
    load: load && {
      keys: load.keys,
      diskBytes: load.diskBytes,
      memoryBytes: load.memoryBytes,
    },
    draining: nodeDrain(picture, node, holdings, nowMs, states),
  };
}

/** With what keeps the rest of it from going on. */
function nodeDrain(
  picture: Picture,
  node: NodeId,
  { needed }: Holdings,
  nowMs: number,
  states: () => GroupStates,
) {
  const drain = drainAnswer(picture.nodeState(node)?.draining, needed.get(node) ?? 0, nowMs);
  if (drain === null) return null;
  const waitsFor = drain.left === 0 ? undefined : drainWaits(picture, states(), node);
  return { ...drain, waitsFor: waitsFor ?? null };
}

/**
 * How far a drain has come, and when it ends if it goes on as it did. What is left is counted until
 * no group needs the node: what only should be elsewhere may be nowhere else yet.
 */
function drainAnswer(
  draining: { readonly sinceMs: number; readonly replicas: number } | undefined,
  left: number,
  nowMs: number,
) {
  if (draining === undefined) return null;
  const all = Math.max(draining.replicas, left);
  const done = all - left;
  const sinceMs = draining.sinceMs;
  const elapsedMs = Math.max(0, nowMs - sinceMs);
  return {
    sinceMs,
    replicas: all,
    left,
    progress: all === 0 ? 1 : done / all,
    etaMs: left === 0 ? 0 : done === 0 ? null : Math.round((elapsedMs / done) * left),
  };
}

/** All of `records`; the partitions are gone through once. */
export function namespaceAnswers(picture: Picture, records: readonly NamespaceRecord[]) {
  const own = new Map(records.map(({ name }): [string, PartitionRecord[]] => [name, []]));
  for (const partition of picture.shownPartitions()) own.get(partition.namespace)?.push(partition);
  return records.map((record) => namespaceAnswer(picture, record, own.get(record.name)!));
}

/** `partitions`: those of the namespace. */
function namespaceAnswer(
  picture: Picture,
  record: NamespaceRecord,
  partitions: readonly PartitionRecord[],
) {
  const led = partitions.filter((one) => picture.leading(one) !== undefined);
  const settled = partitions.filter((one) => isSettled(one, picture.leading(one)));
  return {
    name: record.name,
    state: record.deleting ? 'deleting' : record.ready ? 'ready' : 'creating',
    partitions: record.partitions,
    replicas: record.replicas,
    hash: record.hash,
    reads: record.reads ?? 'linearizable',
    tags: record.tags ?? [],
    led: led.length,
    settled: settled.length,
  };
}

export function partitionsOf(picture: Picture, namespace: string): PartitionRecord[] {
  return picture
    .shownPartitions()
    .filter((record) => record.namespace === namespace)
    .sort((a, b) => a.partition - b.partition);
}

export function partitionAnswer(picture: Picture, record: PartitionRecord) {
  const [leader, told] = [picture.leading(record), picture.leader(record)];
  return {
    namespace: record.namespace,
    partition: record.partition,
    group: record.group,
    slots: [record.firstSlot, record.lastSlot],
    epoch: record.epoch,
    wanted: record.replicas.map(({ replica, node, incarnation }) => {
      return { replica, node, incarnation };
    }),
    leader: leader ? { node: leader.node, replica: leader.replica, term: leader.term } : null,
    actual: told ? told.membership : null,
    settled: isSettled(record, leader),
    stopped: stoppedOf(picture, record).map(({ node, replica }) => ({ node, replica })),
  };
}

/** What is being done, whoever asked for it. */
export function operationAnswers(picture: Picture, nowMs: number) {
  const { needed } = holdingsOf(picture);
  return [
    ...namespaceOperations(picture),
    ...picture.nodeStates().flatMap(({ record: { node, draining } }) => {
      const drain = drainAnswer(draining, needed.get(node) ?? 0, nowMs);
      if (drain === null || drain.left === 0) return [];
      const { sinceMs, progress, etaMs } = drain;
      return [{ ...noSubject, kind: 'drain', node, phase: 'moving', sinceMs, progress, etaMs }];
    }),
    ...movesUnderWay(picture).map((move) => ({
      ...noSubject,
      kind: 'move',
      namespace: move.namespace,
      partition: move.partition,
      from: move.from ?? null,
      to: move.to ?? null,
      phase: move.phase,
      why: move.why ?? null,
      sinceMs: move.sinceMs ?? null,
      progress: move.progress ?? null,
      etaMs: etaOf(move, nowMs),
    })),
  ];
}

/** When the log is copied if it goes on as it did; null: not known. */
function etaOf({ sinceMs, progress }: Move, nowMs: number): number | null {
  if (sinceMs === undefined || !progress) return null;
  return Math.round((Math.max(0, nowMs - sinceMs) / progress) * (1 - progress));
}

const noSubject = {
  namespace: null,
  partition: null,
  node: null,
  from: null,
  to: null,
  why: null,
  sinceMs: null,
  progress: null,
  etaMs: null,
};

function namespaceOperations(picture: Picture) {
  return picture.namespaces().flatMap((record) => {
    if (record.ready) return [];
    const written = partitionsOf(picture, record.name).length / record.partitions;
    const common = { ...noSubject, namespace: record.name };
    return record.deleting
      ? [{ ...common, kind: 'deletion', phase: 'removing', progress: 1 - written }]
      : [{ ...common, kind: 'creation', phase: 'placing', progress: written }];
  });
}

/** `HH:MM`, UTC. */
export function windowAnswer(window: BalanceWindow | undefined) {
  return window ? { from: timeOfDay(window.fromMinute), to: timeOfDay(window.toMinute) } : null;
}

function timeOfDay(minute: number): string {
  const two = (part: number) => String(part).padStart(2, '0');
  return `${two(Math.floor(minute / HOUR_MINUTES))}:${two(minute % HOUR_MINUTES)}`;
}

/** Of `HH:MM`. */
export function minuteOfDay(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * HOUR_MINUTES + minutes;
}
