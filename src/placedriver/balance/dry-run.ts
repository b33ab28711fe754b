/** What will move and what moves, for operators: nothing is changed. Pure. */
import type { Namespace, NodeId, PartitionId } from '../../common/ids.ts';
import type { PartitionRecord, ReplicaRecord } from '../../meta/schema.ts';
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

export type MoveState =
  /** The group has no leader that could tell. */
  | 'no-leader'
  /** The new replica is being filled, or has not been heard of yet. */
  | 'learning'
  /** The members are being exchanged. */
  | 'joint'
  /** The members are there, and what is left is to confirm them. */
  | 'confirming';

export interface MoveUnderWay {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly from?: ReplicaRecord;
  readonly to?: ReplicaRecord;
  readonly why: string;
  /** The master's wall clock. */
  readonly sinceMs: number;
  readonly state: MoveState;
}

/**
 * All moves that would follow from now if no node came or went: first what must be, then what makes
 * the tables more even. What the cluster does later may differ: every step is planned anew.
 */
export function plannedMoves(view: BalanceView): PlannedMove[] {
  const states = new GroupStates(view);
  const tables = new Tables(view, states);
  const { frozen, unbalanced } = view.stability;
  const must = tables.plan('repair').flatMap((table) => wishesOf(table, states));
  const even = tables.plan('balance').flatMap((table) => wishesOf(table, states));
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

/** Partitions whose last move is not done, the oldest first. */
export function movesUnderWay(view: BalanceView): MoveUnderWay[] {
  const states = new GroupStates(view);
  return view.partitions
    .flatMap(({ record }) => {
      const { namespace, partition, move } = record;
      if (move === undefined) return [];
      const state = stateOf(view, states, record);
      return state === undefined ? [] : [{ namespace, partition, ...move, state }];
    })
    .sort((a, b) => a.sinceMs - b.sinceMs);
}

/** Undefined: it is done, or only who should lead is still on its way. */
function stateOf(
  view: BalanceView,
  states: GroupStates,
  record: PartitionRecord,
): MoveState | undefined {
  if (states.isSettled(record)) return undefined;
  const leader = view.leader(record);
  if (leader === undefined) return 'no-leader';
  if (leader.membership.joint) return 'joint';
  const { from, to } = record.move ?? {};
  const comes = to !== undefined && !states.isVoter(record, to);
  const goes = from !== undefined && states.isVoter(record, from);
  if (comes) return 'learning';
  return goes ? 'confirming' : undefined;
}
