/**
 * What of a picture makes a story, and the story from one picture to the next. Pure. What came and
 * went in between leaves no event.
 */
import type { NodeId } from '../../common/ids.ts';
import type { Picture } from '../picture.ts';
import { type Move, movesUnderWay } from './under-way.ts';

export type ClusterEvent =
  | { readonly type: 'node-came' | 'node-went' | 'node-restarted'; readonly node: NodeId }
  | { readonly type: 'drain-began' | 'drain-ended'; readonly node: NodeId }
  | {
      readonly type: 'namespace-created' | 'namespace-deletion-began' | 'namespace-deleted';
      readonly namespace: string;
    }
  | {
      readonly type: 'leader-changed';
      readonly namespace: string;
      readonly partition: number;
      /** null: nobody led before. */
      readonly from: NodeId | null;
      readonly to: NodeId;
    }
  | {
      readonly type: 'move-began' | 'move-ended';
      readonly namespace: string;
      readonly partition: number;
      readonly from: NodeId | null;
      readonly to: NodeId | null;
    }
  | {
      readonly type: 'move-given-up';
      readonly namespace: string;
      readonly partition: number;
      /** Where the replica was to come. */
      readonly node: NodeId;
      readonly why: string;
    }
  | {
      readonly type: 'master-changed';
      readonly from: string | null;
      readonly to: string | null;
    };

export interface Facts {
  readonly master: string | undefined;
  /** Boot ids of the living. */
  readonly nodes: ReadonlyMap<NodeId, string>;
  readonly draining: ReadonlySet<NodeId>;
  readonly namespaces: ReadonlyMap<string, 'ready' | 'deleting'>;
  readonly leaders: ReadonlyMap<string, Led>;
  readonly moves: ReadonlyMap<string, Move>;
  /** Replicas that could not be filled, by partition and replica. */
  readonly gaveUp: ReadonlyMap<string, GaveUp>;
}

interface GaveUp {
  readonly namespace: string;
  readonly partition: number;
  readonly node: NodeId;
  readonly why: string;
}

interface Led {
  readonly namespace: string;
  readonly partition: number;
  readonly node: NodeId;
  readonly term: number;
}

export function factsOf(picture: Picture, master: string | undefined): Facts {
  const namespaces = new Map<string, 'ready' | 'deleting'>();
  for (const { name, ready, deleting } of picture.namespaces()) {
    if (deleting) namespaces.set(name, 'deleting');
    else if (ready) namespaces.set(name, 'ready');
  }
  const leaders = new Map<string, Led>();
  for (const record of picture.shownPartitions()) {
    const leader = picture.leader(record);
    if (leader === undefined) continue;
    const { namespace, partition, node, term } = leader;
    leaders.set(`${namespace}/${partition}`, { namespace, partition, node, term });
  }
  const gaveUp = new Map<string, GaveUp>();
  for (const record of picture.shownPartitions()) {
    const { namespace, partition, move } = record;
    if (move?.gaveUp === undefined) continue;
    const { node, replica } = move.gaveUp;
    gaveUp.set(`${namespace}/${partition}/${replica}`, {
      namespace,
      partition,
      node,
      why: move.why,
    });
  }
  return {
    master,
    gaveUp,
    nodes: new Map(picture.aliveNodes().map(({ node, bootId }) => [node, bootId])),
    draining: new Set(
      picture.nodeStates().flatMap(({ record }) => (record.draining ? [record.node] : [])),
    ),
    namespaces,
    leaders,
    moves: new Map(movesUnderWay(picture).map((move) => [moveName(move), move])),
  };
}

/** A move is the same as long as the replica that comes, or else the one that goes, is. */
function moveName({ namespace, partition, arriving, leaving }: Move): string {
  return `${namespace}/${partition}/${arriving ?? `-${leaving}`}`;
}

export function diffFacts(before: Facts, after: Facts): ClusterEvent[] {
  return [
    ...diffMaster(before, after),
    ...diffNodes(before, after),
    ...diffNamespaces(before, after),
    ...diffLeaders(before, after),
    ...diffMoves(before, after),
  ];
}

function diffMaster(before: Facts, after: Facts): ClusterEvent[] {
  if (before.master === after.master) return [];
  return [{ type: 'master-changed', from: before.master ?? null, to: after.master ?? null }];
}

function diffNodes(before: Facts, after: Facts): ClusterEvent[] {
  const events: ClusterEvent[] = [];
  for (const node of before.nodes.keys()) {
    if (!after.nodes.has(node)) events.push({ type: 'node-went', node });
  }
  for (const [node, bootId] of after.nodes) {
    const was = before.nodes.get(node);
    if (was === bootId) continue;
    events.push({ type: was === undefined ? 'node-came' : 'node-restarted', node });
  }
  for (const node of after.draining) {
    if (!before.draining.has(node)) events.push({ type: 'drain-began', node });
  }
  for (const node of before.draining) {
    if (!after.draining.has(node)) events.push({ type: 'drain-ended', node });
  }
  return events;
}

function diffNamespaces(before: Facts, after: Facts): ClusterEvent[] {
  const events: ClusterEvent[] = [];
  for (const namespace of before.namespaces.keys()) {
    if (!after.namespaces.has(namespace)) events.push({ type: 'namespace-deleted', namespace });
  }
  for (const [namespace, state] of after.namespaces) {
    const was = before.namespaces.get(namespace);
    if (was === state) continue;
    if (state === 'ready') events.push({ type: 'namespace-created', namespace });
    else events.push({ type: 'namespace-deletion-began', namespace });
  }
  return events;
}

/** A leader that won again in a later term is the same one to whoever looks. */
function diffLeaders(before: Facts, after: Facts): ClusterEvent[] {
  const events: ClusterEvent[] = [];
  for (const [name, { namespace, partition, node }] of after.leaders) {
    const from = before.leaders.get(name)?.node ?? null;
    if (from === node) continue;
    events.push({ type: 'leader-changed', namespace, partition, from, to: node });
  }
  return events;
}

function diffMoves(before: Facts, after: Facts): ClusterEvent[] {
  const events: ClusterEvent[] = [];
  const told = (type: 'move-began' | 'move-ended', { namespace, partition, from, to }: Move) =>
    events.push({ type, namespace, partition, from: from ?? null, to: to ?? null });
  for (const [name, what] of after.gaveUp) {
    if (!before.gaveUp.has(name)) events.push({ type: 'move-given-up', ...what });
  }
  for (const [name, move] of before.moves) if (!after.moves.has(name)) told('move-ended', move);
  for (const [name, move] of after.moves) if (!before.moves.has(name)) told('move-began', move);
  return events;
}
