/**
 * Lists that only grow, judged in nearly linear time as Elle does: elements are unique, so a read
 * tells which pushes came before it and in which order. Dependencies between transactions (one
 * command is one, too): write-write, write-read and read-write by the order of elements, and real
 * time by the order of returns and calls. Where all of them took effect at one moment each, in an
 * order that agrees with real time, there is no cycle.
 */

export type Step =
  | { readonly kind: 'append'; readonly key: string; readonly element: string }
  /** Of the whole list; absent items: the reply is not known. */
  | { readonly kind: 'read'; readonly key: string; readonly items?: readonly string[] };

export interface Transaction {
  readonly label: string;
  readonly steps: readonly Step[];
  readonly invokedMs: number;
  /** Infinity when the outcome is unknown. */
  readonly returnedMs: number;
  /** It was refused: nothing of it may ever be seen. */
  readonly refused?: boolean;
}

export type AnomalyKind =
  | 'duplicate element'
  | 'element of nobody'
  | 'aborted read'
  | 'reads that disagree'
  | 'own push not read'
  | 'G0'
  | 'G1c'
  | 'G-single'
  | 'G2'
  | 'real time';

export interface Anomaly {
  readonly kind: AnomalyKind;
  readonly what: string;
}

type EdgeKind = 'ww' | 'wr' | 'rw' | 'rt';
interface Edge {
  readonly to: number;
  readonly kind: EdgeKind;
}

/** Empty when there is none. One cycle is told for each knot of them. */
export function findAnomalies(transactions: readonly Transaction[]): readonly Anomaly[] {
  const anomalies: Anomaly[] = [];
  const graph = new Graph(transactions);
  for (const lists of listsOf(transactions, anomalies).values()) {
    addOrder(graph, lists, transactions, anomalies);
  }
  addRealTime(graph, transactions);
  for (const knot of graph.knots()) anomalies.push(graph.explain(knot));
  return anomalies;
}

interface ListFacts {
  readonly key: string;
  /** By element: who pushed it. */
  readonly writers: Map<string, number>;
  longest: readonly string[];
  readonly reads: { readonly by: number; readonly items: readonly string[] }[];
}

function listsOf(transactions: readonly Transaction[], anomalies: Anomaly[]) {
  const lists = new Map<string, ListFacts>();
  const of = (key: string): ListFacts => {
    let facts = lists.get(key);
    if (facts === undefined) {
      facts = { key, writers: new Map(), longest: [], reads: [] };
      lists.set(key, facts);
    }
    return facts;
  };
  transactions.forEach(({ steps, label }, by) => {
    const own = new Map<string, string[]>();
    for (const step of steps) {
      const facts = of(step.key);
      const pushed = own.get(step.key) ?? [];
      own.set(step.key, pushed);
      if (step.kind === 'append') {
        if (facts.writers.has(step.element)) {
          throw new Error(`${step.element} is pushed twice to ${step.key}: elements are unique`);
        }
        facts.writers.set(step.element, by);
        pushed.push(step.element);
      } else if (step.items !== undefined) {
        facts.reads.push({ by, items: step.items });
        if (step.items.length > facts.longest.length) facts.longest = step.items;
        const end = step.items.slice(step.items.length - pushed.length);
        if (pushed.some((element, at) => end[at] !== element)) {
          anomalies.push({ kind: 'own push not read', what: label });
        }
      }
    }
  });
  return lists;
}

/** What reads of one list say about the order of its pushes. */
function addOrder(
  graph: Graph,
  { key, writers, longest, reads }: ListFacts,
  transactions: readonly Transaction[],
  anomalies: Anomaly[],
): void {
  const seen = new Set<string>();
  for (const element of longest) {
    const by = writers.get(element);
    const what = `${key}: ${element}`;
    if (seen.has(element)) anomalies.push({ kind: 'duplicate element', what });
    if (by === undefined) anomalies.push({ kind: 'element of nobody', what });
    else if (transactions[by]!.refused) anomalies.push({ kind: 'aborted read', what });
    seen.add(element);
  }
  const pushes = longest.map((element) => writers.get(element));
  pushes.slice(1).forEach((later, at) => {
    graph.add(pushes[at], later, 'ww');
  });
  // pushes that were acknowledged, and are in no read, came behind all that was read
  const unread = [...writers].flatMap(([element, by]) => {
    const { refused, returnedMs } = transactions[by]!;
    return seen.has(element) || refused || returnedMs === Number.POSITIVE_INFINITY ? [] : [by];
  });
  const rest = graph.addPlace();
  for (const by of unread) {
    graph.add(rest, by, 'ww');
    graph.add(pushes.at(-1), by, 'ww');
  }
  const own = new Set(unread);
  for (const { by, items } of reads) {
    const differs = items.findIndex((element, at) => element !== longest[at]);
    if (differs >= 0) {
      const what = `${key}: at ${differs} one reads ${items[differs]}, one ${longest[differs]}`;
      anomalies.push({ kind: 'reads that disagree', what });
      continue;
    }
    if (items.length > 0) graph.add(pushes[items.length - 1], by, 'wr');
    if (items.length < longest.length) graph.add(by, pushes[items.length], 'rw');
    else if (!own.has(by)) graph.add(by, rest, 'rw');
    else for (const other of own) graph.add(by, other, 'rw'); // not by way of itself
  }
}

