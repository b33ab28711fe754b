/**
 * Moves that do not get on: the group keeps the members that it has. Where one of these is on the
 * node that cannot be filled (it came back empty, or damaged), the new one is made elsewhere, which
 * is a move as others are; so is one that such a node has lost and was not to get again yet. Pure.
 */
import type { NamespaceRecord, ReplicaRecord } from '../../meta/schema.ts';
import type { GroupStates } from './group-states.ts';
import type { WantedMove } from './plan-moves.ts';
import type { Tables } from './tables.ts';
import type { BalanceView, KnownPartition } from './view.ts';

export interface Withdrawal<P extends KnownPartition = KnownPartition> {
  readonly namespace: NamespaceRecord;
  readonly partition: P;
  readonly kind: 'operator';
  /** The one that is to be there no more. */
  readonly drops: ReplicaRecord;
  /** It was to come, and is filled no further; otherwise a member that its node could not get again. */
  readonly isStalled: boolean;
  /** Members that the group keeps; undefined: what it lost is to be made elsewhere. */
  readonly returns: readonly ReplicaRecord[] | undefined;
}

/** All that could be given up now. */
export function withdrawalsOf<P extends KnownPartition>(
  { partitions, stalls: { shut } }: BalanceView<P>,
  namespaces: readonly NamespaceRecord[],
  states: GroupStates,
): Withdrawal<P>[] {
  const isLost = (one: ReplicaRecord) => states.nodes.has(one.node) && !states.isWhole(one);
  const byName = new Map(namespaces.map((namespace) => [namespace.name, namespace]));
  return partitions.flatMap((partition): Withdrawal<P>[] => {
    const { record } = partition;
    const stalled = states.stalled(record);
    const namespace = byName.get(record.namespace);
    if (namespace === undefined) return [];
    const drops = stalled ?? record.replicas.find((one) => shut.has(one.node) && isLost(one));
    if (drops === undefined) return [];
    const returns = stalled && states.returning(record, stalled);
    const isStalled = stalled !== undefined;
    return [{ namespace, partition, kind: 'operator', drops, isStalled, returns }];
  });
}

/** Undefined: it cannot be given up now. `tables`: as they are, without what is planned. */
export function withdraw<P extends KnownPartition>(
  { namespace, partition: { record }, drops, isStalled, returns }: Withdrawal<P>,
  tables: Tables<P>,
  states: GroupStates,
): WantedMove | undefined {
  const why = isStalled
    ? `the replica on node ${drops.node} was filled no further: given up`
    : `node ${drops.node} lost the replica, and cannot be filled`;
  const common = { drops, kind: 'operator', why, ...(isStalled && { givesUp: true }) } as const;
  if (returns !== undefined) return { ...common, from: drops, to: undefined, returns };
  // where it could go takes a plan of its whole table: asked last
  if (states.whyNot(record, { from: drops, adds: true }) !== undefined) return undefined;
  const to = tables.elsewhere(namespace, record, drops.node);
  const node = to === undefined ? undefined : states.nodes.get(to);
  if (node === undefined) return undefined;
  const place = { node: node.node, incarnation: node.incarnation };
  return { ...common, from: states.givenUp(record) ?? drops, to: place };
}
