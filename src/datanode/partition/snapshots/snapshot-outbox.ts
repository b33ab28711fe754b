/**
 * Snapshots this replica sends. The engine's state is captured the moment the core asks, so index,
 * term, configuration and data belong together; it is released when sent or superseded, and a while
 * after its stream broke: until then, and while the members stay, the same snapshot is sent again,
 * without what has arrived. What is being sent ends with the leadership.
 */
import type { Clock, Timer } from '../../../common/clock.ts';
import { KvorumError, messageOf } from '../../../common/errors.ts';
import type { GroupId, LogIndex, ReplicaId } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { Logger } from '../../../common/log.ts';
import type { Random } from '../../../common/random.ts';
import { UnderWay } from '../../../common/under-way.ts';
import { STATE_KEY } from '../../encoding/records/system.ts';
import { createView } from '../../encoding/txn/txn.ts';
import type { Engine, EngineReader, EngineSnapshot } from '../../engine/engine.ts';
import { LostStateError } from '../../engine/lost-state.ts';
import type { PeerMessage, Snapshot } from '../../raft/message.ts';
import { decodeState, isSameConf, type ReplicaState } from '../storage/state.ts';
import {
  encodeSnapshotChunks,
  encodeSnapshotHeader,
  type SnapshotMessage,
} from './snapshot-codec.ts';
import { skipBytes } from './snapshot-resume.ts';

export interface SnapshotWire {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How many bytes of snapshot `id` the receiver has; 0 when it cannot be asked. */
  snapshotProgress(message: PeerMessage, id: number): Promise<number>;
  streamSnapshot(
    message: PeerMessage,
    header: Buffer,
    chunks: AsyncIterable<Buffer>,
  ): Promise<void>;
}

interface Captured {
  readonly id: number;
  readonly snapshot: Snapshot;
  readonly engineSnapshot: EngineSnapshot;
  users: number;
  /** Its stream broke: set until it is given up. */
  resumable: Timer | undefined;
}

/** The size is a guess: only its end tells that a snapshot is whole. */
const SHARE_MAX = 0.99;
const ID_HIGH_MAX = 2 ** 20;
const ID_LOW_SPACE = 2 ** 32;

export class SnapshotOutbox {
  readonly #wire: SnapshotWire;
  readonly #group: GroupId;
  readonly #engine: () => Engine;
  readonly #replica: ReplicaId;
  #captured: Captured | undefined;
  readonly #sending = new UnderWay();
  /** For each stream: how to wait for it no longer. */
  readonly #leavers = new Set<(why: KvorumError) => void>();
  /** Per receiver: bytes that were handed over, and about how many there are. */
  readonly #shares = new Map<ReplicaId, { sent: number; readonly all: number }>();
  #ended = false;
  /** How often leadership ended. */
  #terms = 0;

  constructor(wire: SnapshotWire, group: GroupId, engine: () => Engine, replica: ReplicaId) {
    this.#wire = wire;
    this.#group = group;
    this.#engine = engine;
    this.#replica = replica;
  }

  /**
   * RaftStorage.snapshot: what the engine holds now, or the snapshot whose stream broke while the
   * log still goes on from it (`firstIndex` of the log) and the members are those of then: who has
   * joined since could do nothing with it.
   */
  take(firstIndex: LogIndex): Snapshot | 'unavailable' {
    const broken = this.#captured;
    if (broken?.resumable && broken.snapshot.index >= firstIndex - 1) {
      const now = this.#stateIn(this.#engine());
      if (now && isSameConf(now.confState, broken.snapshot.confState)) return broken.snapshot;
    }
    const engineSnapshot = this.#engine().snapshot();
    const state = this.#stateIn(engineSnapshot);
    if (state === undefined) {
      void engineSnapshot.close();
      return 'unavailable';
    }
    engineSnapshot.keep?.();
    const { index, term, confState } = state;
    if (this.#captured) this.#release(this.#captured);
    const { random } = this.#wire;
    const id = random.below(ID_HIGH_MAX) * ID_LOW_SPACE + random.u32();
    const snapshot = { index, term, confState, data: Buffer.alloc(0) };
    this.#captured = { id, snapshot, engineSnapshot, users: 0, resumable: undefined };
    return snapshot;
  }

  /** Undefined: there is none, or it is lost, since too much is being written over it. */
  #stateIn(reader: EngineReader): ReplicaState | undefined {
    try {
      const bytes = createView(reader).get(STATE_KEY);
      return bytes && decodeState(bytes, `replica ${this.#replica}`);
    } catch (failure) {
      if (failure instanceof LostStateError) return undefined;
      throw failure;
    }
  }

  /** Index of the captured snapshot while somebody may still need it. */
  get keptIndex(): LogIndex | undefined {
    return this.#captured?.snapshot.index;
  }

