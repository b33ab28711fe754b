/**
 * The counted tree over the elements of a sorted set (see zset-index.ts): finding, counting,
 * splitting and joining of its entries, all by point reads. Nodes are kept, those that have changed
 * at least until `flush` has written them (see rank-trees.ts).
 */
import { assert } from '../../../common/assert.ts';
import type { CollectionPlace } from '../records/element-key.ts';
import type { View, WriteView } from '../txn/view.ts';
import { deleteNode, NODE_ROOT, type Node, readNode, writeNode } from './rank-node.ts';

/** A node is split beyond so many entries, and joined with a neighbour below so few. */
const NODE_MAX = 64;
const NODE_FILL = 40;
const NODE_MIN = 10;
/** Neighbouring blocks with no more elements than this together become one. */
const BLOCK_JOINED_MAX = 256;

/** One entry of a node, and through it the way down from the root. */
export interface Step {
  readonly node: Node;
  readonly at: number;
}

/** A block: how many elements lie before and in it, and its bounds in the order. */
export interface Block {
  readonly before: number;
  readonly count: number;
  /** Empty: from the first element. */
  readonly from: Buffer;
  /** Undefined: to the last element. */
  readonly to: Buffer | undefined;
}

export class RankTree {
  #view: View;
  readonly #place: CollectionPlace;
  readonly #nodes = new Map<number, Node>();
  readonly #deleted = new Set<number>();

  constructor(view: View, place: CollectionPlace) {
    this.#view = view;
    this.#place = place;
  }

  /** A tree of one block that holds everything. */
  static create(view: View, place: CollectionPlace, count: number): RankTree {
    const tree = new RankTree(view, place);
    const root = newNode(NODE_ROOT, 0, [{ child: 0, bound: NO_BOUND, count }]);
    root.nextNode = 1;
    tree.#nodes.set(NODE_ROOT, root);
    return tree;
  }

  /** Where nodes are that were not read yet. */
  readFrom(view: View): void {
    this.#view = view;
  }

  /** It is the tree of the set there. */
  isOf({ slot, version }: CollectionPlace): boolean {
    const { index, ordinal } = this.#place.version;
    return version.index === index && version.ordinal === ordinal && slot === this.#place.slot;
  }

  /** Nodes that are kept. */
  get nodes(): number {
    return this.#nodes.size;
  }

