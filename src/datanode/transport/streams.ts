/**
 * Snapshot streams over a bulk link: the dialing side sends, the other takes in.
 *
 *   open   u8 1 · varint id · header       credit   u8 3 · varint id, chunks
 *   chunk  u8 2 · varint id · bytes        taken    u8 6 · varint id
 *   end    u8 4 · varint id, chunks · u32 CRC-32 over all chunks
 *   abort  u8 5 · varint id · text         refused  u8 7 · varint id · code, text
 *
 * The sender may send as many chunks as it has credit for. The receiver gives the first credit when
 * it has a slot, and one more for every chunk its reader has finished with.
 */
import { crc32 } from '../../common/checksum.ts';
import { codeOf, KvorumError, messageOf } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { BodyReader, badFrame, channels, streamKinds } from './frame.ts';
import type { Link } from './link.ts';
import { errorCode } from './request-client.ts';
import type { StreamGate } from './stream-gate.ts';
import type { TransportHandlers } from './transport.ts';

const WINDOW_CHUNKS = 8;
/** Streams of one link that are open or wait for a slot. */
const OPEN_MAX = 256;
const HEAD_BYTES = 16;
/** Of a text for people. */
const TEXT_BYTES_MAX = 1_000;

interface Outgoing {
  readonly id: number;
  credit: number;
  taken: boolean;
  failure: Error | undefined;
  wake: () => void;
}

const idle = () => {};

export class StreamSender {
  readonly #node: NodeId;
  readonly #gate: StreamGate;
  readonly #open = new Map<number, Outgoing>();
  #nextId = 1;
  #link: Link | undefined;

  constructor(node: NodeId, gate: StreamGate) {
    this.#node = node;
    this.#gate = gate;
  }

  attach(link: Link): void {
    this.#link = link;
  }

  detach(): void {
    this.#link = undefined;
    for (const outgoing of this.#open.values()) {
      fail(outgoing, new KvorumError('CONNECTION_LOST', `connection to ${this.#node} ended`));
    }
    this.#open.clear();
  }

  /** Room in the link again. */
  onFlush(): void {
    for (const outgoing of this.#open.values()) outgoing.wake();
  }

  async stream(header: Buffer, chunks: AsyncIterable<Buffer>): Promise<void> {
    await this.#gate.sends.acquire();
    try {
      const link = this.#link;
      if (link === undefined) {
        throw new KvorumError('PEER_UNREACHABLE', `no connection to ${this.#node}`);
      }
      if (header.length + HEAD_BYTES > limits.snapshotChunkBytes) {
        throw badFrame(`stream header of ${header.length} bytes`);
      }
      await this.#send(link, header, chunks);
    } finally {
      this.#gate.sends.release();
    }
  }

  onFrame(body: Buffer): void {
    const reader = new BodyReader(body);
    const kind = reader.u8();
    const outgoing = this.#open.get(reader.varint());
    switch (kind) {
      case streamKinds.credit: {
        const credit = reader.varint();
        if (outgoing === undefined) return;
        outgoing.credit += credit;
        break;
      }
      case streamKinds.taken:
        if (outgoing === undefined) return;
        outgoing.taken = true;
        break;
      case streamKinds.refused: {
        const error = new KvorumError(errorCode(reader.text()), reader.text());
        if (outgoing) fail(outgoing, error);
        return;
      }
      default:
        throw badFrame(`stream frame ${kind} toward the sender`);
    }
    outgoing.wake();
  }

  async #send(link: Link, header: Buffer, chunks: AsyncIterable<Buffer>): Promise<void> {
    const id = this.#nextId++;
    const outgoing: Outgoing = { id, credit: 0, taken: false, failure: undefined, wake: idle };
    this.#open.set(id, outgoing);
    writeStream(link, streamKinds.open, id, header);
    try {
      const sent = { count: 0, checksum: 0 };
      await until(outgoing, () => outgoing.credit > 0);
      for await (const chunk of chunks) {
        for (let at = 0; at < chunk.length && !outgoing.taken; at += limits.snapshotChunkBytes) {
          const piece = chunk.subarray(at, at + limits.snapshotChunkBytes);
          await until(outgoing, () => outgoing.credit > 0 && !link.congested);
          await this.#gate.throttle.take(piece.length);
          if (outgoing.failure) throw outgoing.failure;
          outgoing.credit--;
          sent.count++;
          sent.checksum = crc32(piece, sent.checksum);
          writeStream(link, streamKinds.chunk, id, piece);
        }
        if (outgoing.taken) break;
      }
      link.write((w) => {
        w.begin(channels.stream).u8(streamKinds.end).varint(id);
        w.varint(sent.count).u32(sent.checksum);
        w.end();
      });
      await until(outgoing, () => false);
    } catch (error) {
      if (outgoing.failure === undefined) {
        writeStream(link, streamKinds.abort, id, Buffer.from(messageOf(error).substring(0, 1_000)));
      }
      throw error;
    } finally {
      this.#open.delete(id);
    }
  }
}

/** Waits until `ready` or the receiver has taken the whole; throws when the stream failed. */
async function until(outgoing: Outgoing, ready: () => boolean): Promise<void> {
  while (outgoing.failure === undefined && !outgoing.taken && !ready()) {
    await new Promise<void>((resolve) => {
      outgoing.wake = resolve;
    });
    outgoing.wake = idle;
  }
  if (outgoing.failure) throw outgoing.failure;
}

