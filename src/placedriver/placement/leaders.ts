/**
 * Who leads what, when it is settled who holds what: everybody as much as anybody, within 1, as far
 * as the replicas allow it, and of all such choices one near the current one. An orientation of
 * least cost: no chain of transfers from a node to one that leads two fewer is left (Harvey et al.,
 * Semi-matchings for bipartite graphs, 2006).
 */
import type { NodeId } from '../../common/ids.ts';
import type { Assignment } from './assignment.ts';

/** Per partition the number of the node that should lead it. */
export function balanceLeaders(
  assignment: Assignment,
  current: readonly (readonly NodeId[])[],
): readonly number[] {
  const leaders = new Leaders(assignment, current);
  leaders.level();
  return leaders.of;
}

class Leaders {
  readonly of: number[];
  readonly #assignment: Assignment;
  readonly #led: Set<number>[];

  constructor(assignment: Assignment, current: readonly (readonly NodeId[])[]) {
    this.#assignment = assignment;
    this.#led = assignment.names.map(() => new Set());
    const numbers = new Map(assignment.names.map((name, number) => [name, number]));
    this.of = assignment.members.map((members, partition) => {
      const before = numbers.get(current[partition]![0] ?? '');
      return before !== undefined && members.includes(before) ? before : -1;
    });
    for (const [partition, leader] of this.of.entries()) {
      if (leader !== -1) this.#led[leader]!.add(partition);
    }
    for (const [partition, leader] of this.of.entries()) {
      if (leader === -1) this.#lead(partition, this.#leastOf(assignment.members[partition]!));
    }
  }

  #leastOf(nodes: readonly number[]): number {
    return nodes.reduce((a, b) => (this.#led[b]!.size < this.#led[a]!.size ? b : a));
  }

  #lead(partition: number, node: number): void {
    const before = this.of[partition]!;
    if (before !== -1) this.#led[before]!.delete(partition);
    this.of[partition] = node;
    this.#led[node]!.add(partition);
  }

  /** A node from which nothing can be passed on stays so: what is passed on later is less. */
  level(): void {
    const nodes = [...this.#assignment.names.keys()];
    const done = new Set<number>();
    for (;;) {
      const open = nodes.filter((node) => !done.has(node));
      if (open.length === 0) return;
      const most = open.reduce((a, b) => (this.#led[b]!.size > this.#led[a]!.size ? b : a));
      const least = this.#leastOf(nodes);
      if (this.#led[most]!.size - this.#led[least]!.size <= 1) return;
      if (!this.#passOn(most)) done.add(most);
    }
  }

  /** The shortest chain of transfers from `start` to a node that leads at least two fewer. */
  #passOn(start: number): boolean {
    const cameBy = new Map<number, { readonly partition: number; readonly from: number }>();
    const queue = [start];
    const seen = new Set(queue);
    for (const node of queue) {
      if (this.#led[node]!.size <= this.#led[start]!.size - 2) {
        for (let at = node; at !== start; ) {
          const { partition, from } = cameBy.get(at)!;
          this.#lead(partition, at);
          at = from;
        }
        return true;
      }
      for (const partition of this.#led[node]!) {
        for (const member of this.#assignment.members[partition]!) {
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
