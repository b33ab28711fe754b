/**
 * The engine a replica's data is in now: synced from time to time (decision 7), exchanged for the
 * next generation when a snapshot was received (decision 7b). What a process that was killed wrote
 * last may be with the system only, or nowhere: an engine counts as un-synced beyond its log's base
 * when it is opened.
 */
import type { LogIndex, ReplicaId } from '../../../common/ids.ts';
import type { Engine, EngineHost } from '../../engine/engine.ts';
import type { ReceivedSnapshot } from '../snapshots/snapshot-inbox.ts';
import { GarbageRemoval } from '../upkeep/garbage-removal.ts';
import { engineName } from './engine-names.ts';

export class EngineSlot {
  readonly #engines: EngineHost;
  readonly #replica: ReplicaId;
  #engine: Engine;
  #syncedIndex: LogIndex;
  #garbage: GarbageRemoval;

  constructor(engines: EngineHost, replica: ReplicaId, engine: Engine, syncedIndex: LogIndex) {
    this.#engines = engines;
    this.#replica = replica;
    this.#engine = engine;
    this.#syncedIndex = syncedIndex;
    this.#garbage = new GarbageRemoval(engine);
  }

  get engine(): Engine {
    return this.#engine;
  }

  /** Up to here everything is on disk: the log before it may go. */
  get syncedIndex(): LogIndex {
    return this.#syncedIndex;
  }

  /** Makes everything up to `appliedIndex` durable; false when the engine was exchanged meanwhile. */
  async sync(appliedIndex: LogIndex): Promise<boolean> {
    const engine = this.#engine;
    if (appliedIndex <= this.#syncedIndex) return true;
    await engine.sync();
    if (engine !== this.#engine) return false;
    this.#syncedIndex = appliedIndex;
    return true;
  }

  /** Of the engine in use. */
  get garbage(): GarbageRemoval {
    return this.#garbage;
  }

  /** A received snapshot, synced already, takes the place; returns how to remove what was there. */
  exchange({ engine, state, generation }: ReceivedSnapshot): () => Promise<void> {
    const old = this.#engine;
    this.#engine = engine;
    this.#syncedIndex = state.index;
    this.#garbage = new GarbageRemoval(engine);
    return async () => {
      await old.close();
      await this.#engines.remove(engineName(this.#replica, generation - 1));
    };
  }
}
