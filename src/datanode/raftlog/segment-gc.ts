/**
 * Lets old segments go, strictly oldest first. One that nobody needs is deleted once the batch
 * that freed it is durable. While the files hold more than twice what is alive, the oldest one's
 * remaining entries (a cold replica's tail) are copied forward, each replica's as one batch (several
 * beyond limits.logCopyBytesMax), and the segment goes only after they are durable. A copy changes
 * an entry's place and nothing else, so one that a crash cut off needs no undoing.
 */
import { assert } from '../../common/assert.ts';
import type { LogIndex } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Entry } from '../raft/message.ts';
import type { BatchQueue } from './batch-queue.ts';
import { readEntry } from './entry-reads.ts';
import type { ReplicaState } from './replica-log.ts';
import type { RecordPlace, Segment, SegmentSet } from './segment.ts';

interface Move {
  readonly state: ReplicaState;
  readonly entry: Entry;
  /** Where it was read from. */
  readonly place: RecordPlace;
}

export interface SegmentGcHost {
  readonly segments: SegmentSet;
  readonly queue: BatchQueue;
  readonly segmentBytes: number;
  replicas(): Iterable<ReplicaState>;
  durableSeq(): number;
  durableSegment(): number;
  flush(): Promise<void>;
  /** Resolves once others had their turn. */
  nextTurn(): Promise<void>;
  stopped(): boolean;
  failed(error: unknown): void;
}

export class SegmentGc {
  readonly #host: SegmentGcHost;
  #running: Promise<void> | undefined;

  constructor(host: SegmentGcHost) {
    this.#host = host;
  }

  /** Starts a round unless one runs or there is nothing to do. */
  kick(): void {
    if (this.#running !== undefined || this.#wanted() === 'nothing') return;
    this.#running = this.#round().finally(() => {
      this.#running = undefined;
    });
  }

  /** Resolves when no round runs. */
  async settle(): Promise<void> {
    await this.#running;
  }

  #wanted(): 'delete' | 'copy' | 'nothing' {
    const { segments, segmentBytes } = this.#host;
    const oldest = segments.oldest;
    if (oldest === undefined || oldest.number >= this.#host.durableSegment()) return 'nothing';
    if (oldest.liveEntries === 0) {
      return oldest.deadSeq <= this.#host.durableSeq() ? 'delete' : 'nothing';
    }
    const sealed = (this.#host.durableSegment() - oldest.number) * segmentBytes;
    const allowed = 2 * segments.liveBytes + limits.logSegmentsFree * segmentBytes;
    return sealed > allowed ? 'copy' : 'nothing';
  }

  async #round(): Promise<void> {
    try {
      while (!this.#host.stopped()) {
        const wanted = this.#wanted();
        if (wanted === 'nothing') return;
        if (wanted === 'delete') await this.#host.segments.removeOldest();
        else await this.#copyForward();
      }
    } catch (error) {
      if (!this.#host.stopped()) this.#host.failed(error);
    }
  }

  /** Copies everything alive in the oldest segment, a bounded step at a time. */
  async #copyForward(): Promise<void> {
    const segment = this.#host.segments.oldest;
    if (segment === undefined) return;
    let slots = 0;
    for (const state of [...this.#host.replicas()]) {
      let index = state.firstIndex();
      while (index <= state.lastIndex() && segment.liveEntries > 0) {
        if (this.#host.stopped()) return;
        const [found, next] = findLive(state, segment.number, index);
        slots += next - index;
        if (slots >= limits.logCopySlotsMax) {
          slots = 0;
          await this.#host.nextTurn();
        }
        index = Math.max(next, state.firstIndex());
        if (found.length === 0) continue;
        const moves = await readMoves(segment, state, found);
        if (this.#host.stopped()) return;
        addMoves(this.#host.queue, moves);
        await this.#host.flush();
      }
    }
    assert(segment.liveEntries === 0, () => `nothing is left in segment ${segment.number}`);
  }
}

async function readMoves(
  segment: Segment,
  state: ReplicaState,
  found: readonly Found[],
): Promise<Move[]> {
  const moves: Move[] = [];
  for (const { index, place } of found) {
    const entry = await readEntry(segment, place, state.replica, index);
    moves.push({ state, entry, place });
  }
  return moves;
}

/** Copies entries forward; each changes its place once the copy is in the file. */
function addMoves(queue: BatchQueue, moves: readonly Move[]): void {
  let bytes = 0;
  for (const move of moves) bytes += move.place.bytes;
  const batch = queue.gather(bytes);
  for (const { state, entry, place } of moves) {
    if (!state.isAt(entry.index, place)) continue; // dropped while it was read
    const offset = batch.addEntry('moved', state.replica, entry);
    const target = { segment: batch.place.segment, offset, bytes: place.bytes };
    batch.onWritten.push(() => {
      if (state.isAt(entry.index, place)) state.move(entry.index, entry.term, target);
    });
  }
}

interface Found {
  readonly index: LogIndex;
  readonly place: RecordPlace;
}

/** Entries from `from` on that lie in `segment`, and where to go on. */
function findLive(state: ReplicaState, segment: number, from: LogIndex): [Found[], LogIndex] {
  const found: Found[] = [];
  const end = Math.min(state.lastIndex() + 1, from + limits.logCopySlotsMax);
  let bytes = 0;
  for (let index = from; index < end; index++) {
    if (!state.isIn(index, segment)) continue;
    const place = state.place(index);
    if (found.length > 0 && bytes + place.bytes > limits.logCopyBytesMax) return [found, index];
    bytes += place.bytes;
    found.push({ index, place });
  }
  return [found, end];
}
