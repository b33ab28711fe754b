/**
 * Snapshots this replica receives: streamed into the engine of the next generation, checked as a
 * whole and synced, before raft hears of them. One at a time, until it is installed or raft does not
 * want it; a newer stream replaces one that broke, which goes on where it was when the same snapshot
 * comes again within a while.
 */
import type { Clock } from '../../../common/clock.ts';
import { codeOf, KvorumError } from '../../../common/errors.ts';
import type { LogIndex, ReplicaId } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { LoneTimer } from '../../../common/lone-timer.ts';
import { STATE_KEY } from '../../encoding/records/system.ts';
import { createView } from '../../encoding/txn/txn.ts';
import type { Engine, EngineHost } from '../../engine/engine.ts';
import { engineName } from '../storage/engine-names.ts';
import { decodeState, isSameConf, type ReplicaState } from '../storage/state.ts';
import { SnapshotDecoder, type SnapshotHeader, type SnapshotMessage } from './snapshot-codec.ts';

export interface ReceivedSnapshot {
  readonly generation: number;
  readonly engine: Engine;
  readonly state: ReplicaState;
}

/** A snapshot of which some bytes have come. */
interface Filling {
  readonly id: number;
  readonly generation: number;
  readonly engine: Engine;
  readonly decoder: SnapshotDecoder;
  bytes: number;
}

const STOPS = 'the replica stops';
/** Its sender noticed later that the stream broke, and tries some more times. */
const KEEP_MS = 2 * limits.snapshotResumeMs;

export class SnapshotInbox {
  readonly #engines: EngineHost;
  readonly #replica: ReplicaId;
  readonly #offer: (message: SnapshotMessage) => boolean;
  /** Raft has accepted it. */
  #received: ReceivedSnapshot | undefined;
  #partial: Filling | undefined;
  /** While there is one: until nobody can want it any more. */
  readonly #kept: LoneTimer;
  #busy = false;
  /** The stream that comes in; settles, whatever comes of it. */
  #receiving: Promise<void> = Promise.resolve();
  /** While the next chunk of it is waited for: ends that. */
  #interrupt: (() => void) | undefined;
  #closed = false;

  /** `offer` tells raft of a snapshot that is here; true: raft has accepted it, and will `take` it. */
  constructor(
    node: { readonly engines: EngineHost; readonly clock: Pick<Clock, 'setTimer'> },
    replica: ReplicaId,
    offer: (message: SnapshotMessage) => boolean,
  ) {
    this.#engines = node.engines;
    this.#kept = new LoneTimer(node.clock);
    this.#replica = replica;
    this.#offer = offer;
  }

  /** Bytes of snapshot `id` that are here; its stream may go on after them. */
  progress(id: number): number {
    return !this.#busy && this.#partial?.id === id ? this.#partial.bytes : 0;
  }

  /**
   * Resolves when raft has accepted or ignored the snapshot. Rejects when the stream is damaged,
   * ends early, or another is being received, or waits to be taken.
   */
  async receive(
    header: SnapshotHeader,
    chunks: AsyncIterable<Buffer>,
    generation: number,
  ): Promise<void> {
    if (this.#closed) throw new KvorumError('STOPPING', STOPS);
    if (this.#busy || this.#received) {
      throw new KvorumError('BUSY', 'another snapshot is being received');
    }
    this.#busy = true;
    const received = this.#receive(header, chunks, generation);
    this.#receiving = received.catch(() => {});
    return received;
  }

  async #receive(
    { id, offset, message }: SnapshotHeader,
    chunks: AsyncIterable<Buffer>,
    generation: number,
  ): Promise<void> {
    try {
      const filling = await this.#begin(id, offset, generation);
      await this.#fill(filling, chunks);
      const received = await this.#checked(filling, message);
      // no stream may begin between here and what raft decides: it would take the engine away
      this.#received = received;
      if (this.#offer(message)) return;
      this.#received = undefined;
      await this.#remove(received);
    } finally {
      this.#busy = false;
    }
  }

  async #checked(filling: Filling, message: SnapshotMessage): Promise<ReceivedSnapshot> {
    const { generation, engine } = filling;
    try {
      const state = this.#stateOf(engine);
      checkSame(message, state);
      return { generation, engine, state };
    } catch (failure) {
      await this.#remove(filling).catch(() => {});
      throw failure;
    }
  }

