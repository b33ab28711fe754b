/**
 * The part of a Txn's changes that nobody can come upon before the rest is in the engine: elements of
 * collections that it makes, since what leads to them is the header. The engine may store them early
 * (`PartedOperations`), and of many they are sealed only then, one after the other.
 */
import { SteadyList } from '../../../common/steady-list.ts';
import type { BatchOperation, BatchOperations, PartedOperations } from '../../engine/engine.ts';
import { ELEMENT_PREFIX_BYTES, madeAt } from '../records/element-key.ts';
import { sealRecord } from '../records/record.ts';
import { LARGE_RECORD_BYTES } from './large-records.ts';
import type { Named, Overlay } from './overlay.ts';

/** What they begin with: tag, slot and version. */
export class NewPlaces {
  readonly #sinceIndex: number;
  readonly #prefixes = new Set<string>();
  /** The one that was asked about last: elements come one collection after the other. */
  #last: string | undefined;

  /** Of collections that the entry at `sinceIndex`, or a later one, has made. */
  constructor(sinceIndex: number) {
    this.#sinceIndex = sinceIndex;
  }

  /** Whether the engine key that is `name` as a latin1 string is an element's of such a collection. */
  has(name: string): boolean {
    if (this.#last !== undefined && name.startsWith(this.#last)) return true;
    const prefix = name.slice(0, ELEMENT_PREFIX_BYTES);
    if (this.#prefixes.has(prefix)) {
      this.#last = prefix;
      return true;
    }
    if (madeAt(Buffer.from(prefix, 'latin1')) < this.#sinceIndex) return false;
    this.#prefixes.add(prefix);
    this.#last = prefix;
    return true;
  }

  get prefixes(): Buffer[] {
    return Array.from(this.#prefixes, (prefix) => Buffer.from(prefix, 'latin1'));
  }
}

/** A batch that is told in two where the engine asks for it. */
export class NewApart implements BatchOperations {
  readonly #operations: BatchOperations;
  readonly #sinceIndex: number;

  constructor(operations: BatchOperations, sinceIndex: number) {
    this.#operations = operations;
    this.#sinceIndex = sinceIndex;
  }

  get length(): number {
    return this.#operations.length;
  }

  [Symbol.iterator](): Iterator<BatchOperation> {
    return this.#operations[Symbol.iterator]();
  }

  get parted(): PartedOperations | undefined {
    const places = new NewPlaces(this.#sinceIndex);
    const unreached = new SteadyList<BatchOperation>();
    const others = new SteadyList<BatchOperation>();
    for (const operation of this.#operations) {
      const isNew = places.has(operation.key.toString('latin1', 0, ELEMENT_PREFIX_BYTES));
      (isNew ? unreached : others).push(operation);
    }
    if (unreached.length === 0) return undefined;
    return { prefixes: places.prefixes, unreached, others };
  }
}

/** The same of so many that they are made operations only as they are asked for. */
export class ManyNew implements BatchOperations {
  readonly #overlay: Overlay;
  readonly #places: NewPlaces;
  readonly #isStored: (name: string) => boolean;
  /** What is not for `takes`, in any order. */
  readonly others = new SteadyList<BatchOperation>();
  #taken = 0;

  /** `isStored`: of the collection of that key, some elements are in the engine (early-elements.ts). */
  constructor(overlay: Overlay, sinceIndex: number, isStored: (name: string) => boolean) {
    this.#overlay = overlay;
    this.#places = new NewPlaces(sinceIndex);
    this.#isStored = isStored;
  }

  /** Told of every change once: whether it is one of these; else it belongs to the others. */
  takes(change: Named): boolean {
    if (!this.#places.has(change.name) || isLarge(change)) return false;
    // one that has gone: where none was stored it has never been there
    if (change.after === undefined && this.#isStored(change.name)) return false;
    this.#taken++;
    return true;
  }

  get prefixes(): readonly Buffer[] {
    return this.#places.prefixes;
  }

  /** And what came and went again, which is no operation. */
  get length(): number {
    return this.#taken + this.others.length;
  }

  *[Symbol.iterator](): Generator<BatchOperation, void, unknown> {
    yield* this.#unreached();
    yield* this.others;
  }

  get parted(): PartedOperations | undefined {
    if (this.#taken === 0) return undefined;
    const { prefixes, others } = this;
    return { prefixes, unreached: { [Symbol.iterator]: () => this.#unreached() }, others };
  }

  /** What came and went again in the same Txn has never been stored, or is with the others. */
  *#unreached(): Generator<BatchOperation, void, unknown> {
    for (let at = 0; at < this.#overlay.size; at++) {
      const change = this.#overlay.namedAt(at);
      const { name, after } = change;
      if (after === undefined || !this.#places.has(name) || isLarge(change)) continue;
      const key = change.key ?? Buffer.from(name, 'latin1');
      yield { type: 'put', key, value: sealRecord(key, after) };
    }
  }
}

/** Sealed in steps. */
function isLarge({ after }: Named): boolean {
  return after !== undefined && after.length >= LARGE_RECORD_BYTES;
}