  /** Keeps so many, the root among them; all that has changed is written. */
  trim(nodesMax: number): void {
    for (const id of this.#nodes.keys()) {
      if (this.#nodes.size <= nodesMax) return;
      if (id !== NODE_ROOT) this.#nodes.delete(id);
    }
  }

  /** True when the tree says no more than the header does. */
  get isTrivial(): boolean {
    const root = this.#node(NODE_ROOT);
    return root.level === 0 && root.entries.length === 1;
  }

  /** The block that the element (or bound) `order` belongs to. */
  blockOf(order: Buffer): Block {
    return this.#descend((node) => entryAt(node, order));
  }

  /** The block that the element of `rank` is in, or the last one. */
  blockAtRank(rank: number): Block {
    return this.#descend((node, before) => {
      let sum = before;
      const last = node.entries.length - 1;
      for (let at = 0; at < last; at++) {
        sum += node.entries[at]!.count;
        if (rank < sum) return at;
      }
      return last;
    });
  }

  /** One element more (1) or less (−1) in the block of `order`; returns how many it has now. */
  add(order: Buffer, more: 1 | -1): number {
    for (let id = NODE_ROOT; ; ) {
      const node = this.#node(id);
      const at = entryAt(node, order);
      const entry = node.entries[at]!;
      entry.count += more;
      node.countsChanged = true;
      id = entry.child;
      if (node.level > 0) continue;
      const { count } = entry;
      // the way there is kept only where it is needed: every new member passes here
      if (more < 0 && joinableAt(node, at) !== undefined) this.#join(this.#pathTo(order));
      return count;
    }
  }

  /** Puts blocks in the place of the one of `order`: their counts, and the bounds between them. */
  split(order: Buffer, counts: readonly number[], bounds: readonly Buffer[]): void {
    const path = this.#pathTo(order);
    const { node, at } = path.at(-1)!;
    const { bound, count } = node.entries[at]!;
    const sum = counts.reduce((total, each) => total + each, 0);
    assert(sum === count, () => `a block of ${count} elements has ${sum}`);
    assert(bounds.length === counts.length - 1, 'bounds lie between blocks');
    const blocks = counts.map((each, index) => ({
      child: 0,
      bound: index === 0 ? bound : bounds[index - 1]!,
      count: each,
    }));
    node.entries.splice(at, 1, ...blocks);
    node.shapeChanged = true;
    this.#splitNodes(path);
  }

  flush(view: WriteView): void {
    this.#flushDeleted(view);
    for (const node of this.#nodes.values()) writeNode(view, this.#place, node);
  }

  /** The same, node by node. */
  *flushInSteps(view: WriteView): Generator<undefined, void, unknown> {
    this.#flushDeleted(view);
    for (const node of this.#nodes.values()) {
      writeNode(view, this.#place, node);
      yield;
    }
  }

  #flushDeleted(view: WriteView): void {
    for (const id of this.#deleted) deleteNode(view, this.#place, id);
    this.#deleted.clear();
  }

  /** Deletes the whole tree. */
  drop(view: WriteView): void {
    for (const id of this.#deleted) deleteNode(view, this.#place, id);
    this.#dropBelow(view, NODE_ROOT);
  }

  #dropBelow(view: WriteView, id: number): void {
    const { level, entries } = this.#node(id);
    if (level > 0) for (const { child } of entries) this.#dropBelow(view, child);
    deleteNode(view, this.#place, id);
  }

  #descend(choose: (node: Node, before: number) => number): Block {
    let before = 0;
    let from: Buffer = NO_BOUND;
    let to: Buffer | undefined;
    for (let id = NODE_ROOT; ; ) {
      const node = this.#node(id);
      const at = choose(node, before);
      for (let left = 0; left < at; left++) before += node.entries[left]!.count;
      const entry = node.entries[at]!;
      if (at > 0) from = entry.bound;
      to = node.entries[at + 1]?.bound ?? to;
      if (node.level === 0) return { before, count: entry.count, from, to };
      id = entry.child;
    }
  }

  #pathTo(order: Buffer): Step[] {
    const path: Step[] = [];
    for (let id = NODE_ROOT; ; ) {
      const node = this.#node(id);
      const at = entryAt(node, order);
      path.push({ node, at });
      if (node.level === 0) return path;
      id = node.entries[at]!.child;
    }
  }

  #node(id: number): Node {
    let node = this.#nodes.get(id);
    if (node === undefined) {
      node = readNode(this.#view, this.#place, id);
      this.#nodes.set(id, node);
    }
    return node;
  }

  /** From the leaf upwards: splits what has too many entries. */
  #splitNodes(path: readonly Step[]): void {
    for (let depth = path.length - 1; depth > 0; depth--) {
      const { node } = path[depth]!;
      if (node.entries.length <= NODE_MAX) return;
      const parent = path[depth - 1]!;
      const [first, ...others] = this.#parts(node);
      const { bound } = parent.node.entries[parent.at]!;
      node.entries = first!;
      node.shapeChanged = true;
      const kept = { child: node.id, bound, count: countOf(first!) };
      const added = others.map((entries) => this.#newChild(node.level, entries));
      parent.node.entries.splice(parent.at, 1, kept, ...added);
      parent.node.shapeChanged = true;
    }
    const { node: root } = path[0]!;
    while (root.entries.length > NODE_MAX) {
      root.entries = this.#parts(root).map((entries) => this.#newChild(root.level, entries));
      root.level++;
      root.shapeChanged = true;
    }
  }

  #parts({ entries }: Node): Node['entries'][] {
    const count = Math.ceil(entries.length / NODE_FILL);
    const parts: Node['entries'][] = [];
    for (let part = 0; part < count; part++) {
      const from = Math.floor((entries.length * part) / count);
      parts.push(entries.slice(from, Math.floor((entries.length * (part + 1)) / count)));
    }
    return parts;
  }

  /** The entry of a new node, whose own first bound moves up into it. */
  #newChild(level: number, entries: Node['entries']): Node['entries'][number] {
    const root = this.#node(NODE_ROOT);
    const id = root.nextNode++;
    root.shapeChanged = true;
    const { bound } = entries[0]!;
    entries[0]!.bound = NO_BOUND;
    this.#nodes.set(id, newNode(id, level, entries));
    return { child: id, bound, count: countOf(entries) };
  }

  /** From the leaf upwards: joins entries that have become too small with a neighbour. */
  #join(path: readonly Step[]): void {
    const leaf = path.at(-1)!;
    if (!joinBlocks(leaf)) return;
    for (let depth = path.length - 1; depth > 0; depth--) {
      if (path[depth]!.node.entries.length >= NODE_MIN) return;
      if (!this.#joinNodes(path[depth - 1]!)) return;
    }
    const { node: root } = path[0]!;
    while (root.level > 0 && root.entries.length === 1) {
      const only = this.#node(root.entries[0]!.child);
      root.entries = only.entries;
      root.level = only.level;
      root.shapeChanged = true;
      this.#delete(only.id);
    }
  }

  /** Joins the node of a parent's entry with the one beside it, unless that makes it too large. */
  #joinNodes({ node: parent, at }: Step): boolean {
    const left = at > 0 ? at - 1 : at;
    const [one, other] = [parent.entries[left], parent.entries[left + 1]];
    if (one === undefined || other === undefined) return true;
    const [kept, gone] = [this.#node(one.child), this.#node(other.child)];
    if (kept.entries.length + gone.entries.length > NODE_FILL) return false;
    gone.entries[0]!.bound = other.bound;
    kept.entries.push(...gone.entries);
    kept.shapeChanged = true;
    one.count += other.count;
    parent.entries.splice(left + 1, 1);
    parent.shapeChanged = true;
    this.#delete(gone.id);
    return true;
  }

  #delete(id: number): void {
    this.#nodes.delete(id);
    this.#deleted.add(id);
  }
}

