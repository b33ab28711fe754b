/**
 * The counted trees that a replica's commands have to do with: read once, not by every command, and
 * written once by every batch. Sixteen members that are new in one large set change the same root,
 * and the leaves they change are those of the batch before.
 *
 * Between batches only what the engine holds is kept, of the trees used last; what a command comes
 * to does not depend on what is kept. Whoever writes the records of a tree by another way (an emptied
 * partition, a snapshot) has to `clear`.
 */
import { must } from '../../../common/assert.ts';
import { limits } from '../../../common/limits.ts';
import type { CollectionPlace } from '../records/element-key.ts';
import type { View, WriteView } from '../txn/view.ts';
import { RankTree } from './rank-tree.ts';

/** What all replicas of a node keep between their batches: who has not written for longest gives up. */
export class RankPool {
  readonly #nodesMax: number;
  readonly #kept = new Map<RankTrees, number>();
  #nodes = 0;

  constructor(nodesMax: number = limits.rankNodesOfAll) {
    this.#nodesMax = nodesMax;
  }

  /** Nodes that are kept. */
  get nodes(): number {
    return this.#nodes;
  }

  keep(owner: RankTrees, nodes: number): void {
    this.#kept.set(owner, nodes);
    this.#nodes += nodes;
    while (this.#nodes > this.#nodesMax)
      must(this.#kept.keys().next().value, 'somebody keeps what is kept').clear();
  }

  /** The trees of `owner` are in use, or gone. */
  take(owner: RankTrees): void {
    this.#nodes -= this.#kept.get(owner) ?? 0;
    this.#kept.delete(owner);
  }
}

export class RankTrees {
  readonly #pool: RankPool | undefined;
  /** By their places; the one used last is the last. */
  readonly #trees = new Map<string, RankTree>();
  /** Those of the batch that is open. */
  readonly #used = new Set<RankTree>();
  /** The one that was asked for last: commands come to one set after another, and its name is long. */
  #last: RankTree | undefined;

  constructor(pool?: RankPool) {
    this.#pool = pool;
  }

  /** The tree of a counted set. */
  of(view: View, place: CollectionPlace): RankTree {
    const last = this.#last;
    if (last?.isOf(place) && this.#used.has(last)) return last;
    const known = this.#trees.get(nameOf(place));
    if (known !== undefined && this.#used.has(known)) return known;
    const tree = known ?? new RankTree(view, place);
    tree.readFrom(view);
    this.add(place, tree);
    return tree;
  }

  /** One that was made just now. */
  add(place: CollectionPlace, tree: RankTree): void {
    if (this.#used.size === 0) this.#pool?.take(this);
    const name = nameOf(place);
    this.#trees.delete(name);
    this.#trees.set(name, tree);
    this.#used.add(tree);
    this.#last = tree;
  }

  /** That tree is deleted. */
  drop(place: CollectionPlace): void {
    const name = nameOf(place);
    const tree = this.#trees.get(name);
    if (tree === undefined) return;
    this.#trees.delete(name);
    this.#used.delete(tree);
  }

  /** Writes what has changed. */
  flush(view: WriteView): void {
    for (const tree of this.#used) tree.flush(view);
  }

  /** The batch, with what `flush` wrote, is in the engine. */
  written(): void {
    if (this.#used.size === 0) return;
    for (const tree of this.#used) tree.trim(limits.rankNodesOfReplica);
    this.#used.clear();
    let nodes = 0;
    for (const tree of this.#trees.values()) nodes += tree.nodes;
    for (const [name, tree] of this.#trees) {
      if (nodes <= limits.rankNodesOfReplica) break;
      this.#trees.delete(name);
      nodes -= tree.nodes;
    }
    this.#pool?.keep(this, nodes);
  }

  /** Nothing is known any more. */
  clear(): void {
    this.#pool?.take(this);
    this.#trees.clear();
    this.#used.clear();
    this.#last = undefined;
  }
}

function nameOf({ slot, version }: CollectionPlace): string {
  return `${slot} ${version.index} ${version.ordinal}`;
}
