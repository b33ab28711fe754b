/** The bytes on their way to one client: replies in order, and pushes between them. */
import type { Logger } from '../../common/log.ts';
import type { ByteStream } from '../../common/network.ts';
import { Scratch } from '../../common/scratch.ts';
import { packedChunks, ReplyWriter } from '../resp/encode-reply.ts';
import type { Protocol, Reply } from '../resp/reply.ts';
import type { ClientMemory } from './client-memory.ts';
import type { ReplyQueue } from './reply-queue.ts';
import type { ServerStats } from './stats.ts';

const WRITE_BYTES = 65_536;
/** Bytes of this size are not copied: a push may be on its way to many. */
const SHARED_BYTES_MIN = 16_384;
/** Nor are values of this size. */
const LARGE_BULK_BYTES = 262_144;

/** Of all clients: what a flush writes is a copy that the system has taken when it ends. */
const scratch = new Scratch(2 * WRITE_BYTES);

export interface OutputWorld {
  readonly logger: Logger;
  readonly stats: ServerStats;
  readonly replies: Pick<ClientMemory, 'share' | 'unshare'>;
}

/** A message that others may be sent as well. */
interface Shared {
  readonly bytes: Buffer;
  /** Place of its end in all that was written. */
  readonly endsAt: number;
}

export class Output {
  readonly #stream: ByteStream;
  readonly #replies: ReplyQueue;
  readonly #world: OutputWorld;
  readonly #writer = new ReplyWriter();
  #ended = false;
  /** The system has taken all that was written in this flush. */
  #isTaken = true;
  #writtenBytes = 0;
  /** Those that the system has not taken, in order. */
  #shared: Shared[] = [];

  constructor(stream: ByteStream, replies: ReplyQueue, world: OutputWorld) {
    this.#stream = stream;
    this.#replies = replies;
    this.#world = world;
  }

  /** What the client has not taken, replies that wait for earlier ones included. */
  get waitingBytes(): number {
    return this.#stream.bufferedBytes + this.#writer.length + this.#replies.readyBytes;
  }

  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Of those, near enough, what others may be sent as well. */
  get sharedBytes(): number {
    if (this.#shared.length === 0) return 0;
    const takenBytes = this.#writtenBytes - this.#stream.bufferedBytes;
    while (this.#shared.length > 0 && this.#shared[0]!.endsAt <= takenBytes) {
      this.#world.replies.unshare(this.#shared.shift()!.bytes);
    }
    return this.#shared.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** The client has gone, or is to go. */
  forgetShared(): void {
    for (const { bytes } of this.#shared) this.#world.replies.unshare(bytes);
    this.#shared = [];
  }

  /** Takes the replies that nothing holds back, and writes. */
  flush(): void {
    if (this.#writer.length > 0 || this.#stream.bufferedBytes > 0) return this.#flush();
    const memory = scratch.borrow();
    this.#isTaken = true;
    this.#writer.moveTo(memory);
    this.#flush();
    this.#writer.moveTo();
    if (this.#isTaken) scratch.giveBack(memory);
  }

  #flush(): void {
    this.#drain();
    this.#write();
  }

  /** Behind the replies that nothing holds back; leaves with the next `flush` at the latest. */
  push(bytes: Buffer): void {
    this.#drain();
    if (bytes.length >= SHARED_BYTES_MIN) {
      this.#write();
      this.#write(bytes);
      this.#share(bytes);
      return;
    }
    this.#writer.append({ kind: 'encoded', bytes }, 2);
    if (this.#writer.length >= WRITE_BYTES) this.#write();
  }

  #share(bytes: Buffer): void {
    if (this.#stream.bufferedBytes === 0) return;
    this.#world.replies.share(bytes);
    this.#shared.push({ bytes, endsAt: this.#writtenBytes });
  }

  /** Who does not read is let go. */
  disconnect(waitingBytes: number): void {
    const client = this.#stream.remote;
    const fields = { client, waitingBytes };
    this.#world.logger.warn('client reads too slowly and is disconnected', fields);
    this.#stream.destroy();
  }

  #drain(): void {
    if (this.#ended) return;
    for (let slot = this.#replies.take(); slot; slot = this.#replies.take()) {
      if (slot.ends) return this.#end();
      if (!slot.silent) this.#append(slot.reply!, slot.protocol);
      if (this.#writer.length >= WRITE_BYTES) this.#write();
    }
  }

  /** What is before it has been written; nothing is behind it. */
  #end(): void {
    this.#ended = true;
    this.#write();
    this.#stream.end();
  }

  /** What is large and encoded already goes as it is: a copy would hold up the others. */
  #append(reply: Reply, protocol: Protocol): void {
    if (reply.kind === 'bulk' && reply.bytes.length >= LARGE_BULK_BYTES) {
      this.#writer.beginBulk(reply.bytes.length);
      this.#write();
      this.#write(reply.bytes);
      return this.#writer.endBulk();
    }
    const chunks = encodedChunks(reply, protocol);
    if (chunks === undefined) return this.#writer.append(reply, protocol);
    if (reply.kind === 'packed') this.#writer.beginPacked(reply, protocol);
    this.#write();
    for (const chunk of chunks) this.#write(chunk);
  }

  #write(bytes: Buffer = this.#writer.take()): void {
    if (bytes.length === 0) return;
    this.#world.stats.outputBytes += bytes.length;
    this.#world.stats.writes++;
    this.#writtenBytes += bytes.length;
    this.#stream.write(bytes);
    if (this.#stream.bufferedBytes === 0) this.#writer.rewind();
    else this.#isTaken = false;
  }
}

function encodedChunks(reply: Reply, protocol: Protocol): readonly Buffer[] | undefined {
  if (reply.kind === 'packed') return packedChunks(reply, protocol);
  if (reply.kind === 'encoded' && reply.bytes.length >= SHARED_BYTES_MIN) return [reply.bytes];
  return undefined;
}
