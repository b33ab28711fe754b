/**
 * All but the leader of the first partition lose power, and an operator rebuilds it from the leader, as
 * soon as the master lets him; then the others come back. What was acknowledged is in the leader's log,
 * so nothing that clients know may be given up, as long as the leader keeps its power until then.
 */
import type { SimCluster } from './cluster.ts';
import { isWhole } from './whole.ts';

const NAME = { namespace: 'default', partition: 0 };
const CONFIRMED = 'lose-data-of default/0';
const AGAIN_MS = 200;

/** Returns the end: the others come back, whatever has become of it. */
export function rebuildFromLeader(cluster: SimCluster): (() => void) | undefined {
  const survivor = newestLeader(cluster);
  if (survivor === undefined || !isWhole(cluster)) return undefined;
  const lost = cluster.machines.map(({ name }) => name).filter((name) => name !== survivor);
  cluster.note(`${survivor}, which leads, is all that is left`);
  // what became of what is under way nobody can tell any more
  cluster.outcomesMayEnd = true;
  for (const name of lost) cluster.crash(name, 'power');
  let over = false;
  const ask = () => {
    if (over) return;
    const again = () => cluster.scheduler.after(AGAIN_MS, ask);
    const asked = cluster.operator?.rebuild(NAME, survivor, CONFIRMED);
    if (asked === undefined) again();
    else asked.then(() => cluster.note(`rebuilt from ${survivor}`), again);
  };
  cluster.scheduler.after(AGAIN_MS, ask);
  return () => {
    over = true;
    for (const name of lost) cluster.start(name);
  };
}

/** Another may believe that it leads yet. */
function newestLeader(cluster: SimCluster): string | undefined {
  const leaders = cluster.machines.flatMap(({ name, life }) =>
    (life?.datanode?.replicas() ?? []).flatMap(({ isLeader, term, record }) =>
      isLeader && record.partition === NAME.partition ? [{ name, term }] : [],
    ),
  );
  return leaders.sort((a, b) => b.term - a.term)[0]?.name;
}
