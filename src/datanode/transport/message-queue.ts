/**
 * Raft messages that wait for their link; at the bound the oldest go, raft sends them again. Their
 * order is kept: while a large one is made into a frame, those behind it wait.
 */
import { must } from '../../common/assert.ts';
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import { runInSlices, type Steps } from '../../common/slices.ts';
import { channels, type FrameWriter } from './frame.ts';
import { LargeBody } from './large-frame.ts';
import type { Link } from './link.ts';
import { encodeMessage } from './message-codec.ts';
import type { GroupMessage } from './transport.ts';

/** A frame is closed once its body is this long. */
export const FRAME_TARGET_BYTES = 256 * 1024;
/**
 * A message of this size has a frame of its own, made in steps of so long each turn. Raft puts so
 * much into one only where a single entry is as large: those of many small ones are encoded at once.
 */
const LARGE_BYTES = 2 * limits.raftMessageBytesMax;
const SLICE_MS = 0.5;

export interface QueueEvents {
  onWritten(message: GroupMessage): void;
  onDropped(message: GroupMessage): void;
}

export class MessageQueue {
  readonly #bytesMax: number;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>;
  readonly #events: QueueEvents | undefined;
  #messages: (GroupMessage & { readonly bytes: number })[] = [];
  #head = 0;
  #bytes = 0;
  /** The large message that is made into a frame: not among those that wait, nor in `bytes`. */
  #making: GroupMessage | undefined;

  constructor(
    bytesMax: number,
    clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>,
    events?: QueueEvents,
  ) {
    this.#bytesMax = bytesMax;
    this.#clock = clock;
    this.#events = events;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get length(): number {
    return this.#messages.length - this.#head;
  }

  push({ group, message }: GroupMessage, bytes: number): void {
    this.#messages.push({ group, message, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax && this.length > 1) {
      const dropped = this.#shift();
      this.#events?.onDropped(dropped);
    }
  }

  /** Their link is gone. */
  clear(): void {
    this.#making = undefined;
    this.#empty();
  }

  /** Writes messages in order while the link takes them; true when some remain that it may take. */
  encode(link: Link): boolean {
    while (this.length > 0 && !link.congested && this.#making === undefined) {
      if (this.#isNextLarge()) void this.#make(link);
      else link.write((w) => this.#encodeSome(w));
    }
    return this.length > 0 && this.#making === undefined;
  }

  #encodeSome(w: FrameWriter): void {
    w.begin(channels.raft);
    do {
      const next = this.#shift();
      encodeMessage(w, next.group, next.message);
      this.#events?.onWritten(next);
    } while (this.length > 0 && w.bodyLength < FRAME_TARGET_BYTES && !this.#isNextLarge());
    w.end();
  }

  #isNextLarge(): boolean {
    return this.#messages[this.#head]!.bytes >= LARGE_BYTES;
  }

  async #make(link: Link): Promise<void> {
    const making = this.#shift();
    this.#making = making;
    const body = new LargeBody();
    encodeMessage(body, making.group, making.message);
    const steps = this.#whileMade(making, body.frame(channels.raft));
    const frame = await runInSlices(steps, this.#clock, SLICE_MS);
    if (frame === undefined) return;
    this.#making = undefined;
    link.writeWhole(frame);
    this.#events?.onWritten(making);
  }

  /** Ends without a frame when the link of `making` goes meanwhile. */
  *#whileMade(making: GroupMessage, steps: Steps<Buffer>): Steps<Buffer | undefined> {
    while (this.#making === making) {
      const { done, value } = steps.next();
      if (done) return value;
      yield;
    }
    return undefined;
  }

  #shift(): GroupMessage {
    const next = must(this.#messages[this.#head++], 'a message waits');
    this.#bytes -= next.bytes;
    if (this.#head === this.#messages.length) this.#empty();
    else if (this.#head >= 1_024 && this.#head * 2 >= this.#messages.length) {
      this.#messages = this.#messages.slice(this.#head);
      this.#head = 0;
    }
    return next;
  }

  #empty(): void {
    this.#messages = [];
    this.#head = 0;
    this.#bytes = 0;
  }
}