/** A chain of returns: 3 edges for each transaction stand for all pairs in their order. */
function addRealTime(graph: Graph, transactions: readonly Transaction[]): void {
  const events = transactions
    .flatMap(({ invokedMs, returnedMs, refused }, at) =>
      refused
        ? []
        : [
            { ms: invokedMs, isReturn: false, at },
            { ms: returnedMs, isReturn: true, at },
          ],
    )
    .filter(({ ms }) => ms !== Number.POSITIVE_INFINITY)
    // a call at the moment of a return is concurrent with it
    .sort((a, b) => a.ms - b.ms || Number(a.isReturn) - Number(b.isReturn));
  let last: number | undefined;
  for (const { isReturn, at } of events) {
    if (!isReturn) {
      graph.add(last, at, 'rt');
      continue;
    }
    const place = graph.addPlace();
    graph.add(last, place, 'rt');
    graph.add(at, place, 'rt');
    last = place;
  }
}

/** Transactions by their places, and behind them places that only carry edges on. */
class Graph {
  readonly #transactions: readonly Transaction[];
  readonly #edges: Edge[][];

  constructor(transactions: readonly Transaction[]) {
    this.#transactions = transactions;
    this.#edges = transactions.map(() => []);
  }

  addPlace(): number {
    return this.#edges.push([]) - 1;
  }

  add(from: number | undefined, to: number | undefined, kind: EdgeKind): void {
    if (from !== undefined && to !== undefined && from !== to)
      this.#edges[from]!.push({ to, kind });
  }

  /** Strongly connected components of more than one place; Tarjan's algorithm without recursion. */
  knots(): readonly (readonly number[])[] {
    const count = this.#edges.length;
    const index = new Int32Array(count).fill(-1);
    const low = new Int32Array(count);
    const onStack = new Uint8Array(count);
    const stack: number[] = [];
    const found: number[][] = [];
    let next = 0;
    for (let root = 0; root < count; root++) {
      if (index[root] !== -1) continue;
      const path: { readonly at: number; edge: number }[] = [];
      const enter = (at: number) => {
        index[at] = low[at] = next++;
        stack.push(at);
        onStack[at] = 1;
        path.push({ at, edge: 0 });
      };
      enter(root);
      for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
        const { at } = top;
        const edge = this.#edges[at]![top.edge++];
        if (edge !== undefined) {
          if (index[edge.to] === -1) enter(edge.to);
          else if (onStack[edge.to] === 1) low[at] = Math.min(low[at]!, index[edge.to]!);
          continue;
        }
        path.pop();
        const above = path.at(-1);
        if (above !== undefined) low[above.at] = Math.min(low[above.at]!, low[at]!);
        if (low[at] === index[at]) {
          const knot = stack.splice(stack.lastIndexOf(at));
          for (const one of knot) onStack[one] = 0;
          if (knot.length > 1) found.push(knot);
        }
      }
    }
    return found;
  }

  /** A shortest cycle through one transaction of the knot. */
  explain(knot: readonly number[]): Anomaly {
    const inside = new Set(knot);
    const start = knot.find((at) => at < this.#transactions.length)!;
    const cameBy = new Map<number, { readonly from: number; readonly kind: EdgeKind }>();
    const queue = [start];
    for (let at = queue.shift(); at !== undefined && !cameBy.has(start); at = queue.shift()) {
      for (const { to, kind } of this.#edges[at]!) {
        if (!inside.has(to) || cameBy.has(to)) continue;
        cameBy.set(to, { from: at, kind });
        queue.push(to);
      }
    }
    const words: string[] = [];
    const kinds: EdgeKind[] = [];
    let at = start;
    do {
      const { from, kind } = cameBy.get(at)!;
      kinds.push(kind);
      const label = this.#transactions[from]?.label;
      if (label !== undefined) words.unshift(`${label} –${kind}→`);
      at = from;
    } while (at !== start);
    const what = `${words.join(' ')} ${this.#transactions[start]!.label}`;
    return { kind: kindOfCycle(kinds), what };
  }
}

/** Adya's names; a cycle that needs real time has none of them. */
function kindOfCycle(kinds: readonly EdgeKind[]): AnomalyKind {
  if (kinds.includes('rt')) return 'real time';
  const antiDependencies = kinds.filter((kind) => kind === 'rw').length;
  if (antiDependencies > 0) return antiDependencies === 1 ? 'G-single' : 'G2';
  return kinds.includes('wr') ? 'G1c' : 'G0';
}
