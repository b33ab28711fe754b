/**
 * Snapshots this replica receives: streamed into the engine of the next generation, checked as a
 * whole and synced, before raft hears of them. One at a time; a newer stream replaces an older.
 */
import { KvorumError } from '../../common/errors.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import { STATE_KEY } from '../encoding/system.ts';
import { createView } from '../encoding/txn.ts';
import type { Engine, EngineHost } from '../engine/engine.ts';
import { SnapshotDecoder, type SnapshotMessage } from './snapshot-codec.ts';
import { decodeState, type ReplicaState } from './state.ts';

export interface ReceivedSnapshot {
  readonly generation: number;
  readonly engine: Engine;
  readonly state: ReplicaState;
}

export class SnapshotInbox {
  readonly #engines: EngineHost;
  readonly #replica: ReplicaId;
  #received: ReceivedSnapshot | undefined;
  #busy = false;

  constructor(node: { readonly engines: EngineHost }, replica: ReplicaId) {
    this.#engines = node.engines;
    this.#replica = replica;
  }

  /** Rejects when the stream is damaged, ends early, or another is being received. */
  async receive(
    message: SnapshotMessage,
    chunks: AsyncIterable<Buffer>,
    generation: number,
  ): Promise<void> {
    if (this.#busy) throw new KvorumError('BUSY', 'another snapshot is being received');
    this.#busy = true;
    try {
      await this.close();
      const engine = await this.#fill(chunks, generation);
      const state = this.#stateOf(engine);
      if (state.index !== message.snapshot.index) {
        await engine.close();
        throw new KvorumError(
          'CORRUPT',
          `snapshot of index ${message.snapshot.index} holds data of index ${state.index}`,
        );
      }
      this.#received = { generation, engine, state };
    } finally {
      this.#busy = false;
    }
  }

  /** Hands out the snapshot raft accepted. */
  take(index: LogIndex): ReceivedSnapshot | undefined {
    const received = this.#received;
    if (received?.state.index !== index) return undefined;
    this.#received = undefined;
    return received;
  }

  /** Drops what was received and never installed. */
  async close(): Promise<void> {
    const received = this.#received;
    this.#received = undefined;
    await received?.engine.close();
  }

  async #fill(chunks: AsyncIterable<Buffer>, generation: number): Promise<Engine> {
    const name = `${this.#replica}-${generation}`;
    await this.#engines.remove(name);
    const { engine } = await this.#engines.open(name);
    try {
      const decoder = new SnapshotDecoder();
      for await (const chunk of chunks) {
        const operations = decoder.decode(chunk);
        if (operations.length > 0) await engine.write(operations);
      }
      decoder.finish();
      await engine.sync();
      return engine;
    } catch (failure) {
      await engine.close();
      throw failure;
    }
  }

  #stateOf(engine: Engine): ReplicaState {
    const where = `snapshot for replica ${this.#replica}`;
    const bytes = createView(engine).get(STATE_KEY);
    if (bytes === undefined) throw new KvorumError('CORRUPT', `${where} has no state`);
    return decodeState(bytes, where);
  }
}
