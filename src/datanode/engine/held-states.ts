/**
 * States of a LevelDB that somebody reads while others write. A state begins as a snapshot of LevelDB,
 * which must not be held while anything is written (`kept-state`). So before the next write it is set
 * apart: iterators hold what it is for ranges, and for single keys it is remembered what each key was
 * that has been written since (`past-values`). Most states are over before anything is written, and cost
 * nothing more. One for which too much would be remembered is lost to who reads single keys of it
 * (`lost-state`).
 *
 * One that began during a write may not have it: then what that write changes is remembered as well, by
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
import { type PastLayer, PastValues, pastValue, UNCHANGED } from './past-values.ts';
import type { Turn } from './write-steps.ts';

const NOTHING: BatchOperations = [];
/** How long a turn of keys that are looked up is. */
const TURN_MS = 0.75;

export class HeldStates {
  readonly #path: string;
  readonly #level: LevelReading;
  readonly #turn: Turn;
  readonly #past: PastValues;
  /** Those that still have their snapshots. */
  readonly #fresh = new Set<HeldState>();
  /** What is being written. */
  #inFlight: BatchOperations = NOTHING;

  /** `bytesMax`: what may be remembered for all of them. */
  constructor(
    path: string,
    level: LevelReading,
    turn: Turn,
    bytesMax: number = limits.engineStateBytesMax,
  ) {
    this.#path = path;
    this.#level = level;
    this.#turn = turn;
    this.#past = new PastValues(bytesMax);
  }

  /** The state of now. */
  hold(): EngineSnapshot {
    const world = { path: this.#path, level: this.#level, past: this.#past, fresh: this.#fresh };
    return new HeldState(world, this.#inFlight);
  }

  /**
   * Carries `write` out, of which those that are open have nothing; no other may be under way. What it
   * changes beside `operations` is nothing that they could have been asked for.
   */
  write(operations: BatchOperations, write: () => Promise<void>): Promise<void> {
    this.#inFlight = operations;
    const isAlone = this.#fresh.size === 0 && !this.#past.isAsked;
    const written = isAlone ? write() : this.remember(operations).then(write);
    return written.finally(() => {
      this.#inFlight = NOTHING;
    });
  }

  /** Those that are open are set apart, and what the keys are that are about to be written is noted. */
  async remember(operations: BatchOperations): Promise<void> {
    await this.#setFreshApart();
    await this.#eachStep(operations, ({ key, name = nameOf(key) }) => {
      if (!this.#past.isAsked) return 'enough';
      if (this.#past.asks(name)) this.#past.note(name, this.#stored(key));
      return undefined;
    });
  }

  async #setFreshApart(): Promise<void> {
    const fresh = [...this.#fresh];
    const without: HeldState[] = [];
    for (const state of fresh) if (await this.#isBefore(state)) without.push(state);
    await this.#noteOverlapping(without.filter((state) => state.isFresh));
    const others = fresh.filter((state) => state.isFresh && state.since === undefined);
    if (others.length > 0) {
      const layer = this.#past.begin(others);
      for (const state of others) state.since = layer;
    }
    for (const state of fresh) state.setApart();
  }

  /** Whether it was taken before the write during which it began was there. */
  async #isBefore(state: HeldState): Promise<boolean> {
    let isBefore = false;
    await this.#eachStep(state.overlapping, ({ key }) => {
      if (!state.isFresh) return 'enough';
      const [was, is] = [this.#stored(key, state.handle), this.#stored(key)];
      isBefore = was === undefined || is === undefined ? was !== is : !was.equals(is);
      return isBefore ? 'enough' : undefined;
    });
    return isBefore;
  }

  /** They are alike, and do not have the write during which they began. */
  async #noteOverlapping(states: readonly HeldState[]): Promise<void> {
    const [first] = states;
    if (first === undefined) return;
    const layer = this.#past.begin(states);
    for (const state of states) state.since = layer;
    await this.#eachStep(first.overlapping, ({ key, name = nameOf(key) }) => {
      const state = states.find(({ isFresh }) => isFresh);
      if (state === undefined) return 'enough';
      if (this.#past.asks(name)) this.#past.note(name, this.#stored(key, state.handle));
      return undefined;
    });
  }

  #stored(key: Buffer, handle?: LevelHandle): Buffer | undefined {
    return told(this.#path, () => this.#level.getSync(key, handle));
  }

  async #eachStep(
    operations: BatchOperations,
    look: (operation: BatchOperation) => 'enough' | undefined,
  ): Promise<void> {
    let sinceMs = this.#turn.nowMs();
    for (const operation of operations) {
      if (look(operation) === 'enough') return;
      if (this.#turn.nowMs() - sinceMs < TURN_MS) continue;
      await this.#turn.next();
      sinceMs = this.#turn.nowMs();
    }
  }
}

interface StateWorld {
  readonly path: string;
  readonly level: LevelReading;
  readonly past: PastValues;
  /** Those that still have their snapshots. */
  readonly fresh: Set<HeldState>;
}

class HeldState implements EngineSnapshot {
  readonly #world: StateWorld;
  /** Of the write during which it began. */
  readonly overlapping: BatchOperations;
  readonly handle: LevelHandle;
  /** Where what it needs is remembered. */
  since: PastLayer | undefined;
  #isIterated = false;
  #isLost = false;
  #isClosed = false;
  /** Set once it is held by iterators. */
  #kept: KeptState | undefined;

  constructor(world: StateWorld, overlapping: BatchOperations) {
    this.#world = world;
    this.overlapping = overlapping;
    this.handle = world.level.snapshot();
    world.fresh.add(this);
  }

  getSync(key: Buffer): Buffer | undefined {
    const { path, level } = this.#world;
    assert(!this.#isIterated, 'a state that is kept is only iterated');
    assert(!this.#isClosed, 'a state that is closed is not read');
    if (this.#isLost) throw new LostStateError(path);
    if (this.#kept === undefined) return told(path, () => level.getSync(key, this.handle));
    const was = pastValue(this.since, nameOf(key));
    return was === UNCHANGED ? told(path, () => level.getSync(key)) : was;
  }

  iterate(range: KeyRange): EngineIterator {
    const { path, level } = this.#world;
    return this.#kept?.iterate(range) ?? new LevelIterator(path, level, range, this.handle);
  }

  keep(): void {
    this.#isIterated = true;
    this.#leave();
    this.setApart();
  }

  lose(): void {
    this.#isLost = true;
    this.#leave();
    this.setApart();
  }

  /** It has its snapshot. */
  get isFresh(): boolean {
    return this.#kept === undefined && !this.#isClosed;
  }

  /** Its snapshot is needed no more. */
  setApart(): void {
    if (!this.isFresh) return;
    const { path, level, fresh } = this.#world;
    const snapshot = this.handle;
    this.#kept = new KeptState(path, (reverse) => level.iterate({ reverse, snapshot }));
    giveBack(snapshot);
    fresh.delete(this);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#world.fresh.delete(this);
    this.#leave();
    // at once, though a read of it may be under way
    giveBack(this.handle);
    await this.#kept?.close();
    await this.handle.close();
  }

  #leave(): void {
    const { since } = this;
    this.since = undefined;
    if (since !== undefined) this.#world.past.leave(since, this);
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
