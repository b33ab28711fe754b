/** The picture as moves are planned from it, and until when time alone changes nothing. */
import type { Revision } from '../common/ids.ts';
import { isSettled } from './balance/group-states.ts';
import { NO_STALLS } from './balance/stalls.ts';
import type { BalanceView } from './balance/view.ts';
import type { Picture, StoredPartition } from './picture.ts';
import { blinkingNodes } from './stability/blinking.ts';
import { assess } from './stability/stability.ts';
import type { PlacementSettings } from './term.ts';

export interface PlanningView extends BalanceView<StoredPartition> {
  /** Milliseconds after which time alone changes what is planned; undefined: never. */
  readonly changesInMs: number | undefined;
  /** Of the switches that it was made from; 0: there are none. */
  readonly controlRevision: Revision;
}

/**
 * It stays as it is when the picture changes. `nowMs`: the wall clock. A switch that cannot be read is
 * none: then nothing moves.
 */
export function balanceView(
  picture: Picture,
  settings: PlacementSettings,
  nowMs: number,
): PlanningView {
  const stored = picture.control();
  const control = stored?.readable ? stored.record : undefined;
  const states = picture.nodeStates().map(({ record }) => record);
  const partitions = picture.partitions();
  const alive = picture.aliveNodes();
  const leaders = new Map(partitions.map(({ record }) => [record, picture.leader(record)]));
  const readable = ({ name }: { readonly name: string }) =>
    picture.storedNamespace(name)?.readable === true;
  const stability = assess({
    alive,
    states,
    control,
    partitions: partitions.map(({ record }) => record),
    isSettled: (record) => isSettled(record, leaders.get(record)),
    nowMs,
    migrateWaitMs: settings.migrateWaitMs,
  });
  const blinking = blinkingNodes(alive, states, nowMs, settings.leaderWaitMs);
  const waitsMs = [...blinking.values()].map((sinceMs) => sinceMs + settings.leaderWaitMs - nowMs);
  const { changesInMs = Number.POSITIVE_INFINITY } = stability;
  const soonestMs = Math.min(changesInMs, ...waitsMs);
  return {
    namespaces: picture.namespaces().filter(readable),
    partitions,
    alive,
    damages: picture.damages(),
    draining: new Set(states.filter(({ draining }) => draining).map(({ node }) => node)),
    stability,
    stalls: NO_STALLS,
    blinking: new Set(blinking.keys()),
    changesInMs: soonestMs === Number.POSITIVE_INFINITY ? undefined : soonestMs,
    levelLeaders: control?.balance.enabled !== false,
    movesAtOnceMax: settings.movesAtOnceMax,
    controlRevision: stored?.modRevision ?? 0,
    leader: (record) => leaders.get(record),
  };
}