const NO_BOUND = Buffer.alloc(0);

function newNode(id: number, level: number, entries: Node['entries']): Node {
  return { id, level, nextNode: 0, entries, shapeChanged: true, countsChanged: true };
}

function countOf(entries: Node['entries']): number {
  return entries.reduce((sum, { count }) => sum + count, 0);
}

/** The last entry that does not begin behind `order`. */
function entryAt({ entries }: Node, order: Buffer): number {
  let low = 1;
  let high = entries.length;
  // bytes that `order` has in common with the bounds on both sides, and so with all in between
  let sameBelow = 0;
  let sameAbove = 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { bound } = entries[middle]!;
    const same = commonBytes(bound, order, Math.min(sameBelow, sameAbove));
    const isBehind = same < bound.length && (same === order.length || bound[same]! > order[same]!);
    if (isBehind) {
      high = middle;
      sameAbove = same;
    } else {
      low = middle + 1;
      sameBelow = same;
    }
  }
  return low - 1;
}

/** How many bytes two have in common, who have `known`. */
function commonBytes(one: Buffer, other: Buffer, known: number): number {
  const end = Math.min(one.length, other.length);
  let at = known;
  while (at < end && one[at] === other[at]) at++;
  return at;
}

/** The first of two blocks that should be one, of which that at `at` is the first or the second. */
function joinableAt({ entries }: Node, at: number): number | undefined {
  for (const left of [at, at - 1]) {
    const [one, next] = [entries[left], entries[left + 1]];
    if (one && next && one.count + next.count <= BLOCK_JOINED_MAX) return left;
  }
  return undefined;
}

/** True when two blocks became one. */
function joinBlocks({ node, at }: Step): boolean {
  const { entries } = node;
  const left = joinableAt(node, at);
  if (left === undefined) return false;
  entries[left]!.count += entries[left + 1]!.count;
  entries.splice(left + 1, 1);
  node.shapeChanged = true;
  return true;
}
