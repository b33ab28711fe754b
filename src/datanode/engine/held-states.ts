/**
 * States of a LevelDB that somebody reads while others write. A state begins as a snapshot of LevelDB,
 * which must not be held while anything is written (`kept-state`). So before the next write it is set
 * apart: iterators hold what it is for ranges, and for single keys it remembers what each key was
 * that has been written since. Most states are over before anything is written, and cost nothing more.
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
import type { Turn } from './write-steps.ts';

/** Keys that are looked up before the clock is asked, and how long a turn of that is. */
const STEP = 64;
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
  /** A range is, of which nobody knows what it had. */
  #isClearing = false;

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
    if (this.#isClearing) return this.holdBySnapshot();
    const state: HeldState = new HeldState(this.#path, this.#level, this.#inFlight, () =>
      this.#open.delete(state),
    );
    this.#open.add(state);
    return state;
  }

  /** As `hold`, but no write has to do with it: its snapshot is held until it is closed. */
  holdBySnapshot(): EngineSnapshot {
    return new HeldState(this.#path, this.#level, undefined, () => undefined);
  }

  /** Carries `write` out, of which those that are open have nothing; no other may be under way. */
  write(operations: BatchOperations, write: () => Promise<void>): Promise<void> {
    this.#inFlight = operations;
    const written = this.#open.size === 0 ? write() : this.remember(operations).then(write);
    return written.finally(() => {
      this.#inFlight = undefined;
    });
  }

  /** The same for what removes more than may be remembered. */
  async clear(clear: () => Promise<void>): Promise<void> {
    this.#isClearing = true;
    try {
      await this.restOn(() => this.holdBySnapshot());
      await clear();
    } finally {
      this.#isClearing = false;
    }
  }

  /** Those that are open rest on `before`, the state of now, while more is written than to remember. */
  async restOn(before: () => EngineSnapshot): Promise<void> {
    for (const state of [...this.#open]) {
      await this.#noteOverlapping(state);
      state.restOn(before);
    }
  }

  /** Those that are open are set apart, and remember what the keys are that are about to be written. */
  async remember(operations: BatchOperations): Promise<void> {
    const states = [...this.#open];
    for (const state of states) {
      await this.#noteOverlapping(state);
      state.setApart();
    }
    await this.#eachStep(operations, ({ key, name = nameOf(key) }) => {
      const asking = states.filter((state) => state.asks(name));
      if (asking.length === 0) return;
      const was = told(this.#path, () => this.#level.getSync(key));
      for (const state of asking) {
        state.note(name, was);
        // nothing has been written yet that it has not remembered
        if (state.bytes > this.#bytesMax) state.restOn(() => this.holdBySnapshot());
      }
    });
  }

  #noteOverlapping(state: HeldState): Promise<void> {
    return this.#eachStep(state.overlapping, (operation) =>
      state.noteOverlapping(operation, this.#bytesMax),
    );
  }

  async #eachStep(
    operations: BatchOperations,
    look: (operation: BatchOperation) => void,
  ): Promise<void> {
    let sinceMs = this.#turn.nowMs();
    let looked = 0;
    for (const operation of operations) {
      look(operation);
      if (++looked % STEP !== 0 || this.#turn.nowMs() - sinceMs < TURN_MS) continue;
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
  bytes = 0;
  readonly #handle: LevelHandle;
  #isIterated = false;
  #staysHeld = false;
  #isClosed = false;
  /** Set once it is held by iterators. */
  #kept: KeptState | undefined;
  /** By their names, what the keys were that have been written since. */
  readonly #was = new Map<string, Buffer | undefined>();
  /** Of the others; undefined: the LevelDB as it is now. */
  #rest: EngineSnapshot | undefined;

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
    if (this.#kept === undefined) {
      return told(this.#path, () => this.#level.getSync(key, this.#handle));
    }
    const name = nameOf(key);
    const was = this.#was.get(name);
    if (was !== undefined || this.#was.has(name)) return was;
    return this.#rest === undefined
      ? told(this.#path, () => this.#level.getSync(key))
      : this.#rest.getSync(key);
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
    this.setApart();
    this.#onClose();
  }

  /** Its snapshot is needed no more. */
  setApart(): void {
    this.overlapping = NOTHING;
    if (this.#kept !== undefined || this.#isClosed || this.#staysHeld) return;
    const snapshot = this.#handle;
    this.#kept = new KeptState(this.#path, (reverse) => this.#level.iterate({ reverse, snapshot }));
    giveBack(snapshot);
  }

  restOn(before: () => EngineSnapshot): void {
    if (this.#isClosed || this.#staysHeld || this.#rest !== undefined) return;
    this.setApart();
    this.#rest = before();
    this.#onClose();
  }

  /**
   * By its own snapshot, which does not have it, or does: that is what is to be remembered; of more than
   * may be the snapshot stays.
   */
  noteOverlapping({ key, name = nameOf(key) }: BatchOperation, bytesMax: number): void {
    if (this.#kept !== undefined || this.#isClosed || this.#staysHeld) return;
    this.note(name, this.getSync(key));
    if (this.bytes <= bytesMax) return;
    this.#staysHeld = true;
    this.#was.clear();
    this.#onClose();
  }

  asks(name: string): boolean {
    if (this.#isClosed || this.#kept === undefined || this.#rest !== undefined) return false;
    return !this.#was.has(name);
  }

  note(name: string, was: Buffer | undefined): void {
    this.#was.set(name, was);
    this.bytes += NOTE_BYTES + name.length + (was?.length ?? 0);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    this.#was.clear();
    // at once, though a read of it may be under way
    giveBack(this.#handle);
    await this.#kept?.close();
    await this.#rest?.close();
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
