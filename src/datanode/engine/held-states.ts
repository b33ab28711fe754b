/**
 * States of a LevelDB that somebody reads while others write. A state begins as a snapshot of LevelDB,
 * which must not be held while anything is written (`kept-state`). So before the next write it is set
 * apart: iterators hold what it is for ranges, and for single keys it remembers what each key was
 * that has been written since. Most states are over before anything is written, and cost nothing more.
 * One that would have to remember too much is lost to who reads single keys of it (`lost-state`).
 *
 * One that began during a write may not have it, so what that write changes is remembered as well, by
 * its snapshot, before the next one begins. Until then all that is newer than the snapshot lies in
 * LevelDB's memory, where no compaction comes.
 */
import { assert } from '../../common/assert.ts';
import { limits } from '../../common/limits.ts';
import type {
  BatchOperation,
  BatchOperations,
  EngineIterator,
  EngineSnapshot,
  KeyRange,
} from './engine.ts';
import { KeptState } from './kept-state.ts';
import { engineError } from './level-errors.ts';
import { giveBack, type LevelHandle, type LevelReading } from './level-handles.ts';
import { LevelIterator } from './level-reader.ts';
import { LostStateError } from './lost-state.ts';
import type { Turn } from './write-steps.ts';

/** How long a turn of keys that are looked up is. */
const TURN_MS = 0.75;

export class HeldStates {
  readonly #path: string;
  readonly #level: LevelReading;
  readonly #turn: Turn;
  /** What one may remember. */
  readonly #bytesMax: number;
  /** Those that a write has to do with. */
  readonly #open = new Set<HeldState>();
  /** What is being written. */
  #inFlight: BatchOperations | undefined;

  constructor(
    path: string,
    level: LevelReading,
    turn: Turn,
    bytesMax: number = limits.engineStateBytesMax,
  ) {
    this.#path = path;
    this.#level = level;
    this.#turn = turn;
    this.#bytesMax = bytesMax;
  }

  /** The state of now. */
  hold(): EngineSnapshot {
    const state: HeldState = new HeldState(this.#path, this.#level, this.#inFlight, () =>
      this.#open.delete(state),
    );
    this.#open.add(state);
    return state;
  }

  /**
   * Carries `write` out, of which those that are open have nothing; no other may be under way. What it
   * changes beside `operations` is nothing that they could have been asked for.
   */
  write(operations: BatchOperations, write: () => Promise<void>): Promise<void> {
    this.#inFlight = operations;
    const written = this.#open.size === 0 ? write() : this.remember(operations).then(write);
    return written.finally(() => {
      this.#inFlight = undefined;
    });
  }

  /** Those that are open are set apart, and remember what the keys are that are about to be written. */
  async remember(operations: BatchOperations): Promise<void> {
    let states = [...this.#open];
    for (const state of states) {
      await this.#eachStep(state.overlapping, (operation) =>
        state.noteOverlapping(operation, this.#bytesMax),
      );
      state.setApart();
    }
    await this.#eachStep(operations, ({ key, name = nameOf(key) }) => {
      if (states.length === 0) return;
      const asking = states.filter((state) => state.asks(name));
      if (asking.length === 0) return;
      const was = told(this.#path, () => this.#level.getSync(key));
      for (const state of asking) state.note(name, was, this.#bytesMax);
      states = states.filter((state) => state.isRemembering);
    });
  }

  async #eachStep(
    operations: BatchOperations,
    look: (operation: BatchOperation) => void,
  ): Promise<void> {
    let sinceMs = this.#turn.nowMs();
    for (const operation of operations) {
      look(operation);
      if (this.#turn.nowMs() - sinceMs < TURN_MS) continue;
      await this.#turn.next();
      sinceMs = this.#turn.nowMs();
    }
  }
}

const NOTHING: BatchOperations = [];
/** What a key takes beside its name and its value. */
const NOTE_BYTES = 150;

class HeldState implements EngineSnapshot {
  readonly #path: string;
  readonly #level: LevelReading;
  readonly #onClose: () => void;
  /** Of the write during which it began. */
  overlapping: BatchOperations;
  /** What is remembered takes in memory, near enough. */
  #bytes = 0;
  readonly #handle: LevelHandle;
  #isIterated = false;
  #isLost = false;
  #isClosed = false;
  /** Set once it is held by iterators. */
  #kept: KeptState | undefined;
  /** By their names, what the keys were that have been written since. */
  readonly #was = new Map<string, Buffer | undefined>();

  constructor(
    path: string,
    level: LevelReading,
    overlapping: BatchOperations | undefined,
    onClose: () => void,
  ) {
    this.#path = path;
    this.#level = level;
    this.overlapping = overlapping ?? NOTHING;
    this.#onClose = onClose;
    this.#handle = level.snapshot();
  }

  getSync(key: Buffer): Buffer | undefined {
    assert(!this.#isIterated, 'a state that is kept is only iterated');
    assert(!this.#isClosed, 'a state that is closed is not read');
    if (this.#isLost) throw new LostStateError(this.#path);
    if (this.#kept === undefined) return this.#stored(key, this.#handle);
    const name = nameOf(key);
    const was = this.#was.get(name);
    return was !== undefined || this.#was.has(name) ? was : this.#stored(key);
  }

  #stored(key: Buffer, handle?: LevelHandle): Buffer | undefined {
    return told(this.#path, () => this.#level.getSync(key, handle));
  }

  async getMany(keys: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
    return keys.map((key) => this.getSync(key));
  }

  iterate(range: KeyRange): EngineIterator {
    return (
      this.#kept?.iterate(range) ?? new LevelIterator(this.#path, this.#level, range, this.#handle)
    );
  }

  keep(): void {
    this.#isIterated = true;
    this.#was.clear();
    this.setApart();
    this.#onClose();
  }

  /** Its snapshot is needed no more. */
  setApart(): void {
    this.overlapping = NOTHING;
    if (this.#kept !== undefined || this.#isClosed) return;
    const snapshot = this.#handle;
    this.#kept = new KeptState(this.#path, (reverse) => this.#level.iterate({ reverse, snapshot }));
    giveBack(snapshot);
  }

  /** By its own snapshot, which does not have it, or does: that is what is to be remembered. */
  noteOverlapping({ key, name = nameOf(key) }: BatchOperation, bytesMax: number): void {
    if (this.#kept !== undefined || !this.isRemembering || this.#was.has(name)) return;
    this.note(name, this.#stored(key, this.#handle), bytesMax);
  }

  get isRemembering(): boolean {
    return !this.#isClosed && !this.#isIterated && !this.#isLost;
  }

  asks(name: string): boolean {
    return this.isRemembering && !this.#was.has(name);
  }

  /** Beyond `bytesMax` it is lost, and has no more to do with writes. */
  note(name: string, was: Buffer | undefined, bytesMax: number): void {
    this.#bytes += NOTE_BYTES + name.length + (was?.length ?? 0);
    if (this.#bytes <= bytesMax) {
      this.#was.set(name, was);
      return;
    }
    this.#isLost = true;
    this.#was.clear();
    this.setApart();
    this.#onClose();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    this.#was.clear();
    // at once, though a read of it may be under way
    giveBack(this.#handle);
    await this.#kept?.close();
    await this.#handle.close();
  }
}

/** In our words: a damaged record that is met before a write is damage, no failure of that write. */
function told<Value>(path: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw engineError(path, error);
  }
}

function nameOf(key: Buffer): string {
  return key.toString('latin1');
}
