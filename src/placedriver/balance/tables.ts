/** Per namespace the table there is, and the table there should be. Pure. */
import type { NodeId } from '../../common/ids.ts';
import type { Steps } from '../../common/slices.ts';
import type { NamespaceRecord, PartitionRecord } from '../../meta/schema.ts';
import type { CandidateNode } from '../placement/assignment.ts';
import { rebalance, repairTable, type Table } from '../placement/rebalance.ts';
import { awayNode, candidateNode, hasTags } from './candidates.ts';
import type { GroupStates } from './group-states.ts';
import type { BalanceView, KnownPartition } from './view.ts';

/** `repair`: only what must move; `balance`: and what makes the table more even. */
export type TableMode = 'repair' | 'balance';

export interface NamespaceTable<P extends KnownPartition = KnownPartition> {
  readonly namespace: NamespaceRecord;
  /** In order; `current` and `target` have a row for each. */
  readonly partitions: readonly P[];
  readonly current: Table;
  readonly target: Table;
}

/** Of every namespace that clients see; what the others hold weighs on the nodes as well. */
export class Tables<P extends KnownPartition> {
  readonly #view: BalanceView<P>;
  readonly #states: GroupStates;
  readonly #namespaces: readonly NamespaceRecord[];
  readonly #partitions = new Map<string, P[]>();
  readonly #current = new Map<string, Table>();
  /** Replicas per node, of all namespaces. */
  readonly #held = new Map<NodeId, number>();

  constructor(view: BalanceView<P>, states: GroupStates) {
    this.#view = view;
    this.#states = states;
    this.#namespaces = view.namespaces
      .filter(({ ready, deleting }) => ready && !deleting)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const partition of view.partitions) {
      const { namespace, replicas } = partition.record;
      const known = this.#partitions.get(namespace);
      if (known === undefined) this.#partitions.set(namespace, [partition]);
      else known.push(partition);
      this.#hold(
        replicas.map(({ node }) => node),
        1,
      );
    }
    for (const [name, partitions] of this.#partitions) {
      partitions.sort((a, b) => a.record.partition - b.record.partition);
      this.#current.set(
        name,
        partitions.map(({ record }) => record.replicas.map(({ node }) => node)),
      );
    }
  }

  get namespaces(): readonly NamespaceRecord[] {
    return this.#namespaces;
  }

  partitionsOf({ name }: NamespaceRecord): readonly P[] {
    return this.#partitions.get(name) ?? [];
  }

  /** Whether a node has as much as it should hold. */
  isFull(node: NodeId): boolean {
    const capacity = this.#states.nodes.get(node)?.capacity;
    return capacity !== undefined && (this.#held.get(node) ?? 0) >= capacity;
  }

  isOverfull(node: NodeId): boolean {
    const capacity = this.#states.nodes.get(node)?.capacity;
    return capacity !== undefined && (this.#held.get(node) ?? 0) > capacity;
  }

  /** Every namespace's next table; the next call starts from there. A step for each namespace. */
  *plan(mode: TableMode): Steps<NamespaceTable<P>[]> {
    const tables: NamespaceTable<P>[] = [];
    for (const namespace of this.#namespaces) {
      tables.push(this.#planOne(mode, namespace));
      yield;
    }
    return tables;
  }

  #planOne(mode: TableMode, namespace: NamespaceRecord): NamespaceTable<P> {
    const partitions = this.partitionsOf(namespace);
    const current = this.#current.get(namespace.name) ?? [];
    const candidates = this.#candidates(namespace, current);
    const target = this.#target(mode, candidates, current, namespace.replicas);
    this.#hold(current.flat(), -1);
    this.#hold(target.flat(), 1);
    this.#current.set(namespace.name, target);
    return { namespace, partitions, current, target };
  }

  /**
   * Where a replica of one partition should go that is to leave `from`, other than to `without`;
   * undefined: nowhere.
   */
  elsewhere(
    namespace: NamespaceRecord,
    { partition }: PartitionRecord,
    from: NodeId,
    without: readonly NodeId[] = [],
  ): NodeId | undefined {
    const all = this.#current.get(namespace.name) ?? [];
    const at = this.partitionsOf(namespace).findIndex((p) => p.record.partition === partition);
    const holders = (all[at] ?? []).filter((node) => node !== from);
    const current = all.map((row, index) => (index === at ? holders : row));
    const closed = [from, ...without];
    const candidates = this.#candidates(namespace, current).map((candidate) =>
      closed.includes(candidate.node) ? { ...candidate, closed: true } : candidate,
    );
    const free = candidates.filter(
      (candidate) => candidate.closed !== true && !holders.includes(candidate.node),
    );
    if (free.length === 0) return undefined;
    const replicas = Math.min(holders.length + 1, open(candidates));
    const row = repairTable(candidates, current, replicas)[at] ?? [];
    return row.find((node) => !holders.includes(node)) ?? free[0]!.node;
  }

  /** Too few nodes: nothing moves. */
  #target(
    mode: TableMode,
    candidates: readonly CandidateNode[],
    current: Table,
    replicas: number,
  ): Table {
    if (open(candidates) < replicas) return current;
    return mode === 'repair'
      ? repairTable(candidates, current, replicas)
      : rebalance(candidates, current, replicas);
  }

  #candidates(namespace: NamespaceRecord, current: Table): CandidateNode[] {
    const own = new Map<NodeId, number>();
    for (const node of current.flat()) own.set(node, (own.get(node) ?? 0) + 1);
    const elsewhere = (node: NodeId) => (this.#held.get(node) ?? 0) - (own.get(node) ?? 0);
    const staying = (node: NodeId) => !this.#states.isLeaving(node);
    const { shut } = this.#view.stalls;
    const here = this.#view.alive
      .filter((record) => staying(record.node) && hasTags(record, namespace.tags))
      .map((record) => {
        const candidate = candidateNode(record, elsewhere(record.node));
        return shut.has(record.node) ? { ...candidate, closed: true } : candidate;
      });
    const away = [...own.keys()]
      .filter((node) => staying(node) && !this.#states.nodes.has(node))
      .map((node) => awayNode(node, elsewhere(node)));
    return [...here, ...away];
  }

  #hold(nodes: readonly NodeId[], by: number): void {
    for (const node of nodes) this.#held.set(node, (this.#held.get(node) ?? 0) + by);
  }
}

function open(candidates: readonly CandidateNode[]): number {
  return candidates.filter(({ closed }) => closed !== true).length;
}
