/**
 * When replicas may move between nodes: never while as many nodes are away as when a network is cut
 * in two, nor while nodes are being upgraded; away from a node that is drained, or has been away for
 * long; and only to be more even when nothing else is the matter. Every "not now" is told with what
 * to do about it: operators read it. Pure.
 */
import type { NodeId } from '../../common/ids.ts';
import type {
  ControlRecord,
  NodeRecord,
  NodeStateRecord,
  PartitionRecord,
} from '../../meta/schema.ts';
import { formatWindow, isWindowOpen, windowEdgeInMs } from './balance-window.ts';

export interface StabilityView {
  readonly alive: readonly NodeRecord[];
  readonly states: readonly NodeStateRecord[];
  /** Undefined: none is written yet, or it cannot be read. */
  readonly control: ControlRecord | undefined;
  readonly partitions: readonly PartitionRecord[];
  /** The group serves this record, and no change of its members is under way. */
  isSettled(record: PartitionRecord): boolean;
  /** The master's wall clock. */
  readonly nowMs: number;
  /** From the loss of a node until its replicas are made elsewhere. */
  readonly migrateWaitMs: number;
}

export interface Stability {
  /** Why no replica moves between nodes at all; undefined: they may. */
  readonly frozen: string | undefined;
  /** Nodes whose replicas are to be made elsewhere: draining, or lost for longer than the wait. */
  readonly leaving: ReadonlySet<NodeId>;
  /** Why replicas do not move just to be more even; undefined: they may. */
  readonly unbalanced: string | undefined;
  /** Milliseconds after which time alone changes the answer; undefined: never. */
  readonly changesInMs: number | undefined;
}

export function assess(view: StabilityView): Stability {
  const cluster = new KnownNodes(view);
  const frozen = whyFrozen(view, cluster);
  if (frozen !== undefined) {
    return { frozen, leaving: new Set(), unbalanced: frozen, changesInMs: undefined };
  }
  const leaving = new Set<NodeId>();
  let waitMs: number | undefined;
  for (const { node, draining, lostSinceMs } of view.states) {
    if (draining !== undefined) leaving.add(node);
    else if (lostSinceMs !== undefined && !cluster.alive.has(node)) {
      const leftMs = lostSinceMs + view.migrateWaitMs - view.nowMs;
      if (leftMs <= 0) leaving.add(node);
      else waitMs = Math.min(waitMs ?? leftMs, leftMs);
    }
  }
  const unsafe = whyUnbalanced(view, cluster, waitMs);
  if (unsafe !== undefined) return { frozen, leaving, unbalanced: unsafe, changesInMs: waitMs };
  const window = view.control?.balance.window;
  if (window === undefined) return { frozen, leaving, unbalanced: undefined, changesInMs: waitMs };
  const unbalanced = isWindowOpen(window, view.nowMs)
    ? undefined
    : `replicas move to be more even only from ${formatWindow(window)} UTC`;
  // no node is away here: the window is the only thing that time changes
  return { frozen, leaving, unbalanced, changesInMs: windowEdgeInMs(window, view.nowMs) };
}

/** Who belongs to the cluster: all that were ever seen, but those drained and empty. */
class KnownNodes {
  readonly alive: ReadonlyMap<NodeId, NodeRecord>;
  /** Known and away. */
  readonly away: readonly NodeId[];
  /** Of those, the ones no operator has written off. */
  readonly missed: readonly NodeId[];
  readonly draining: readonly NodeId[];
  readonly count: number;

  constructor({ alive, states, partitions }: StabilityView) {
    this.alive = new Map(alive.map((record) => [record.node, record]));
    const known = new Set(this.alive.keys());
    const holders = new Set<NodeId>();
    for (const { replicas } of partitions) for (const { node } of replicas) holders.add(node);
    for (const { node } of states) known.add(node);
    for (const node of holders) known.add(node);
    const drained = states.filter(({ draining }) => draining !== undefined);
    for (const { node } of drained) if (!holders.has(node)) known.delete(node);
    const writtenOff = new Set(states.filter((state) => state.writtenOff).map(({ node }) => node));
    this.away = [...known].filter((node) => !this.alive.has(node)).sort();
    this.missed = this.away.filter((node) => !writtenOff.has(node));
    this.draining = drained.map(({ node }) => node).filter((node) => known.has(node));
    this.count = known.size - (this.away.length - this.missed.length);
  }
}

function whyFrozen({ control }: StabilityView, cluster: KnownNodes): string | undefined {
  if (control === undefined) {
    return (
      'the record of switches and of the stable node count is not there yet, or cannot be read: ' +
      "the master's log says which"
    );
  }
  if (control.upgradeSinceMs !== undefined) {
    return 'upgrade mode is on; end it with POST /cluster/upgrade/done';
  }
  const alive = cluster.alive.size;
  if (alive === 0) return 'no datanode is alive; start them';
  const remedy =
    'the network may be cut in two: bring the others back or, when they are gone for good, ' +
    `lower the stable node count with POST /stable/nodenum?number=${alive}`;
  if (alive <= control.stableNodes / 2) {
    return `only ${alive} of ${control.stableNodes} stable datanodes are alive; ${remedy}`;
  }
  const lost = cluster.missed.length;
  if (lost > 0 && lost >= cluster.count / 2) {
    return `${lost} of ${cluster.count} datanodes are away (${shown(cluster.missed)}); ${remedy}`;
  }
  return undefined;
}

/** Whatever the hour. */
function whyUnbalanced(
  view: StabilityView,
  { away, draining, alive }: KnownNodes,
  waitMs: number | undefined,
): string | undefined {
  if (view.control?.balance.enabled === false) {
    return 'balancing is switched off; switch it on with POST /cluster/balance?enable=true';
  }
  if (away.length > 0) {
    const then =
      waitMs === undefined
        ? 'their replicas are made elsewhere first'
        : `the next one's replicas are made elsewhere in ${Math.ceil(waitMs / 1_000)} s`;
    return `datanodes are away: ${shown(away)}; ${then}`;
  }
  if (draining.length > 0) return `datanodes are being drained: ${shown(draining)}`;
  const whole = (record: PartitionRecord) =>
    view.isSettled(record) &&
    record.replicas.every(({ node, incarnation }) => alive.get(node)?.incarnation === incarnation);
  const unsettled = view.partitions.filter((record) => !whole(record));
  if (unsettled.length === 0) return undefined;
  const names = unsettled.map(({ namespace, partition }) => `${namespace}/${partition}`);
  return `replicas are being made, moved or removed: ${shown(names)}`;
}

const SHOWN = 3;

function shown(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return names.slice(0, SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
