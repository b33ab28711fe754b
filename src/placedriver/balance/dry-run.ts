/** What will move, for operators: nothing is changed. Pure. */
import type { Namespace, NodeId, PartitionId } from '../../common/ids.ts';
import type { Steps } from '../../common/slices.ts';
import { GroupStates } from './group-states.ts';
import { Tables } from './tables.ts';
import type { BalanceView, MoveKind } from './view.ts';
import { type Wish, wishesOf } from './wishes.ts';

export interface PlannedMove {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  /** Absent: a replica is added. */
  readonly from?: NodeId;
  /** Absent: a replica is given up. */
  readonly to?: NodeId;
  readonly kind: MoveKind;
  readonly why: string;
  /** Why it does not begin now, though there may be room for it; absent: it is its turn. */
  readonly waitsFor?: string;
}

/**
 * All moves that would follow from now if no node came or went: first what must be, then what makes
 * the tables more even. What the cluster does later may differ: every step is planned anew. In steps
 * of one namespace each: the view must stay as it is meanwhile.
 */
export function* plannedMoves(view: BalanceView): Steps<PlannedMove[]> {
  const states = new GroupStates(view);
  const tables = new Tables(view, states);
  const { frozen, unbalanced } = view.stability;
  const must = (yield* tables.plan('repair')).flatMap((table) => wishesOf(table, states));
  const even = (yield* tables.plan('balance')).flatMap((table) => wishesOf(table, states));
  const changed = new Set(must.map(({ partition }) => partition));
  return [
    ...must.map((wish) => shown(wish, frozen ?? waitOf(wish, states))),
    ...even.map((wish) => {
      const after = changed.has(wish.partition) ? 'what must be moved before' : undefined;
      return shown(wish, frozen ?? unbalanced ?? after ?? waitOf(wish, states));
    }),
  ];
}

function waitOf({ partition, from, to }: Wish, states: GroupStates): string | undefined {
  const { record } = partition;
  const leaving = record.replicas.find(({ node }) => node === from);
  return states.whyNot(record, { from: leaving, adds: to !== undefined });
}

function shown(
  { partition, from, to, kind, why }: Wish,
  waitsFor: string | undefined,
): PlannedMove {
  const { namespace, partition: number } = partition.record;
  return {
    namespace,
    partition: number,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    kind,
    why,
    ...(waitsFor !== undefined && { waitsFor }),
  };
}
