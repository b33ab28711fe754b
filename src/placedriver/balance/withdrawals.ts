/**
 * Moves that do not get on: the group keeps the members that it has. Where one of these is on the
 * node that cannot be filled (it came back empty, or damaged), the new one is made elsewhere, which
 * is a move as others are. Pure.
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
  readonly stalled: ReplicaRecord;
  /** Members that the group keeps; undefined: what it lost is to be made elsewhere. */
  readonly returns: readonly ReplicaRecord[] | undefined;
}

/** All that could be given up now. */
export function withdrawalsOf<P extends KnownPartition>(
  { partitions }: BalanceView<P>,
  namespaces: readonly NamespaceRecord[],
  states: GroupStates,
): Withdrawal<P>[] {
  const byName = new Map(namespaces.map((namespace) => [namespace.name, namespace]));
  return partitions.flatMap((partition): Withdrawal<P>[] => {
    const { record } = partition;
    const stalled = states.stalled(record);
    const namespace = byName.get(record.namespace);
    if (stalled === undefined || namespace === undefined) return [];
    const returns = states.returning(record, stalled);
    return [{ namespace, partition, kind: 'operator', stalled, returns }];
  });
}

/** Undefined: it cannot be given up now. `tables`: as they are, without what is planned. */
export function withdraw<P extends KnownPartition>(
  { namespace, partition: { record }, stalled, returns }: Withdrawal<P>,
  tables: Tables<P>,
  states: GroupStates,
): WantedMove | undefined {
  const why = `the replica on node ${stalled.node} was filled no further: given up`;
  const common = { drops: stalled, givesUp: true, kind: 'operator', why } as const;
  if (returns !== undefined) return { ...common, from: stalled, to: undefined, returns };
  // where it could go takes a plan of its whole table: asked last
  if (states.whyNot(record, { from: stalled, adds: true }) !== undefined) return undefined;
  const to = tables.elsewhere(namespace, record, stalled.node, [stalled.node]);
  const node = to === undefined ? undefined : states.nodes.get(to);
  if (node === undefined) return undefined;
  const place = { node: node.node, incarnation: node.incarnation };
  return { ...common, from: states.givenUp(record) ?? stalled, to: place };
}
