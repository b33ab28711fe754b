/** Moves replicas from nodes that carry much to nodes that carry little until they are within 1. */
import type { Assignment } from './assignment.ts';

interface Step {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Every move leaves the loads more even than they were, so it ends. */
export function levelOut(assignment: Assignment): void {
  const levels = new Levels(assignment);
  for (let steps = levels.next(); steps !== undefined; steps = levels.next()) {
    for (const step of steps) levels.take(step);
  }
  if (!assignment.hasOthers) return;
  for (let step = levels.nextOverAll(); step !== undefined; step = levels.nextOverAll()) {
    levels.take(step);
  }
}

class Levels {
  readonly #assignment: Assignment;
  /** Nodes by how much they carry. */
  readonly #byLoad: Set<number>[] = [];
  /** Per node the data centres that one of its replicas may go to; undefined: to be seen. */
  readonly #reach: (ReadonlySet<number> | undefined)[];

  constructor(assignment: Assignment) {
    this.#assignment = assignment;
    this.#reach = assignment.names.map(() => undefined);
    for (const node of assignment.names.keys()) this.#at(assignment.load(node)).add(node);
  }

  take({ partition, from, to }: Step): void {
    const { dcOf, members } = this.#assignment;
    const changed = dcOf[from] === dcOf[to] ? [from, to] : [...members[partition]!, to];
    for (const node of changed) this.#reach[node] = undefined;
    for (const node of [from, to]) this.#at(this.#assignment.load(node)).delete(node);
    this.#assignment.take(partition, from);
    this.#assignment.place(partition, to);
    for (const node of [from, to]) this.#at(this.#assignment.load(node)).add(node);
  }

  /** Heaviest to lightest first; over a third node, which ends as it was, only if nothing else is. */
  next(): readonly Step[] | undefined {
    return this.#search(this.#direct) ?? this.#search(this.#viaAnother);
  }

  /**
   * Between two of which one carries one more: this namespace stays as even as it is, and all
   * namespaces together become more even.
   */
  nextOverAll(): Step | undefined {
    const { names } = this.#assignment;
    const total = (node: number) => this.#assignment.total(node);
    const byTotal = [...names.keys()].sort((a, b) => total(a) - total(b) || a - b);
    for (const from of [...byTotal].reverse()) {
      for (const to of byTotal) {
        if (total(from) < total(to) + 2) break;
        if (this.#assignment.load(from) !== this.#assignment.load(to) + 1) continue;
        if (this.#assignment.isFull(to)) continue;
        const partition = this.#movable(from, to);
        if (partition !== undefined) return { partition, from, to };
      }
    }
    return undefined;
  }

  #at(load: number): Set<number> {
    while (this.#byLoad.length <= load) this.#byLoad.push(new Set());
    return this.#byLoad[load]!;
  }

  #search(
    way: (this: Levels, from: number, to: number) => readonly Step[] | undefined,
  ): readonly Step[] | undefined {
    for (const from of this.#givers()) {
      for (const to of this.#takers()) {
        if (!this.#helps(from, to)) break;
        const steps = way.call(this, from, to);
        if (steps !== undefined) return steps;
      }
    }
    return undefined;
  }

  /** Who holds more than it should, then by load; ends where nobody carries two fewer. */
  *#givers(): Generator<number> {
    for (const node of this.#assignment.overfull()) yield node;
    for (let load = this.#byLoad.length - 1; load > 1; load--) yield* this.#byLoad[load]!;
  }

  *#takers(): Generator<number> {
    for (const nodes of this.#byLoad) {
      for (const node of nodes) if (!this.#assignment.isFull(node)) yield node;
    }
  }

  #helps(from: number, to: number): boolean {
    if (this.#assignment.isOverfull(from)) return from !== to;
    return this.#assignment.load(from) >= this.#assignment.load(to) + 2;
  }

  #direct(from: number, to: number): readonly Step[] | undefined {
    const partition = this.#movable(from, to);
    return partition === undefined ? undefined : [{ partition, from, to }];
  }

  #viaAnother(from: number, to: number): readonly Step[] | undefined {
    for (const between of this.#assignment.names.keys()) {
      if (between === from || between === to) continue;
      const first = this.#movable(from, between);
      if (first === undefined) continue;
      const second = this.#movable(between, to);
      if (second === undefined || second === first) continue;
      return [
        { partition: first, from, to: between },
        { partition: second, from: between, to },
      ];
    }
    return undefined;
  }

  /** A partition whose replica may go from one node to the other. */
  #movable(from: number, to: number): number | undefined {
    const { dcOf, held } = this.#assignment;
    const [fromDc, toDc] = [dcOf[from]!, dcOf[to]!];
    if (this.#assignment.isClosed(from) || this.#assignment.isClosed(to)) return undefined;
    if (!this.#reachOf(from).has(toDc)) return undefined;
    for (const partition of held[from]!) {
      if (!this.#assignment.keepsSpread(partition, fromDc, toDc)) continue;
      if (this.#assignment.accepts(partition, to, from)) return partition;
    }
    return undefined;
  }

  #reachOf(node: number): ReadonlySet<number> {
    const { dcOf, held, nodesOf } = this.#assignment;
    const known = this.#reach[node];
    if (known !== undefined) return known;
    const reach = new Set([dcOf[node]!]);
    for (const partition of held[node]!) {
      if (reach.size === nodesOf.length) break;
      for (const dc of nodesOf.keys()) {
        if (this.#assignment.keepsSpread(partition, dcOf[node]!, dc)) reach.add(dc);
      }
    }
    this.#reach[node] = reach;
    return reach;
  }
}
