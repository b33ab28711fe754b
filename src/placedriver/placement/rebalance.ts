/**
 * From the table there is to the table there should be, with the fewest moves. Pure. What matters
 * more comes first: distinct nodes, tags (whoever is a candidate has them), distinct hosts, data
 * centres as even as the live ones allow, capacity, replica counts within 1 of each other, leader
 * counts within 1, few moves.
 *
 * What breaks no rule stays where it is; what must leave is dealt out to those that carry least;
 * then replicas move from who carries most to who carries least until they are within 1.
 */
import type { NodeId } from '../../common/ids.ts';
import { Assignment, type CandidateNode } from './assignment.ts';
import { interleave } from './interleave.ts';
import { balanceLeaders } from './leaders.ts';
import { levelOut } from './level-out.ts';

/** Per partition its nodes, the one that should lead first. */
export type Table = readonly (readonly NodeId[])[];

/**
 * `current` may name nodes that are no candidates (dead, drained, without the tags) and may hold
 * fewer or more than `replicas` nodes per partition. Throws when there are fewer candidates than
 * replicas.
 */
export function rebalance(
  candidates: readonly CandidateNode[],
  current: Table,
  replicas: number,
): Table {
  assertEnough(candidates, replicas);
  const assignment = new Assignment(candidates, current.length, replicas);
  keepWhatMayStay(assignment, current);
  fillHoles(assignment);
  levelOut(assignment);
  return named(assignment, current, balanceLeaders(assignment, current));
}

/**
 * Only what must move: replicas on nodes that are no candidates, and those too few or too many.
 * What stays is not moved to mend the spread over data centres or hosts, nor to be more even. Throws
 * as `rebalance` does.
 */
export function repairTable(
  candidates: readonly CandidateNode[],
  current: Table,
  replicas: number,
): Table {
  assertEnough(candidates, replicas);
  const assignment = new Assignment(candidates, current.length, replicas);
  keepWhatStays(assignment, current);
  fillHoles(assignment);
  return named(assignment, current, balanceLeaders(assignment, current));
}

/** A namespace's first table: interleaved, and mended where data centres or hosts are unequal. */
export function firstTable(
  candidates: readonly CandidateNode[],
  partitions: number,
  replicas: number,
): Table {
  return rebalance(candidates, interleave(candidates, partitions, replicas), replicas);
}

/** Closed nodes take nothing, so they are none. */
function assertEnough(candidates: readonly CandidateNode[], replicas: number): void {
  const open = candidates.filter(({ closed }) => closed !== true).length;
  if (open >= replicas) return;
  throw new Error(`${replicas} replicas need as many nodes; only ${open} are alive`);
}

function keepWhatStays(assignment: Assignment, current: Table): void {
  keepHolders(assignment, current, () => true);
}

function keepWhatMayStay(assignment: Assignment, current: Table): void {
  keepHolders(assignment, current, (partition, node) => assignment.accepts(partition, node));
  for (const [partition] of assignment.members.entries()) {
    for (;;) {
      const crowded = assignment.crowded(partition);
      if (crowded.length === 0) break;
      dropHeaviest(assignment, partition, crowded);
    }
  }
}

function keepHolders(
  assignment: Assignment,
  current: Table,
  may: (partition: number, node: number) => boolean,
): void {
  const numbers = new Map(assignment.names.map((name, number) => [name, number]));
  for (const [partition, holders] of current.entries()) {
    const known = holders.flatMap((holder) => numbers.get(holder) ?? []);
    // what is closed first: whether hosts are to be apart depends on it
    const closed = known.filter((node) => assignment.isClosed(node));
    const open = known.filter((node) => !assignment.isClosed(node));
    for (const node of [...closed, ...open]) {
      if (may(partition, node)) assignment.place(partition, node);
    }
  }
  for (const [partition, members] of assignment.members.entries()) {
    while (members.length > assignment.replicas) dropSurplus(assignment, partition);
  }
}

