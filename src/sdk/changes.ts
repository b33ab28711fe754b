/**
 * What becomes of a client's connections and table, for whoever reads along with `for await`. A
 * reader that lags has at most `limits.sdkChangesMax` changes kept for it: the oldest are dropped, and
 * it is told how many.
 */
import { limits } from '../common/limits.ts';
import { onAbort } from './abort-signals.ts';
import type { ClientStatus, NodeInfo } from './client-events.ts';
import type { PartitionTable } from './table.ts';

/** One change; told apart by `kind`. */
export type ClientChange =
  /** The client's status is another. */
  | { readonly kind: 'status'; readonly status: ClientStatus }
  /** A connection to a datanode stands, or was lost (`error` says why, if not by this side). */
  | {
      readonly kind: 'connection';
      readonly state: 'connected' | 'lost';
      readonly host: string;
      readonly port: number;
      readonly error?: Error | undefined;
    }
  /** A new table of partitions; `epoch` grows with each (0 where only datanodes are known). */
  | { readonly kind: 'table'; readonly epoch: number; readonly partitions: number }
  /** A partition has another leader: names of nodes, undefined: nobody leads. */
  | {
      readonly kind: 'leader';
      readonly partition: number;
      readonly from: string | undefined;
      readonly to: string | undefined;
    }
  /** A datanode appeared in the table (or at another address), or left it. */
  | { readonly kind: 'node'; readonly state: 'added' | 'removed'; readonly node: NodeInfo }
  /** The reader lagged: so many changes before the next one were not kept. */
  | { readonly kind: 'dropped'; readonly count: number };

/** Of one that reads along. */
class Reader {
  readonly #kept: ClientChange[];
  #dropped = 0;
  #wake: (() => void) | undefined;

  constructor(first: readonly ClientChange[]) {
    this.#kept = [...first];
  }

  put(change: ClientChange): void {
    this.#kept.push(change);
    if (this.#kept.length > limits.sdkChangesMax) {
      this.#kept.shift();
      this.#dropped++;
    }
    this.wake();
  }

  wake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  take(): ClientChange | undefined {
    if (this.#dropped === 0) return this.#kept.shift();
    const count = this.#dropped;
    this.#dropped = 0;
    return { kind: 'dropped', count };
  }

  /** Resolves when something was put, or `wake` was called. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

export class ChangeFeed {
  readonly #readers = new Set<Reader>();
  #ended = false;

  /** How many read along. */
  get readers(): number {
    return this.#readers.size;
  }

  tell(change: ClientChange): void {
    for (const reader of this.#readers) reader.put(change);
  }

  /** Nothing follows. */
  end(): void {
    this.#ended = true;
    for (const reader of this.#readers) reader.wake();
  }

  /** What was told since the first step, behind `first`; ends with the feed, or with `signal`. */
  async *read(
    first: () => readonly ClientChange[],
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ClientChange, void, undefined> {
    const reader = new Reader(first());
    const wake = () => reader.wake();
    this.#readers.add(reader);
    const unlisten = signal && onAbort(signal, wake);
    try {
      while (!signal?.aborted) {
        const change = reader.take();
        if (change !== undefined) yield change;
        else if (this.#ended) return;
        else await reader.wait();
      }
    } finally {
      this.#readers.delete(reader);
      unlisten?.();
    }
  }
}

/** What `after` has and `before` had not, nodes first. Pure. */
export function tableChanges(
  before: PartitionTable | undefined,
  after: PartitionTable,
): readonly ClientChange[] {
  const { epoch, partitions } = after.content;
  const nodesBefore = nodesOf(before);
  const nodes = nodesOf(after);
  const changes: ClientChange[] = [{ kind: 'table', epoch, partitions: partitions.length }];
  for (const [key, node] of nodesBefore) {
    if (!nodes.has(key)) changes.push({ kind: 'node', state: 'removed', node });
  }
  for (const [key, node] of nodes) {
    if (!nodesBefore.has(key)) changes.push({ kind: 'node', state: 'added', node });
  }
  if (before === undefined) return changes;
  for (const { partition, leader } of partitions) {
    const from = before.content.partitions[partition]?.leader;
    if (from !== leader) changes.push({ kind: 'leader', partition, from, to: leader });
  }
  return changes;
}

function nodesOf(table: PartitionTable | undefined): ReadonlyMap<string, NodeInfo> {
  const nodes = table?.content.nodes ?? [];
  return new Map(
    nodes.map(({ name, host, port }) => [`${name} ${host}:${port}`, { name, host, port }]),
  );
}
