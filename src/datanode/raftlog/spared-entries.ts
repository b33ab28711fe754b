/**
 * What is durable is applied next: of each replica the last entry stays in memory for some batches,
 * even where it is larger than the memory that a replica has for entries. To read one of 8 MiB back
 * and to check it holds the event loop for milliseconds.
 */
import type { ReplicaId } from '../../common/ids.ts';

/** Other replicas' batches may come before it is committed and applied. */
const BATCHES = 4;

export class SparedEntries {
  readonly #evict: (replica: ReplicaId, spared: number) => void;
  /** Whose entries came with each of the last batches, the oldest first. */
  readonly #batches: ReadonlySet<ReplicaId>[] = [];

  /** `evict` lets go what a replica has in memory beyond its share, but not the last `spared`. */
  constructor(evict: (replica: ReplicaId, spared: number) => void) {
    this.#evict = evict;
  }

  /** A batch with entries of `replicas` is durable; `isLast`: the log is idle behind it. */
  written(replicas: ReadonlySet<ReplicaId>, isLast: boolean): void {
    for (const replica of replicas) this.#evict(replica, 1);
    this.#batches.push(replicas);
    while (this.#batches.length > (isLast ? 0 : BATCHES)) {
      for (const replica of this.#batches.shift()!) {
        if (!this.#batches.some((later) => later.has(replica))) this.#evict(replica, 0);
      }
    }
  }
}
