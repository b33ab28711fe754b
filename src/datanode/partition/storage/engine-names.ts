/** How the engines of a node are called: `<replica>-<generation>`, the names of their directories. */
import type { ReplicaId } from '../../../common/ids.ts';

/** A snapshot fills the next generation; one log batch switches to it. */
export function engineName(replica: ReplicaId, generation: number): string {
  return `${replica}-${generation}`;
}

/** Whose engine it is, of whatever generation. */
export function replicaOfEngine(name: string): ReplicaId {
  return Number(name.split('-', 1)[0]);
}
