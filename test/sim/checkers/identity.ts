/**
 * A replica id belongs to one incarnation of one node for ever; what was removed never runs again;
 * the replicas of a wanted record sit on distinct nodes.
 */
import type { ReplicaId } from '../../../src/common/ids.ts';
import type { SimCluster } from '../cluster.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

export function identityChecker(): Checker {
  const owners = new Map<ReplicaId, string>();
  let records = '';
  return {
    name: 'identity',
    onMoved({ node, incarnation, replica }: Observed, cluster: SimCluster) {
      const owner = `${node} ${incarnation}`;
      const known = owners.get(replica.id) ?? owner;
      owners.set(replica.id, known);
      if (known !== owner) {
        throw new Violation('identity', `replica ${replica.id} of ${known} runs on ${owner}`);
      }
      if (cluster.durable.replicas.get(replica.id)?.tombstone) {
        throw new Violation('identity', `replica ${replica.id} was removed, and runs on ${owner}`);
      }
      if (records === String(cluster.meta.revision)) return;
      records = String(cluster.meta.revision);
      for (const record of cluster.records()) {
        const nodes = new Set(record.replicas.map((member) => member.node));
        if (nodes.size === record.replicas.length) continue;
        throw new Violation('identity', `partition ${record.partition} has two replicas on a node`);
      }
    },
  };
}
