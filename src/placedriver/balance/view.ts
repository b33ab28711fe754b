/** What moves are planned from: parts of the picture, and what the stability rules say. */
import type { NodeId } from '../../common/ids.ts';
import type {
  DamageRecord,
  LeaderRecord,
  NamespaceRecord,
  NodeRecord,
  PartitionRecord,
} from '../../meta/schema.ts';
import type { Stability } from '../stability/stability.ts';
import type { Stalls } from './stalls.ts';

export interface BalanceView<P extends KnownPartition = KnownPartition> {
  /** Those that can be read. */
  readonly namespaces: readonly NamespaceRecord[];
  readonly partitions: readonly P[];
  readonly alive: readonly NodeRecord[];
  readonly damages: readonly DamageRecord[];
  /** Also while nothing may move: they are given nothing, and should lead nothing. */
  readonly draining: ReadonlySet<NodeId>;
  readonly stability: Stability;
  /** Moves that do not get on, as far as whoever plans has watched them. */
  readonly stalls: Stalls;
  /** Away for so short a time that what they should lead is not given to others yet. */
  readonly blinking: ReadonlySet<NodeId>;
  /** False: an operator has switched balancing off, and leaders stay with whoever can lead. */
  readonly levelLeaders: boolean;
  /** Replicas that move at the same time, in the whole cluster. */
  readonly movesAtOnceMax: number;
  leader(record: PartitionRecord): LeaderRecord | undefined;
}

export interface KnownPartition {
  readonly record: PartitionRecord;
}

/** Why a replica moves; the more urgent before the less. */
export const moveKinds = ['lost', 'drain', 'operator', 'balance'] as const;
export type MoveKind = (typeof moveKinds)[number];
