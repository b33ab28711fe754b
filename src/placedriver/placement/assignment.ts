/**
 * A partition table while it is planned: who holds what by numbers, what every node carries, and
 * the rules that a change of it must keep. Nodes are numbered in the interleaved order, which is
 * the order among equals.
 */
import type { NodeId } from '../../common/ids.ts';
import { interleaveNodes } from './interleave.ts';

export interface CandidateNode {
  readonly node: NodeId;
  /** Data centre (`dc_info`); '' when untagged. */
  readonly dc: string;
  /** Machine (`host` tag or address): nodes that fail together. */
  readonly host: string;
  /** Replicas it should hold at most; no bound when missing. */
  readonly capacity?: number;
  /** What it carries beside this table: replicas of other namespaces; 0 when missing. */
  readonly load?: number;
}

/** Names → 0, 1, 2 … in the order they are met. */
class Numbering {
  readonly #numbers = new Map<string, number>();

  of(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(name, number);
    }
    return number;
  }

  get size(): number {
    return this.#numbers.size;
  }
}

export class Assignment {
  readonly names: readonly NodeId[];
  readonly replicas: number;
  /** Per partition its holders. */
  readonly members: number[][];
  /** Per node the partitions it holds. */
  readonly held: Set<number>[];
  readonly dcOf: readonly number[];
  readonly nodesOf: readonly (readonly number[])[];
  readonly #hostOf: readonly number[];
  readonly #capacity: readonly number[];
  readonly #elsewhere: readonly number[];
  /** There are hosts enough for every replica of a partition to have its own. */
  readonly #hostsApart: boolean;
  /** Per data centre, the replicas of one partition that it has room for. */
  readonly #room: readonly number[];
  readonly #dcCounts: Uint16Array[];

  constructor(nodes: readonly CandidateNode[], partitions: number, replicas: number) {
    const byName = new Map(nodes.map((node) => [node.node, node]));
    const ordered = interleaveNodes(nodes).map((name) => byName.get(name)!);
    const [dcs, hosts] = [new Numbering(), new Numbering()];
    this.names = ordered.map(({ node }) => node);
    this.dcOf = ordered.map(({ dc }) => dcs.of(dc));
    this.#hostOf = ordered.map(({ host }) => hosts.of(host));
    this.#capacity = ordered.map(({ capacity }) => capacity ?? Number.POSITIVE_INFINITY);
    this.#elsewhere = ordered.map(({ load }) => load ?? 0);
    this.#hostsApart = hosts.size >= replicas;
    this.replicas = replicas;
    this.nodesOf = Array.from({ length: dcs.size }, (_, dc) =>
      ordered.flatMap((_, node) => (this.dcOf[node] === dc ? [node] : [])),
    );
    this.#room = this.nodesOf.map((all) =>
      this.#hostsApart ? new Set(all.map((node) => this.#hostOf[node])).size : all.length,
    );
    this.members = Array.from({ length: partitions }, () => []);
    this.held = ordered.map(() => new Set());
    this.#dcCounts = this.members.map(() => new Uint16Array(dcs.size));
  }

  load(node: number): number {
    return this.held[node]!.size + this.#elsewhere[node]!;
  }

  /** Holds as much as it should. */
  isFull(node: number): boolean {
    return this.load(node) >= this.#capacity[node]!;
  }

  isOverfull(node: number): boolean {
    return this.load(node) > this.#capacity[node]!;
  }

  overfull(): readonly number[] {
    return [...this.names.keys()].filter((node) => this.isOverfull(node));
  }

  place(partition: number, node: number): void {
    this.members[partition]!.push(node);
    this.held[node]!.add(partition);
    this.#dcCounts[partition]![this.dcOf[node]!]!++;
  }

  take(partition: number, node: number): void {
    const members = this.members[partition]!;
    members.splice(members.indexOf(node), 1);
    this.held[node]!.delete(partition);
    this.#dcCounts[partition]![this.dcOf[node]!]!--;
  }

  /** Distinct nodes, and distinct hosts while there are enough: as if `leaving` held it no more. */
  accepts(partition: number, node: number, leaving = -1): boolean {
    for (const member of this.members[partition]!) {
      if (member === leaving) continue;
      if (member === node) return false;
      if (this.#hostsApart && this.#hostOf[member] === this.#hostOf[node]) return false;
    }
    return true;
  }

  /** A move from one data centre to another leaves the spread as even as it can be. */
  keepsSpread(partition: number, from: number, to: number): boolean {
    if (from === to) return true;
    const counts = this.#dcCounts[partition]!;
    return counts[to]! < counts[from]! && counts[to]! < this.#room[to]!;
  }

  /** The data centres that the next replica of a partition may be in: those that hold fewest. */
  emptiest(partition: number): number[] {
    const counts = this.#dcCounts[partition]!;
    let fewest = Number.POSITIVE_INFINITY;
    for (let dc = 0; dc < counts.length; dc++) {
      if (counts[dc]! < this.#room[dc]!) fewest = Math.min(fewest, counts[dc]!);
    }
    return [...counts.keys()].filter((dc) => counts[dc] === fewest && fewest < this.#room[dc]!);
  }

  /** A data centre that holds at least two more of a partition than another that has room. */
  crowded(partition: number): number | undefined {
    const counts = this.#dcCounts[partition]!;
    const fewest = counts[this.emptiest(partition)[0] ?? -1] ?? Number.POSITIVE_INFINITY;
    const crowded = counts.findIndex((count) => count > fewest + 1);
    return crowded === -1 ? undefined : crowded;
  }
}
