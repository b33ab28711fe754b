/**
 * The batches that are not on disk yet: one gathers, full ones wait, one is in flight. A batch gets
 * its number and place when it begins to gather; its length is fixed when the next one begins or
 * when it is taken to be written, and that fixes the next one's place.
 */
import { must } from '../../common/assert.ts';
import { Batch, BufferPool } from './batch.ts';
import type { LogState } from './log-state.ts';
import type { SegmentSet } from './segment.ts';

export class BatchQueue {
  readonly #segments: SegmentSet;
  readonly #state: LogState;
  readonly #segmentBytes: number;
  readonly #batchBytesMax: number;
  readonly #buffers = new BufferPool();
  #gathering: Batch | undefined;
  #full: Batch[] = [];
  #inFlight: Batch | undefined;
  #lastSeq = 0;

  constructor(options: {
    readonly segments: SegmentSet;
    readonly state: LogState;
    /** A segment takes no further batch once it is this long. */
    readonly segmentBytes: number;
    /** A batch takes no further part beyond this; a single larger part has one of its own. */
    readonly batchBytesMax: number;
  }) {
    this.#segments = options.segments;
    this.#state = options.state;
    this.#segmentBytes = options.segmentBytes;
    this.#batchBytesMax = options.batchBytesMax;
  }

  /** Number of the newest batch, written or not. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Goes on after the last batch found on disk. */
  startAfter(seq: number): void {
    this.#lastSeq = seq;
  }

  get isEmpty(): boolean {
    return this.#gathering === undefined && this.#full.length === 0;
  }

  /** The newest batch that is not durable yet. */
  get newest(): Batch | undefined {
    return this.#gathering ?? this.#full.at(-1) ?? this.#inFlight;
  }

  get bytes(): number {
    let sum = (this.#gathering?.length ?? 0) + (this.#inFlight?.length ?? 0);
    for (const batch of this.#full) sum += batch.length;
    return sum;
  }

  /** The batch to add `bytes` to; begins the next segment when the newest one is full. */
  gather(bytes = 0): Batch {
    const gathering = this.#gathering;
    if (gathering !== undefined) {
      if (gathering.length + bytes <= this.#batchBytesMax) return gathering;
      this.#endGathering();
    }
    const newest = this.#segments.get(this.#segments.newest);
    const first = newest === undefined || newest.position >= this.#segmentBytes;
    const segment = first ? this.#segments.begin(this.#segments.newest + 1) : newest;
    const seq = ++this.#lastSeq;
    const place = { segment: segment.number, offset: segment.position, seq, first };
    const batch = new Batch(place, this.#buffers.take());
    if (first) this.#state.writeCheckpoint(batch);
    this.#gathering = batch;
    return batch;
  }

  #endGathering(): void {
    const batch = must(this.#gathering, 'a batch is gathering');
    must(this.#segments.get(batch.place.segment), 'its segment is known').position = batch.end;
    this.#gathering = undefined;
    this.#full.push(batch);
  }

  /** The next batch to write, in flight until `done`; undefined when none waits. */
  take(): Batch | undefined {
    if (this.#full.length === 0 && this.#gathering !== undefined) this.#endGathering();
    this.#inFlight = this.#full.shift();
    return this.#inFlight;
  }

  /** The batch in flight is durable, its bytes are no longer needed. */
  done(): void {
    this.#inFlight?.release(this.#buffers);
    this.#inFlight = undefined;
  }
}
