/**
 * Nobody gives up data that no fault has taken: a replica is replaced only on a node whose disk was
 * wiped or had bits flipped. Crashes, losses of power and failing writes cost nothing. A group that
 * an operator rebuilt has given up what only the lost ones had, and is filled up on any node; and
 * where an operator moves replicas they go where they are told to.
 */
import { type Checker, type Observed, Violation } from './checker.ts';

export function lossChecker(): Checker {
  let seen = -1;
  return {
    name: 'loss',
    onMoved(_: Observed, cluster) {
      if (seen === cluster.meta.revision || cluster.operatorMoves) return;
      seen = cluster.meta.revision;
      for (const { partition, birth, replicas, rebuilt } of cluster.records()) {
        if (rebuilt !== undefined) continue;
        const born = new Set(birth.map(({ replica }) => replica));
        for (const { replica, node } of replicas) {
          if (born.has(replica) || cluster.machine(node).everSpoiled) continue;
          const text = `replica ${replica} of partition ${partition} takes another's place on ${node}`;
          throw new Violation('loss', `${text}, whose disk was never wiped or damaged`);
        }
      }
    },
  };
}
