/**
 * Which replies may be made for a client, of the memory for those that it does not take: what it reads
 * slowly is made one by one, the oldest first, and no client that takes what it is sent is closed for
 * having asked for much at once.
 */
import { limits } from '../../common/limits.ts';
import type { ByteStream } from '../../common/network.ts';
import type { ClientMemory } from './client-memory.ts';
import type { LaneItem } from './lane.ts';
import type { Output } from './output.ts';
import type { ReplyQueue } from './reply-queue.ts';

/** Of replies not taken that a client may have and get another made, when there is little memory: less is
 * taken by the system at once, and nobody tells when. */
const TIGHT_BYTES = limits.connectionOutputPauseBytes / 16;

export class ReplyRoom {
  readonly #stream: Pick<ByteStream, 'bufferedBytes'>;
  readonly #replies: Pick<ReplyQueue, 'first' | 'readyBytes'>;
  readonly #output: Pick<Output, 'waitingBytes'>;
  /** Of all clients. */
  readonly #memory: Pick<ClientMemory, 'isTight'>;
  /** Of reads that were made when there was no room for their replies. */
  readonly #again = new Set<object>();

  constructor(
    stream: Pick<ByteStream, 'bufferedBytes'>,
    replies: Pick<ReplyQueue, 'first' | 'readyBytes'>,
    output: Pick<Output, 'waitingBytes'>,
    memory: Pick<ClientMemory, 'isTight'>,
  ) {
    this.#stream = stream;
    this.#replies = replies;
    this.#output = output;
    this.#memory = memory;
  }

  /** The client has taken nearly all that it was sent. */
  readonly isTaken = (): boolean => this.#output.waitingBytes <= TIGHT_BYTES;

  /** Its reply is known. */
  settled(slot: object): void {
    if (this.#again.size > 0) this.#again.delete(slot);
  }

  /**
   * A client that reads slowly gets its oldest reply made, and no more than that; so does one whose
   * replies were too large together, until all that were dropped are made. Where replies that clients do
   * not take fill half of the memory for them, it has to have taken nearly all of the last.
   */
  mayStart({ slot }: Pick<LaneItem, 'slot'>): boolean {
    const pauseBytes = this.#memory.isTight ? TIGHT_BYTES : limits.connectionOutputPauseBytes;
    if (this.#stream.bufferedBytes > pauseBytes) return false;
    if (slot === this.#replies.first) return true;
    return this.#replies.readyBytes <= pauseBytes && this.#again.size === 0;
  }

  /** Whether its reply is the next to leave. */
  isNext({ slot }: Pick<LaneItem, 'slot'>): boolean {
    return slot === this.#replies.first;
  }

  /**
   * Whether the reply to a read may wait here until those before it have left. Reads of many partitions
   * begin together, before anything is known of their size; a client that takes what it is sent is not to
   * be closed for that. The next one to leave has room whenever the client has taken those before.
   */
  hasRoomFor({ slot }: Pick<LaneItem, 'slot'>): boolean {
    const isNext =
      slot === this.#replies.first &&
      this.#stream.bufferedBytes <= limits.connectionOutputPauseBytes;
    if (isNext || this.#output.waitingBytes <= limits.connectionOutputReadsBytes) return true;
    this.#again.add(slot);
    return false;
  }
}
