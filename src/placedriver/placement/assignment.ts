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
  /** Replicas it should hold at most, of all namespaces; no bound when missing. */
  readonly capacity?: number;
  /** Replicas of other namespaces that it holds: among equals, who carries less of those. */
  readonly heldElsewhere?: number;
  /** It keeps what it holds and is given nothing: it is away, and may come back with its data. */
  readonly closed?: boolean;
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
  /** Of this namespace. */
  readonly #capacity: readonly number[];
  readonly #heldElsewhere: readonly number[];
  readonly #closed: readonly boolean[];
  /** Of nodes that take replicas. */
  readonly #openHosts: ReadonlySet<number>;
  /** Per data centre, the replicas of one partition that it has room for: one a host, and one a node. */
  readonly #hostRoom: readonly number[];
  readonly #nodeRoom: readonly number[];
  readonly #dcCounts: Uint16Array[];
  /** Of those, what closed nodes hold: it needs no room. */
  readonly #closedCounts: Uint16Array[];

  constructor(nodes: readonly CandidateNode[], partitions: number, replicas: number) {
    const byName = new Map(nodes.map((node) => [node.node, node]));
    const ordered = interleaveNodes(nodes).map((name) => byName.get(name)!);
    const [dcs, hosts] = [new Numbering(), new Numbering()];
    this.names = ordered.map(({ node }) => node);
    this.dcOf = ordered.map(({ dc }) => dcs.of(dc));
    this.#hostOf = ordered.map(({ host }) => hosts.of(host));
    this.#heldElsewhere = ordered.map(({ heldElsewhere }) => heldElsewhere ?? 0);
    this.#capacity = ordered.map(({ capacity }, node) =>
      capacity === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(0, capacity - this.#heldElsewhere[node]!),
    );
    this.#closed = ordered.map(({ closed }) => closed === true);
    const openIn = (all: readonly number[]) => all.filter((node) => !this.#closed[node]);
    const hostsIn = (all: readonly number[]) =>
      new Set(openIn(all).map((node) => this.#hostOf[node]!));
    this.#openHosts = hostsIn([...ordered.keys()]);
    this.replicas = replicas;
    this.nodesOf = Array.from({ length: dcs.size }, (_, dc) =>
      ordered.flatMap((_, node) => (this.dcOf[node] === dc ? [node] : [])),
    );
    this.#hostRoom = this.nodesOf.map((all) => hostsIn(all).size);
    this.#nodeRoom = this.nodesOf.map((all) => openIn(all).length);
    this.members = Array.from({ length: partitions }, () => []);
    this.held = ordered.map(() => new Set());
    this.#dcCounts = this.members.map(() => new Uint16Array(dcs.size));
    this.#closedCounts = this.members.map(() => new Uint16Array(dcs.size));
  }

  load(node: number): number {
    return this.held[node]!.size;
  }

  /** What it carries of all namespaces. */
  total(node: number): number {
    return this.load(node) + this.#heldElsewhere[node]!;
  }

  /** Other namespaces are to be thought of as well. */
  get hasOthers(): boolean {
    return this.#heldElsewhere.some((held) => held > 0);
  }

  isClosed(node: number): boolean {
    return this.#closed[node]!;
  }

  /** Holds as much as it should. */
  isFull(node: number): boolean {
    return this.#closed[node]! || this.load(node) >= this.#capacity[node]!;
  }

  isOverfull(node: number): boolean {
    return this.load(node) > this.#capacity[node]!;
  }

  overfull(): readonly number[] {
    return [...this.names.keys()].filter((node) => this.isOverfull(node) && !this.isClosed(node));
  }

  place(partition: number, node: number): void {
    this.members[partition]!.push(node);
    this.held[node]!.add(partition);
    this.#count(partition, node, 1);
  }

  take(partition: number, node: number): void {
    const members = this.members[partition]!;
    members.splice(members.indexOf(node), 1);
    this.held[node]!.delete(partition);
    this.#count(partition, node, -1);
  }

  /** Distinct nodes, and distinct hosts while there are enough: as if `leaving` held it no more. */
  accepts(partition: number, node: number, leaving = -1): boolean {
    const apart = this.#hostsApart(partition);
    for (const member of this.members[partition]!) {
      if (member === leaving) continue;
      if (member === node) return false;
      if (apart && this.#hostOf[member] === this.#hostOf[node]) return false;
    }
    return true;
  }

  /** A move from one data centre to another leaves the spread as even as it can be. */
  keepsSpread(partition: number, from: number, to: number): boolean {
    if (from === to) return true;
    const counts = this.#dcCounts[partition]!;
    return counts[to]! < counts[from]! && this.#hasRoom(partition, to);
  }

  /** The data centres that the next replica of a partition may be in: those that hold fewest. */
  emptiest(partition: number): number[] {
    const counts = this.#dcCounts[partition]!;
    let fewest = Number.POSITIVE_INFINITY;
    for (let dc = 0; dc < counts.length; dc++) {
      if (this.#hasRoom(partition, dc)) fewest = Math.min(fewest, counts[dc]!);
    }
    return [...counts.keys()].filter((dc) => counts[dc] === fewest && this.#hasRoom(partition, dc));
  }

  /**
   * Members in a data centre that holds at least two more of a partition than another, where an open
   * node could take them: hosts may reach over data centres.
   */
  crowded(partition: number): number[] {
    const counts = this.#dcCounts[partition]!;
    const fewest = counts[this.emptiest(partition)[0] ?? -1] ?? Number.POSITIVE_INFINITY;
    if (!counts.some((count) => count > fewest + 1)) return [];
    return this.members[partition]!.filter((member) => {
      const most = counts[this.dcOf[member]!]! - 2;
      return this.names.some(
        (_, node) =>
          counts[this.dcOf[node]!]! <= most &&
          !this.#closed[node] &&
          this.accepts(partition, node, member),
      );
    });
  }

  /** Replicas of a partition in a node's data centre. */
  beside(partition: number, node: number): number {
    return this.#dcCounts[partition]![this.dcOf[node]!]!;
  }

  #hasRoom(partition: number, dc: number): boolean {
    const taken = this.#dcCounts[partition]![dc]! - this.#closedCounts[partition]![dc]!;
    const room = this.#hostsApart(partition) ? this.#hostRoom : this.#nodeRoom;
    return taken < room[dc]!;
  }

  /**
   * There are hosts enough for every replica of the partition to have its own: those that take one,
   * and those of its closed members. A rule that cannot be kept would move replicas for ever.
   */
  #hostsApart(partition: number): boolean {
    const missing = this.replicas - this.#openHosts.size;
    if (missing <= 0) return true;
    const closed = this.members[partition]!.filter((node) => this.#closed[node]);
    if (closed.length < missing) return false;
    const hosts = closed.map((node) => this.#hostOf[node]!);
    return new Set(hosts.filter((host) => !this.#openHosts.has(host))).size >= missing;
  }

  #count(partition: number, node: number, by: number): void {
    const dc = this.dcOf[node]!;
    this.#dcCounts[partition]![dc]! += by;
    if (this.#closed[node]) this.#closedCounts[partition]![dc]! += by;
  }
}