  /** As `send`; a failure is logged, and told like a success. */
  deliver(message: SnapshotMessage, report: (outcome: 'sent' | 'failed') => void): void {
    this.send(message).then(
      () => report('sent'),
      (failure) => {
        const fields = { to: message.to, error: messageOf(failure) };
        this.#wire.logger.warn('snapshot not sent', fields);
        report('failed');
      },
    );
  }

  /** Streams the data captured for `message`; rejects when the peer did not take it. */
  send(message: SnapshotMessage): Promise<void> {
    const captured = this.#captured;
    if (captured?.snapshot.index !== message.snapshot.index) {
      return Promise.reject(new KvorumError('CANCELLED', 'a newer snapshot was captured since'));
    }
    return this.#sending.add(this.#stream(message, captured));
  }

  /** What has gone to `replica` of the snapshot that is on its way there, 0 to 1, about. */
  share(replica: ReplicaId): number | undefined {
    const share = this.#shares.get(replica);
    if (share === undefined) return undefined;
    return share.all === 0 ? 0 : Math.min(share.sent / share.all, SHARE_MAX);
  }

  /** Resolves when nothing of the engine is held any more. */
  async close(): Promise<void> {
    if (this.#captured) this.#release(this.#captured);
    this.#captured = undefined;
    await this.#sending.settled();
  }

  /**
   * This replica leads no more: what is being sent ends with its next chunk. Whoever gets it would not
   * want it in the end, and takes no other snapshot until then.
   */
  stepDown(): void {
    this.#terms++;
    this.#leave(steppedDown());
  }

  /** As `close`, and what is being sent ends with its next chunk. */
  end(): Promise<void> {
    this.#ended = true;
    this.#leave(stopping());
    return this.close();
  }

  /**
   * The next chunk may not be asked for: a stream waits for a place, here and there, behind others that
   * take as long as they are large, and in the end for the word of who takes it. Nobody waits for that.
   */
  #leave(why: KvorumError): void {
    for (const leave of [...this.#leavers]) leave(why);
  }

  #unlessLeft(stream: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#leavers.add(reject);
      void stream.then(resolve, reject).finally(() => this.#leavers.delete(reject));
    });
  }

  #checkStays(terms: number): void {
    if (terms !== this.#terms) throw steppedDown();
    if (this.#ended) throw stopping();
  }

  async *#untilEnded(chunks: AsyncIterable<Buffer>, terms: number): AsyncGenerator<Buffer, void> {
    for await (const chunk of chunks) {
      this.#checkStays(terms);
      yield chunk;
    }
    // one that was left ends here, and is not whole
    this.#checkStays(terms);
  }

  async #stream(message: SnapshotMessage, captured: Captured): Promise<void> {
    const { id, engineSnapshot } = captured;
    const terms = this.#terms;
    const source = encodeSnapshotChunks(engineSnapshot);
    captured.users++;
    captured.resumable?.cancel();
    captured.resumable = undefined;
    try {
      const offset = await this.#wire.snapshotProgress(message, id);
      const share = { sent: offset, all: await this.#engine().approximateBytes() };
      this.#shares.set(message.to, share);
      const header = encodeSnapshotHeader({ group: this.#group, id, offset, message });
      this.#checkStays(terms);
      const chunks = counted(skipBytes(this.#untilEnded(source, terms), offset), share);
      await this.#unlessLeft(this.#wire.streamSnapshot(message, header, chunks));
      if (captured === this.#captured) this.#captured = undefined;
    } catch (failure) {
      if (captured === this.#captured) this.#keepForResume(captured);
      throw failure;
    } finally {
      // what was left may be asked for later all the same: of the engine nothing is read any more
      await source.return(undefined);
      this.#shares.delete(message.to);
      captured.users--;
      if (captured !== this.#captured) this.#release(captured);
    }
  }

  #keepForResume(captured: Captured): void {
    captured.resumable?.cancel();
    captured.resumable = this.#wire.clock.setTimer(limits.snapshotResumeMs, () => {
      captured.resumable = undefined;
      if (captured === this.#captured) this.#captured = undefined;
      this.#release(captured);
    });
  }

  #release(captured: Captured): void {
    captured.resumable?.cancel();
    captured.resumable = undefined;
    if (captured.users === 0) void captured.engineSnapshot.close();
  }
}

async function* counted(
  chunks: AsyncIterable<Buffer>,
  share: { sent: number },
): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) {
    share.sent += chunk.length;
    yield chunk;
  }
}

function steppedDown(): KvorumError {
  return new KvorumError('CANCELLED', 'another replica leads');
}

function stopping(): KvorumError {
  return new KvorumError('STOPPING', 'the replica stops');
}
