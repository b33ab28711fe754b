/** Who leads what, from what the nodes of a data directory say. Pure. */
import type { PartitionLine } from '../status.ts';

export interface Busiest {
  readonly name: string;
  /** Partitions that it leads. */
  readonly led: number;
}

/** The node that leads most partitions, the first by name of several; undefined: nobody leads. */
export function busiestLeader(partitions: readonly PartitionLine[]): Busiest | undefined {
  const counts = new Map<string, number>();
  for (const { leader } of partitions) {
    if (leader !== null) counts.set(leader, (counts.get(leader) ?? 0) + 1);
  }
  const [first] = [...counts].sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));
  return first && { name: first[0], led: first[1] };
}

/** Every one of `count` partitions is led, and all of its replicas run. */
export function isWhole(partitions: readonly PartitionLine[], count: number): boolean {
  return (
    partitions.length === count &&
    partitions.every(
      ({ leader, replicas }) =>
        leader !== null && replicas.every(({ state }) => state === 'running'),
    )
  );
}