  /** Nobody asks for it. What the disk does not let go is removed at the next start. */
  async #remove({ engine, generation }: Pick<Filling, 'engine' | 'generation'>): Promise<void> {
    await engine.close();
    await this.#engines.remove(engineName(this.#replica, generation));
  }

  /** Hands out the snapshot raft accepted. */
  take(index: LogIndex): ReceivedSnapshot | undefined {
    const received = this.#received;
    if (received?.state.index !== index) return undefined;
    this.#received = undefined;
    return received;
  }

  /** Ends a stream that comes in, and drops what was received and never installed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#interrupt?.();
    await this.#receiving;
    const received = this.#received;
    this.#received = undefined;
    await received?.engine.close();
    await this.#dropPartial();
  }

  async #dropPartial(): Promise<void> {
    await this.#takePartial()?.engine.close();
  }

  #takePartial(): Filling | undefined {
    const partial = this.#partial;
    this.#partial = undefined;
    this.#kept.cancel();
    return partial;
  }

  #keep(filling: Filling): void {
    this.#partial = filling;
    this.#kept.ask(KEEP_MS, () => this.#expire());
  }

  /** The replica got on by other means, or its leader has a newer snapshot. */
  #expire(): void {
    const partial = this.#takePartial();
    if (partial === undefined || this.#closed) return;
    // its engine's name may be the next one's: nothing is begun meanwhile
    this.#busy = true;
    this.#receiving = this.#remove(partial)
      .catch(() => {})
      .finally(() => {
        this.#busy = false;
      });
  }

  async #begin(id: number, offset: number, generation: number): Promise<Filling> {
    const partial = this.#partial;
    if (partial?.id === id && partial.bytes === offset && partial.generation === generation) {
      return this.#takePartial()!;
    }
    const old = this.#takePartial();
    if (old !== undefined) await this.#remove(old);
    if (offset !== 0) throw new KvorumError('CONFLICT', 'that part of the snapshot is not here');
    const name = engineName(this.#replica, generation);
    await this.#engines.remove(name);
    const { engine } = await this.#engines.open(name);
    return { id, generation, engine, decoder: new SnapshotDecoder(), bytes: 0 };
  }

  /** What has come of a stream that breaks is kept; what comes damaged is not. */
  async #fill(filling: Filling, chunks: AsyncIterable<Buffer>): Promise<void> {
    let broken = true;
    try {
      for await (const chunk of this.#untilClosed(chunks)) {
        broken = false;
        const operations = filling.decoder.decode(chunk);
        if (operations.length > 0) await filling.engine.write(operations);
        filling.bytes += chunk.length;
        broken = true;
      }
      broken = false;
      filling.decoder.finish();
      await filling.engine.sync();
    } catch (failure) {
      if (broken && codeOf(failure) !== 'CORRUPT') this.#keep(filling);
      else await this.#remove(filling).catch(() => {});
      throw failure;
    }
  }

  /** Not even a stream that stands still keeps the replica from stopping. */
  async *#untilClosed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    const iterator = chunks[Symbol.asyncIterator]();
    try {
      while (!this.#closed) {
        const next = await new Promise<IteratorResult<Buffer> | undefined>((resolve, reject) => {
          this.#interrupt = () => resolve(undefined);
          iterator.next().then(resolve, reject);
        });
        if (next?.done) return;
        if (next !== undefined) yield next.value;
      }
      throw new KvorumError('STOPPING', STOPS);
    } finally {
      this.#interrupt = undefined;
      void iterator.return?.().catch(() => {});
    }
  }

  #stateOf(engine: Engine): ReplicaState {
    const where = `snapshot for replica ${this.#replica}`;
    const bytes = createView(engine).get(STATE_KEY);
    if (bytes === undefined) throw new KvorumError('CORRUPT', `${where} has no state`);
    return decodeState(bytes, where);
  }
}

/** Raft goes by the header, the replica by its data: they must speak of the same state. */
function checkSame({ snapshot }: SnapshotMessage, state: ReplicaState): void {
  const { index, term } = snapshot;
  if (state.index !== index || state.term !== term) {
    throw new KvorumError(
      'CORRUPT',
      `snapshot of index ${index} and term ${term} holds data of index ${state.index} and term ` +
        `${state.term}`,
    );
  }
  if (!isSameConf(state.confState, snapshot.confState)) {
    throw new KvorumError('CORRUPT', `snapshot of index ${index} holds data of other members`);
  }
}
