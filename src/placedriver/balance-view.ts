/** The picture as moves are planned from it. */
import { isSettled } from './balance/group-states.ts';
import type { BalanceView } from './balance/view.ts';
import type { Picture, StoredPartition } from './picture.ts';
import { assess } from './stability/stability.ts';
import type { PlacementSettings } from './term.ts';

/** `nowMs`: the wall clock. A switch that cannot be read is none: then nothing moves. */
export function balanceView(
  picture: Picture,
  settings: PlacementSettings,
  nowMs: number,
): BalanceView<StoredPartition> {
  const stored = picture.control();
  const control = stored?.readable ? stored.record : undefined;
  const states = picture.nodeStates().map(({ record }) => record);
  const partitions = picture.partitions();
  const alive = picture.aliveNodes();
  const readable = ({ name }: { readonly name: string }) =>
    picture.storedNamespace(name)?.readable === true;
  return {
    namespaces: picture.namespaces().filter(readable),
    partitions,
    alive,
    damages: picture.damages(),
    draining: new Set(states.filter(({ draining }) => draining).map(({ node }) => node)),
    stability: assess({
      alive,
      states,
      control,
      partitions: partitions.map(({ record }) => record),
      isSettled: (record) => isSettled(record, picture.leader(record)),
      nowMs,
      migrateWaitMs: settings.migrateWaitMs,
    }),
    levelLeaders: control?.balance.enabled !== false,
    movesAtOnceMax: settings.movesAtOnceMax,
    leader: (record) => picture.leader(record),
  };
}