/** Those that are away first, then where a data centre holds most. */
function dropSurplus(assignment: Assignment, partition: number): void {
  const away = assignment.members[partition]!.filter((node) => assignment.isClosed(node));
  if (away.length > 0) {
    dropHeaviest(assignment, partition, away);
    return;
  }
  const counts = new Map<number, number>();
  for (const node of assignment.members[partition]!) {
    const dc = assignment.dcOf[node]!;
    counts.set(dc, (counts.get(dc) ?? 0) + 1);
  }
  const most = Math.max(...counts.values());
  const dcs = [...counts.keys()].filter((dc) => counts.get(dc) === most);
  dropHeaviest(
    assignment,
    partition,
    assignment.members[partition]!.filter((node) => dcs.includes(assignment.dcOf[node]!)),
  );
}

/** Of equals the last one, so that a leader stays. What is away stays where others can go. */
function dropHeaviest(assignment: Assignment, partition: number, all: readonly number[]): void {
  const open = all.filter((node) => !assignment.isClosed(node));
  const nodes = open.length > 0 ? open : all;
  const heaviest = nodes.reduce((a, b) => (assignment.load(b) >= assignment.load(a) ? b : a));
  assignment.take(partition, heaviest);
}

/** Partitions with one choice of data centre first: the others even out what those bring about. */
function fillHoles(assignment: Assignment): void {
  const { members, replicas } = assignment;
  const open: number[] = [];
  for (const [partition, holders] of members.entries()) {
    while (holders.length < replicas && assignment.emptiest(partition).length === 1) {
      assignment.place(partition, lightest(assignment, partition));
    }
    if (holders.length < replicas) open.push(partition);
  }
  for (const partition of open) {
    while (members[partition]!.length < replicas) {
      assignment.place(partition, lightest(assignment, partition));
    }
  }
}

/** Who should take a replica of a partition: with room, with least, first in the order. */
function lightest(assignment: Assignment, partition: number): number {
  let best = -1;
  let bestLoad = Number.POSITIVE_INFINITY;
  for (const dc of assignment.emptiest(partition)) {
    for (const node of assignment.nodesOf[dc]!) {
      if (assignment.isClosed(node)) continue;
      const load = assignment.load(node) + (assignment.isFull(node) ? FULL : 0);
      if (load > bestLoad) continue;
      if (load === bestLoad && !goesBefore(assignment, node, best)) continue;
      if (!assignment.accepts(partition, node)) continue;
      [best, bestLoad] = [node, load];
    }
  }
  return best === -1 ? anyNode(assignment, partition) : best;
}

/** Among equals: who carries less of other namespaces, then the order. */
function goesBefore(assignment: Assignment, node: number, other: number): boolean {
  return (assignment.total(node) - assignment.total(other) || node - other) < 0;
}

/** Heavier than any node that has room. */
const FULL = 1e9;

/** Where hosts reach over data centres, the evenest choice may have no host left. */
function anyNode(assignment: Assignment, partition: number): number {
  const nodes = [...assignment.names.keys()].filter((node) => !assignment.isClosed(node));
  const free = nodes.filter((node) => !assignment.members[partition]!.includes(node));
  const apart = free.filter((node) => assignment.accepts(partition, node));
  const choice = apart.length > 0 ? apart : free;
  const weight = (node: number) =>
    assignment.beside(partition, node) * FULL + assignment.load(node);
  return choice.reduce((a, b) => (weight(b) < weight(a) ? b : a));
}

/** The leader first, then who was there before in its order, then who is new. */
function named(assignment: Assignment, current: Table, leaders: readonly number[]): Table {
  return assignment.members.map((members, partition) => {
    const before = new Map(current[partition]!.map((name, rank) => [name, rank]));
    const rank = (node: number) =>
      node === leaders[partition] ? -1 : (before.get(assignment.names[node]!) ?? before.size);
    return members
      .map((node, position) => ({ node, rank: rank(node), position }))
      .sort((a, b) => a.rank - b.rank || a.position - b.position)
      .map(({ node }) => assignment.names[node]!);
  });
}
