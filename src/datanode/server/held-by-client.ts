/** What a node keeps in memory for one client: who has it keep the most, when all take too much, is let go. */
import type { ByteStream } from '../../common/network.ts';
import { HELD_BYTES_MIN, type Holder } from './client-memory.ts';
import type { ConnectionWorld } from './connection-world.ts';
import type { Output } from './output.ts';

/** Why a client is let go. */
const REQUESTS_HELD = 'requests of clients take too much memory: whose take most is disconnected';
const REPLIES_HELD =
  'replies that clients do not take need too much memory: whose are most is disconnected';

export class HeldByClient {
  readonly #stream: ByteStream;
  readonly #world: Pick<ConnectionWorld, 'logger' | 'requests' | 'replies' | 'stats'>;
  readonly #output: Output;
  /** It has gone, or is about to. */
  #isOver = false;
  readonly #requests: Holder = { letGo: (bytes) => this.#letGo(REQUESTS_HELD, bytes) };
  readonly #replies: Holder = { letGo: (bytes) => this.#letGo(REPLIES_HELD, bytes) };

  constructor(
    stream: ByteStream,
    world: Pick<ConnectionWorld, 'logger' | 'requests' | 'replies' | 'stats'>,
    output: Output,
  ) {
    this.#stream = stream;
    this.#world = world;
    this.#output = output;
  }

  /** Its requests, read and unread, take `bytes`. */
  noteRequests(bytes: number): void {
    if (!this.#isOver) this.#world.requests.note(this.#requests, bytes);
  }

  /** Of replies so many bytes are ready behind one that is not. */
  noteReady(readyBytes: number): void {
    if (readyBytes >= HELD_BYTES_MIN) this.noteReplies();
  }

  /** What replies wait for it. */
  noteReplies(): void {
    if (this.#isOver) return;
    const { sharedBytes, waitingBytes } = this.#output;
    this.#world.replies.note(this.#replies, Math.max(0, waitingBytes - sharedBytes), sharedBytes);
  }

  /** The client has gone. */
  end(): void {
    this.#isOver = true;
    this.#output.forgetShared();
    this.#world.requests.note(this.#requests, 0);
    this.#world.replies.note(this.#replies, 0);
  }

  #letGo(text: string, heldBytes: number): void {
    this.#isOver = true;
    this.#output.forgetShared();
    this.#world.stats.evicted++;
    this.#world.logger.warn(text, { client: this.#stream.remote, heldBytes });
    this.#stream.destroy();
  }
}
