/**
 * Elements of collections that a Txn makes, stored before the rest of it. What copies or combines sets
 * of millions would hold all of the result in memory, on every replica, and again after each restart
 * that ends for want of it. Nobody comes upon an element before its collection's header is there, so
 * what has gathered may go to the engine while the command runs, however much comes of it.
 *
 * A mark goes first, with what their keys begin with, and goes with the Txn's batch. Who finds one has
 * crashed in between, or was sent a snapshot that was taken then: the entry that makes those collections
 * is not applied yet, and before it is, what was stored of them goes (early-removal.ts). Frozen format:
 *
 *   system  `early` → u8 version (1) · each: the first 15 bytes of an element's key
 */
import { limits } from '../../../common/limits.ts';
import type { BatchOperation, Engine } from '../../engine/engine.ts';
import { ELEMENT_PREFIX_BYTES, madeAt } from '../records/element-key.ts';
import { sealRecord } from '../records/record.ts';
import { systemKey } from '../records/system.ts';
import type { Pacing } from '../steps/slices.ts';
import { LARGE_RECORD_BYTES, sealLarge } from './large-records.ts';
import { keyOf, type Named, type Overlay } from './overlay.ts';

export const EARLY_KEY = systemKey('early');
export const EARLY_VERSION = 1;

/** Where a Txn may store elements before its batch, once its changes take more than `bytesMax`. */
export interface EarlyStore {
  readonly engine: Pick<Engine, 'write'>;
  readonly pace: Pacing;
  readonly bytesMax: number;
}

/** A collection goes early when its changes are at least this part of `bytesMax`: the mark stays small. */
const SHARE_LEAST = 64;
/** Records sealed between two looks at the clock. */
const SEALED_STEP = 64;

export class EarlyElements {
  readonly #store: EarlyStore;
  /** What the keys of those begin with that were stored, as latin1. */
  readonly #places = new Set<string>();
  /** Of the changes held. */
  #dueBytes: number;

  constructor(store: EarlyStore) {
    this.#store = store;
    this.#dueBytes = store.bytesMax;
  }

  /** Something was stored: the mark is there. */
  get isMarked(): boolean {
    return this.#places.size > 0;
  }

  /** So much is held that some of it should go. */
  isDue({ bytes }: Overlay): boolean {
    return bytes >= this.#dueBytes;
  }

  /** Elements of the collection that `key` is of, and of its kind, are in the engine. */
  holds(key: Buffer): boolean {
    return this.isMarked && this.holdsName(key.toString('latin1', 0, ELEMENT_PREFIX_BYTES));
  }

  /** The same of a key as a latin1 string. */
  holdsName(name: string): boolean {
    return this.#places.has(name.slice(0, ELEMENT_PREFIX_BYTES));
  }

  /**
   * Stores what `overlay` holds of large collections that the entry at `sinceIndex`, or a later one, has
   * made, and takes it out; false: of such there are none. Nothing may be read or changed meanwhile.
   */
  async store(overlay: Overlay, sinceIndex: number): Promise<boolean> {
    const { bytesMax, pace } = this.#store;
    const held = await inSteps(overlay.bytesByPlace(), pace);
    const places = new Set<string>();
    for (const [place, bytes] of held) {
      const isNew = madeAt(Buffer.from(place, 'latin1')) >= sinceIndex;
      if (isNew && bytes * SHARE_LEAST >= bytesMax) places.add(place);
    }
    if (places.size > 0) {
      await this.#mark(places);
      await this.#write(await inSteps(overlay.takeOut(places), pace));
    }
    this.#dueBytes = overlay.bytes + bytesMax;
    return places.size > 0;
  }

  async #mark(places: ReadonlySet<string>): Promise<void> {
    const before = this.#places.size;
    for (const place of places) this.#places.add(place);
    if (this.#places.size === before) return;
    const value = Buffer.from(
      String.fromCharCode(EARLY_VERSION) + [...this.#places].join(''),
      'latin1',
    );
    await this.#store.engine.write([
      { type: 'put', key: EARLY_KEY, value: sealRecord(EARLY_KEY, value) },
    ]);
  }

  /** Also that an element has gone again: it may have been stored before. */
  async #write(changes: Iterable<Named>): Promise<void> {
    const { engine, pace } = this.#store;
    let part: BatchOperation[] = [];
    let bytes = 0;
    for (const named of changes) {
      const operation = await this.#sealed(named);
      part.push(operation);
      bytes += operation.key.length + (named.after?.length ?? 0);
      if (part.length < limits.engineBatchStep && bytes < limits.enginePartBytes) {
        if (part.length % SEALED_STEP === 0 && pace.isDue()) await pace.pause();
        continue;
      }
      await engine.write(part);
      part = [];
      bytes = 0;
    }
    if (part.length > 0) await engine.write(part);
  }

  #sealed(named: Named): BatchOperation | Promise<BatchOperation> {
    const key = keyOf(named);
    const { after } = named;
    if (after === undefined) return { type: 'del', key };
    if (after.length < LARGE_RECORD_BYTES)
      return { type: 'put', key, value: sealRecord(key, after) };
    return sealLarge(key, after, this.#store.pace).then((value) => ({ type: 'put', key, value }));
  }
}

/** Carries `steps` out, giving way in between. */
async function inSteps<Result>(
  steps: Generator<undefined, Result, unknown>,
  pace: Pacing,
): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (pace.isDue()) await pace.pause();
  }
}
