/**
 * Snapshots this replica sends. The engine's state is captured the moment the core asks, so index,
 * term, configuration and data belong together; it is released when sent, failed or superseded.
 */
import { KvorumError } from '../../common/errors.ts';
import type { GroupId, LogIndex, ReplicaId } from '../../common/ids.ts';
import { STATE_KEY } from '../encoding/system.ts';
import { createView } from '../encoding/txn.ts';
import type { Engine, EngineSnapshot } from '../engine/engine.ts';
import type { PeerMessage, Snapshot } from '../raft/message.ts';
import {
  encodeSnapshotChunks,
  encodeSnapshotHeader,
  type SnapshotMessage,
} from './snapshot-codec.ts';
import { decodeState } from './state.ts';

export interface SnapshotWire {
  streamSnapshot(
    message: PeerMessage,
    header: Buffer,
    chunks: AsyncIterable<Buffer>,
  ): Promise<void>;
}

interface Captured {
  readonly index: LogIndex;
  readonly engineSnapshot: EngineSnapshot;
  users: number;
}

export class SnapshotOutbox {
  readonly #wire: SnapshotWire;
  readonly #group: GroupId;
  readonly #engine: () => Engine;
  readonly #replica: ReplicaId;
  #captured: Captured | undefined;
  readonly #sending = new Set<Promise<void>>();

  constructor(wire: SnapshotWire, group: GroupId, engine: () => Engine, replica: ReplicaId) {
    this.#wire = wire;
    this.#group = group;
    this.#engine = engine;
    this.#replica = replica;
  }

  /** RaftStorage.snapshot: what the engine holds now. */
  take(): Snapshot | 'unavailable' {
    const engineSnapshot = this.#engine().snapshot();
    const bytes = createView(engineSnapshot).get(STATE_KEY);
    if (bytes === undefined) {
      void engineSnapshot.close();
      return 'unavailable';
    }
    const { index, term, confState } = decodeState(bytes, `replica ${this.#replica}`);
    if (this.#captured) this.#release(this.#captured);
    this.#captured = { index, engineSnapshot, users: 0 };
    return { index, term, confState, data: Buffer.alloc(0) };
  }

  /** Streams the data captured for `message`; rejects when the peer did not take it. */
  send(message: SnapshotMessage): Promise<void> {
    const captured = this.#captured;
    if (captured?.index !== message.snapshot.index) {
      return Promise.reject(new KvorumError('CANCELLED', 'a newer snapshot was captured since'));
    }
    const sending = this.#stream(message, captured).finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
    return sending;
  }

  /** Resolves when nothing of the engine is held any more. */
  async close(): Promise<void> {
    if (this.#captured) this.#release(this.#captured);
    this.#captured = undefined;
    await Promise.allSettled(this.#sending);
  }

  async #stream(message: SnapshotMessage, captured: Captured): Promise<void> {
    captured.users++;
    try {
      const header = encodeSnapshotHeader({ group: this.#group, message });
      const chunks = encodeSnapshotChunks(captured.engineSnapshot);
      await this.#wire.streamSnapshot(message, header, chunks);
    } finally {
      captured.users--;
      if (captured === this.#captured) this.#captured = undefined;
      if (captured.users === 0) await captured.engineSnapshot.close();
    }
  }

  #release(captured: Captured): void {
    if (captured.users === 0) void captured.engineSnapshot.close();
  }
}
