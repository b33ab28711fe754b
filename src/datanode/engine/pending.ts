/**
 * Changes that an engine beneath does not have yet, the newest of each key: what readers are to find
 * in its stead (`write-behind.ts`).
 */
import type { BatchOperation, BatchOperations, KeyRange } from './engine.ts';

/** Latin1 names are ordered as the keys are that they are of. */
export type Named = readonly [name: string, operation: BatchOperation];

export class Pending {
  readonly #operations: Map<string, BatchOperation>;
  /** First bytes of the keys: a range of other ones is spared the look at every change. */
  readonly #tags: Set<number>;
  #bytes: number;
  /** Somebody keeps the state of it: it is not to change any more. */
  isShared = false;

  constructor(from?: Pending) {
    this.#operations = new Map(from?.byName);
    this.#tags = new Set(from?.tags);
    this.#bytes = from?.bytes ?? 0;
  }

  get size(): number {
    return this.#operations.size;
  }

  /** Of keys and values. */
  get bytes(): number {
    return this.#bytes;
  }

  get byName(): ReadonlyMap<string, BatchOperation> {
    return this.#operations;
  }

  get tags(): ReadonlySet<number> {
    return this.#tags;
  }

  add(operations: BatchOperations): void {
    for (const operation of operations) {
      const { key } = operation;
      const name = operation.name ?? nameOf(key);
      const before = this.#operations.get(name);
      if (before !== undefined) this.#bytes -= sizeOf(before);
      this.#bytes += sizeOf(operation);
      this.#operations.set(name, operation);
      this.#tags.add(key[0] ?? 0);
    }
  }

  /** One batch, of each key once. */
  operations(): BatchOperation[] {
    return [...this.#operations.values()];
  }

  mayHold({ gte, lt }: KeyRange): boolean {
    const [first, last] = [gte[0] ?? 0, lt[0] ?? 0];
    for (const tag of this.#tags) if (tag >= first && tag <= last) return true;
    return false;
  }
}

/** What the newest of `layers` that has a change of `key` has; undefined: none does. */
export function pendingOf(layers: readonly Pending[], key: Buffer): BatchOperation | undefined {
  if (layers.length === 0) return undefined;
  const name = nameOf(key);
  for (const { byName } of layers) {
    const operation = byName.get(name);
    if (operation !== undefined) return operation;
  }
  return undefined;
}

/** What of `layers`, the newest first, lies in `range`, in its direction; of each key the newest. */
export function pendingWithin(layers: readonly Pending[], range: KeyRange): Named[] {
  const found = new Map<string, BatchOperation>();
  const [from, to] = [nameOf(range.gte), nameOf(range.lt)];
  for (const layer of layers) {
    if (!layer.mayHold(range)) continue;
    for (const [name, operation] of layer.byName) {
      if (name >= from && name < to && !found.has(name)) found.set(name, operation);
    }
  }
  const named: Named[] = [...found];
  const ahead = range.reverse ? -1 : 1;
  return named.sort(([one], [other]) => (one < other ? -ahead : ahead));
}

function nameOf(key: Buffer): string {
  return key.toString('latin1');
}

function sizeOf(operation: BatchOperation): number {
  return operation.key.length + (operation.type === 'put' ? operation.value.length : 0);
}