function fail(outgoing: Outgoing, error: Error): void {
  outgoing.failure ??= error;
  outgoing.wake();
}

function writeStream(link: Link, kind: number, id: number, bytes: Buffer): void {
  link.write((w) => {
    w.begin(channels.stream).u8(kind).varint(id).raw(bytes);
    w.end();
  });
}

interface Incoming {
  readonly id: number;
  readonly chunks: Buffer[];
  /** Chunks that the sender may still send. */
  credit: number;
  count: number;
  checksum: number;
  ended: boolean;
  failure: Error | undefined;
  wake: () => void;
}

export class StreamReceiver {
  readonly #link: Link;
  readonly #from: NodeId;
  readonly #handlers: TransportHandlers;
  readonly #gate: StreamGate;
  readonly #open = new Map<number, Incoming>();

  constructor(link: Link, from: NodeId, handlers: TransportHandlers, gate: StreamGate) {
    this.#link = link;
    this.#from = from;
    this.#handlers = handlers;
    this.#gate = gate;
  }

  onFrame(body: Buffer): void {
    const reader = new BodyReader(body);
    const kind = reader.u8();
    const id = reader.varint();
    if (kind === streamKinds.open) {
      this.#onOpen(id, reader.rest());
      return;
    }
    const incoming = this.#open.get(id);
    switch (kind) {
      case streamKinds.chunk:
        if (incoming) takeChunk(incoming, reader.rest());
        break;
      case streamKinds.end: {
        const [count, checksum] = [reader.varint(), reader.u32()];
        if (incoming) takeEnd(incoming, count, checksum);
        break;
      }
      case streamKinds.abort:
        if (incoming) {
          const why = reader.rest().toString('utf8', 0, TEXT_BYTES_MAX);
          incoming.failure ??= new KvorumError('CANCELLED', `sender: ${why}`);
        }
        break;
      default:
        throw badFrame(`stream frame ${kind} toward the receiver`);
    }
    incoming?.wake();
  }

  close(): void {
    for (const incoming of this.#open.values()) {
      incoming.failure ??= new KvorumError(
        'CONNECTION_LOST',
        `connection of ${this.#from} ended in a snapshot`,
      );
      incoming.wake();
    }
    this.#open.clear();
  }

  #onOpen(id: number, header: Buffer): void {
    if (this.#open.has(id)) throw badFrame(`stream ${id} is already open`);
    if (this.#open.size >= OPEN_MAX) {
      this.#refuse(id, new KvorumError('BUSY', 'too many snapshot streams wait'));
      return;
    }
    const incoming: Incoming = {
      id,
      chunks: [],
      credit: 0,
      count: 0,
      checksum: 0,
      ended: false,
      failure: undefined,
      wake: idle,
    };
    this.#open.set(id, incoming);
    void this.#receive(header, incoming);
  }

  async #receive(header: Buffer, incoming: Incoming): Promise<void> {
    try {
      await this.#gate.receives.acquire();
    } catch (error) {
      this.#open.delete(incoming.id);
      this.#refuse(incoming.id, error);
      return;
    }
    try {
      if (incoming.failure) return;
      this.#credit(incoming, WINDOW_CHUNKS);
      await this.#handlers.onStream(this.#from, header, this.#chunks(incoming));
      if (incoming.failure === undefined) {
        writeStream(this.#link, streamKinds.taken, incoming.id, Buffer.alloc(0));
      }
    } catch (error) {
      this.#refuse(incoming.id, error);
    } finally {
      this.#open.delete(incoming.id);
      this.#gate.receives.release();
    }
  }

  async *#chunks(incoming: Incoming): AsyncGenerator<Buffer, void> {
    for (;;) {
      if (incoming.failure) throw incoming.failure;
      const chunk = incoming.chunks.shift();
      if (chunk !== undefined) {
        yield chunk;
        this.#credit(incoming, 1);
      } else if (incoming.ended) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          incoming.wake = resolve;
        });
        incoming.wake = idle;
      }
    }
  }

  #credit(incoming: Incoming, chunks: number): void {
    const { id } = incoming;
    incoming.credit += chunks;
    this.#link.write((w) => {
      w.begin(channels.stream).u8(streamKinds.credit).varint(id).varint(chunks);
      w.end();
    });
  }

  #refuse(id: number, error: unknown): void {
    this.#link.write((w) => {
      w.begin(channels.stream).u8(streamKinds.refused).varint(id);
      w.text(codeOf(error) ?? 'CANCELLED').text(messageOf(error).substring(0, 1_000));
      w.end();
    });
  }
}

function takeChunk(incoming: Incoming, chunk: Buffer): void {
  if (incoming.ended) throw badFrame(`chunk after the end of stream ${incoming.id}`);
  if (incoming.credit === 0) throw badFrame(`stream ${incoming.id}: more chunks than credit`);
  if (chunk.length > limits.snapshotChunkBytes) throw badFrame(`chunk of ${chunk.length} bytes`);
  incoming.credit--;
  incoming.count++;
  incoming.checksum = crc32(chunk, incoming.checksum);
  incoming.chunks.push(chunk);
}

function takeEnd(incoming: Incoming, count: number, checksum: number): void {
  incoming.ended = true;
  if (count === incoming.count && checksum === incoming.checksum) return;
  incoming.failure ??= new KvorumError(
    'CORRUPT',
    `snapshot stream ${incoming.id}: ${incoming.count} of ${count} chunks, or a wrong checksum`,
  );
}
