/**
 * A large write that has happened and is being carried out, as readers are shown it meanwhile: as a
 * whole. Single keys are looked for in its operations first. Ranges, and what a state that begins now
 * has beneath, are read as soon as it is carried out, before anything else is written: so nothing need be
 * remembered of the store as it was, and no operations be brought in order.
 */
import { KvorumError } from '../../common/errors.ts';
import { SteadyMap } from '../../common/steady-map.ts';
import type {
  BatchOperation,
  EngineIterator,
  EngineReader,
  EngineSnapshot,
  KeyRange,
  KeyValue,
} from './engine.ts';

/** What is beneath. */
export interface ShownStore {
  /** As it is now. */
  readonly stored: Pick<EngineReader, 'getSync'>;
  /** The state of now. */
  hold(): EngineSnapshot;
}

export class ShownWrite implements EngineReader {
  readonly #store: ShownStore;
  readonly #newest = new SteadyMap<BatchOperation>();
  readonly #states = new Set<ShownState>();
  readonly #landing: Promise<void>;
  #land = (): void => {};
  #fail = (_error: unknown): void => {};

  constructor(store: ShownStore) {
    this.#store = store;
    this.#landing = new Promise((resolve, reject) => {
      this.#land = resolve;
      this.#fail = reject;
    });
    // who waits hears of it
    this.#landing.catch(() => {});
  }

  /** The next of its operations; before it is shown to anybody. */
  add(operations: Iterable<BatchOperation>): void {
    for (const operation of operations) {
      this.#newest.set(operation.name ?? operation.key.toString('latin1'), operation);
    }
  }

  /** The last word on each key. */
  operations(): Iterable<BatchOperation> {
    return this.#newest.values();
  }

  getSync(key: Buffer): Buffer | undefined {
    const operation = this.#newest.get(key.toString('latin1'));
    if (operation === undefined) return this.#store.stored.getSync(key);
    return operation.type === 'put' ? operation.value : undefined;
  }

  iterate(range: KeyRange): EngineIterator {
    const state = this.snapshot();
    const iterator = state.iterate(range);
    state.keep?.();
    return {
      next: (count) => iterator.next(count),
      close: async () => {
        await iterator.close();
        await state.close();
      },
    };
  }

  snapshot(): EngineSnapshot {
    const state: ShownState = new ShownState(this, this.#landing, () => this.#states.delete(state));
    this.#states.add(state);
    return state;
  }

  /** It is carried out; to be called before anything else is written. */
  landed(): void {
    for (const state of this.#states) state.land(this.#store.hold());
    this.#states.clear();
    this.#land();
  }

  /** It will not be, in this life of the store. */
  failed(error: unknown): void {
    this.#fail(error);
  }
}

class ShownState implements EngineSnapshot {
  readonly #write: ShownWrite;
  readonly #landing: Promise<void>;
  readonly #leave: () => void;
  #held: EngineSnapshot | undefined;
  #isKept = false;
  #isClosed = false;

  constructor(write: ShownWrite, landing: Promise<void>, leave: () => void) {
    this.#write = write;
    this.#landing = landing;
    this.#leave = leave;
  }

  getSync(key: Buffer): Buffer | undefined {
    return (this.#held ?? this.#write).getSync(key);
  }

  iterate(range: KeyRange): EngineIterator {
    return this.#held?.iterate(range) ?? new LateIterator(range, () => this.#landed());
  }

  keep(): void {
    this.#isKept = true;
    this.#held?.keep?.();
  }

  land(held: EngineSnapshot): void {
    this.#held = held;
    if (this.#isKept) held.keep?.();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#leave();
    await this.#held?.close();
  }

  async #landed(): Promise<EngineSnapshot> {
    await this.#landing;
    if (this.#held === undefined || this.#isClosed) {
      throw new KvorumError('STOPPING', 'the state that is read was closed');
    }
    return this.#held;
  }
}

/** Of a state that is beneath once a write is carried out. */
class LateIterator implements EngineIterator {
  readonly #range: KeyRange;
  readonly #landed: () => Promise<EngineSnapshot>;
  #iterator: EngineIterator | undefined;

  constructor(range: KeyRange, landed: () => Promise<EngineSnapshot>) {
    this.#range = range;
    this.#landed = landed;
  }

  async next(count: number): Promise<KeyValue[]> {
    this.#iterator ??= (await this.#landed()).iterate(this.#range);
    return this.#iterator.next(count);
  }

  async close(): Promise<void> {
    await this.#iterator?.close();
  }
}
