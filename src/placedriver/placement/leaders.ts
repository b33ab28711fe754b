/**
 * Who leads what, when it is settled who holds what: everybody as much as anybody, within 1, as far
 * as the replicas allow it, and of all such choices one near the current one. An orientation of
 * least cost: no chain of transfers from a node to one that leads two fewer is left (Harvey et al.,
 * Semi-matchings for bipartite graphs, 2006). So whatever is within 1 stays as it is.
 */
import type { NodeId } from '../../common/ids.ts';
import type { Assignment } from './assignment.ts';

/** Per partition the number of the node that should lead it; -1: none can. */
export function balanceLeaders(
  assignment: Assignment,
  current: readonly (readonly NodeId[])[],
): readonly number[] {
  const numbers = new Map(assignment.names.map((name, number) => [name, number]));
  const able = assignment.members.map((members) =>
    members.filter((node) => !assignment.isClosed(node)),
  );
  const before = current.map(([first]) => numbers.get(first ?? '') ?? -1);
  const leaders = new Leaders(
    able,
    before,
    assignment.names.map(() => 0),
  );
  leaders.level();
  return leaders.of;
}

export interface LeadersView {
  /** Per partition who can lead it. */
  readonly able: readonly (readonly NodeId[])[];
  /** Per partition who should lead it so far. */
  readonly current: readonly (NodeId | undefined)[];
  /** Partitions of other namespaces that a node should lead. */
  ledElsewhere(node: NodeId): number;
  /** False: whoever can lead goes on, and only what nobody leads is dealt out. */
  readonly level: boolean;
}

/**
 * Per partition who should lead it, without any replica moving; undefined: nobody can. Among equals
 * the one that leads less of other namespaces.
 */
export function orderLeaders(view: LeadersView): readonly (NodeId | undefined)[] {
  const names = [...new Set(view.able.flat())].sort((a, b) => (a < b ? -1 : 1));
  const numbers = new Map(names.map((name, number) => [name, number]));
  const leaders = new Leaders(
    view.able.map((able) => able.map((name) => numbers.get(name)!)),
    view.current.map((name) => (name === undefined ? -1 : (numbers.get(name) ?? -1))),
    names.map((name) => view.ledElsewhere(name)),
  );
  if (view.level) leaders.level();
  return leaders.of.map((number) => names[number]);
}

class Leaders {
  readonly of: number[];
  readonly #able: readonly (readonly number[])[];
  readonly #elsewhere: readonly number[];
  readonly #led: Set<number>[];

  constructor(
    able: readonly (readonly number[])[],
    current: readonly number[],
    elsewhere: readonly number[],
  ) {
    this.#able = able;
    this.#elsewhere = elsewhere;
    this.#led = elsewhere.map(() => new Set());
    this.of = able.map((nodes, partition) => {
      const before = current[partition]!;
      return nodes.includes(before) ? before : -1;
    });
    for (const [partition, leader] of this.of.entries()) {
      if (leader !== -1) this.#led[leader]!.add(partition);
    }
    for (const [partition, leader] of this.of.entries()) {
      if (leader === -1 && able[partition]!.length > 0) {
        this.#lead(partition, this.#leastOf(able[partition]!));
      }
    }
  }

  level(): void {
    if (this.#led.length === 0) return;
    this.#levelOne();
    if (this.#elsewhere.some((led) => led > 0)) this.#levelAll();
  }

  #total(node: number): number {
    return this.#led[node]!.size + this.#elsewhere[node]!;
  }

  #leastOf(nodes: readonly number[]): number {
    return nodes.reduce((a, b) => {
      const fewer = this.#led[b]!.size - this.#led[a]!.size || this.#total(b) - this.#total(a);
      return fewer < 0 ? b : a;
    });
  }

  #lead(partition: number, node: number): void {
    const before = this.of[partition]!;
    if (before !== -1) this.#led[before]!.delete(partition);
    this.of[partition] = node;
    this.#led[node]!.add(partition);
  }

  /** A node from which nothing can be passed on stays so: what is passed on later is less. */
  #levelOne(): void {
    const nodes = [...this.#led.keys()];
    const done = new Set<number>();
    for (;;) {
      const open = nodes.filter((node) => !done.has(node));
      if (open.length === 0) return;
      const most = open.reduce((a, b) => (this.#led[b]!.size > this.#led[a]!.size ? b : a));
      const least = this.#leastOf(nodes);
      if (this.#led[most]!.size - this.#led[least]!.size <= 1) return;
      const fewer = (node: number) => this.#led[node]!.size <= this.#led[most]!.size - 2;
      if (!this.#passOn(most, fewer)) done.add(most);
    }
  }

  /** Who leads one more of this namespace should be one that leads little of the others. */
  #levelAll(): void {
    const nodes = [...this.#led.keys()];
    for (let changed = true; changed; ) {
      changed = false;
      let least = this.#leastTotals();
      for (const most of nodes.sort((a, b) => this.#total(b) - this.#total(a) || a - b)) {
        // most often there is nobody to look for, and the search goes through all there is
        const found = least.get(this.#led[most]!.size - 1) ?? Number.POSITIVE_INFINITY;
        if (found > this.#total(most) - 2) continue;
        const fewer = (node: number) =>
          this.#led[node]!.size === this.#led[most]!.size - 1 &&
          this.#total(node) <= this.#total(most) - 2;
        if (!this.#passOn(most, fewer)) continue;
        changed = true;
        least = this.#leastTotals();
      }
    }
  }

  /** By how much of this namespace they lead: the least that such nodes lead of all. */
  #leastTotals(): ReadonlyMap<number, number> {
    const least = new Map<number, number>();
    for (const node of this.#led.keys()) {
      const { size } = this.#led[node]!;
      least.set(size, Math.min(least.get(size) ?? Number.POSITIVE_INFINITY, this.#total(node)));
    }
    return least;
  }

  /** The shortest chain of transfers from `start` to a node that `ends` it. */
  #passOn(start: number, ends: (node: number) => boolean): boolean {
    const cameBy = new Map<number, { readonly partition: number; readonly from: number }>();
    const queue = [start];
    const seen = new Set(queue);
    for (const node of queue) {
      if (node !== start && ends(node)) {
        for (let at = node; at !== start; ) {
          const { partition, from } = cameBy.get(at)!;
          this.#lead(partition, at);
          at = from;
        }
        return true;
      }
      for (const partition of this.#led[node]!) {
        for (const member of this.#able[partition]!) {
          if (seen.has(member)) continue;
          seen.add(member);
          cameBy.set(member, { partition, from: node });
          queue.push(member);
        }
      }
    }
    return false;
  }
}
