/** One mastership: what its chores and an operator's requests work with. */
import type { Clock } from '../common/clock.ts';
import type { Logger } from '../common/log.ts';
import type { Random } from '../common/random.ts';
import type { BalanceWindow } from '../meta/schema.ts';
import type { Compare, Leadership, MetaStore } from '../meta/store.ts';
import type { Picture } from './picture.ts';

/** Times and bounds of placement; tests shorten them. */
export interface PlacementSettings {
  /** From the loss of a node until its replicas are made elsewhere. */
  readonly migrateWaitMs: number;
  /**
   * From the loss of a node until others should lead in its place: it may be back sooner. Longer than
   * the third of its lease's time that passes before it notices that the lease was revoked.
   */
  readonly leaderWaitMs: number;
  /** A move whose new replica is filled no further for this long is given up. */
  readonly moveStallMs: number;
  /**
   * Replicas that move at the same time, in the whole cluster; and as many on each node are made anew
   * in the place of lost ones.
   */
  readonly movesAtOnceMax: number;
  /** From a change until what follows from it is planned: changes come in crowds. */
  readonly planDelayMs: number;
  /** Of a new cluster, when nodes are evened out; operators change it later. Absent: at any time. */
  readonly balanceWindow?: BalanceWindow;
}

export const defaultPlacementSettings: PlacementSettings = {
  migrateWaitMs: 600_000,
  leaderWaitMs: 5_000,
  moveStallMs: 600_000,
  movesAtOnceMax: 8,
  planDelayMs: 100,
};

export interface MasterTerm {
  readonly store: MetaStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly settings: PlacementSettings;
  /** Ask `leadership.lost` anew before each act. */
  readonly leadership: Leadership;
  /** Holds while no other placedriver is master (decision 17): part of every write. */
  readonly fence: Compare;
  readonly picture: Picture;
}
