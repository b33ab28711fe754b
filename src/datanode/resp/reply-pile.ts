/**
 * A reply of many items, put together while they come in: beyond a few they are kept as the bytes
 * that will be sent, so that a million of them cost neither a million objects nor one long moment
 * at the end. What outgrows the bound of a reply is refused while it grows.
 */
import { limits } from '../../common/limits.ts';
import { ReplyWriter } from './encode-reply.ts';
import type { PackedShape, Protocol, Reply } from './reply.ts';
import { FRAME_BYTES, replyBytes } from './reply-bytes.ts';

/** Units up to here stay data. */
const PLAIN_UNITS = 512;
/** Then so many of them become bytes with each that comes: all at once would be milliseconds. */
const PACKED_AT_ONCE = 3;
const CHUNK_BYTES = 65_536;

/** Thrown by `ReplyPile.add`: the command answers `reply`, and must have changed nothing yet. */
export class ReplyTooLargeError extends Error {
  override readonly name = 'ReplyTooLargeError';

  get reply(): Reply {
    return { kind: 'error', text: this.message };
  }
}

/** `instead`: what to use to get the same in parts. */
export function replyTooLarge(
  instead: string,
  bytesMax: number = limits.replyBytesMax,
): ReplyTooLargeError {
  return new ReplyTooLargeError(
    `ERR the reply would be larger than reply-bytes-max (${bytesMax} bytes); use ${instead}`,
  );
}

/**
 * What a reply will hold at least, counted while it is gathered: what cannot fit is refused then, and
 * not after all of it was kept. Refuses only what a ReplyPile of the same would refuse.
 */
export class ReplyRoom {
  readonly #instead: string;
  #bytes = 0;

  constructor(instead: string) {
    this.#instead = instead;
  }

  /** One item of so many bytes. Throws ReplyTooLargeError. */
  note(bytes: number): void {
    this.#bytes += bytes + FRAME_BYTES;
    if (this.#bytes > limits.replyBytesMax) throw replyTooLarge(this.#instead);
  }

  /** Whether no reply has so many items, however small. */
  static isShortFor(items: number): boolean {
    return items * FRAME_BYTES > limits.replyBytesMax;
  }
}

export class ReplyPile {
  readonly #shape: PackedShape;
  readonly #instead: string;
  /** Those that are not packed, from `#packed` on. */
  #plain: Reply[] = [];
  #packed = 0;
  #units = 0;
  #bytes = 0;
  /** Once packed: for both protocols, or for RESP2 and RESP3 where they differ. */
  #resp2: Chunks | undefined;
  #resp3: Chunks | undefined;

  constructor(shape: PackedShape, instead: string) {
    this.#shape = shape;
    this.#instead = instead;
  }

  /** One item; a map and pairs take two at a time. Throws ReplyTooLargeError. */
  add(first: Reply, second?: Reply): void {
    this.#bytes += replyBytes(first) + (second === undefined ? 0 : replyBytes(second));
    if (this.#bytes > limits.replyBytesMax) throw replyTooLarge(this.#instead);
    this.#plain.push(first);
    if (second !== undefined) this.#plain.push(second);
    if (++this.#units > PLAIN_UNITS) this.#pack(PACKED_AT_ONCE);
  }

  reply(): Reply {
    if (this.#units <= PLAIN_UNITS) return plainReply(this.#shape, this.#plain);
    const resp2 = this.#pack(this.#units).finish();
    const resp3 = this.#resp3?.finish() ?? resp2;
    return { kind: 'packed', shape: this.#shape, units: this.#units, resp2, resp3 };
  }

  /** The next `units`, as far as there are so many. */
  #pack(units: number): Chunks {
    this.#resp2 ??= new Chunks();
    if (this.#shape === 'pairs') this.#resp3 ??= new Chunks();
    const step = hasPairs(this.#shape) ? 2 : 1;
    const end = Math.min(this.#plain.length, this.#packed + units * step);
    for (; this.#packed < end; this.#packed += step) {
      const second = step === 2 ? this.#plain[this.#packed + 1] : undefined;
      this.#append(this.#resp2, this.#plain[this.#packed]!, second);
    }
    if (end === this.#plain.length) {
      this.#plain.length = 0;
      this.#packed = 0;
    }
    return this.#resp2;
  }

  #append(resp2: Chunks, first: Reply, second: Reply | undefined): void {
    if (this.#resp3 === undefined && (differs(first) || (second && differs(second)))) {
      this.#resp3 = resp2.fork();
    }
    resp2.append(first, second, 2);
    if (this.#resp3 === undefined) return;
    if (this.#shape === 'pairs') this.#resp3.beginPair();
    this.#resp3.append(first, second, 3);
  }
}

function hasPairs(shape: PackedShape): boolean {
  return shape === 'map' || shape === 'pairs';
}

/** It is not the same bytes in RESP2 and RESP3. */
function differs(reply: Reply): boolean {
  if (reply.kind === 'array') return reply.items.some(differs);
  return reply.kind !== 'bulk' && reply.kind !== 'integer';
}

function plainReply(shape: PackedShape, items: readonly Reply[]): Reply {
  if (shape === 'array' || shape === 'set') return { kind: shape, items };
  const pairs: [Reply, Reply][] = [];
  for (let at = 0; at < items.length; at += 2) pairs.push([items[at]!, items[at + 1]!]);
  return { kind: shape, pairs };
}

/** Encoded items, in pieces. */
class Chunks {
  #done: Buffer[] = [];
  readonly #writer = new ReplyWriter(CHUNK_BYTES);

  append(first: Reply, second: Reply | undefined, protocol: Protocol): void {
    this.#writer.append(first, protocol);
    if (second !== undefined) this.#writer.append(second, protocol);
    if (this.#writer.length >= CHUNK_BYTES) this.#done.push(this.#writer.take());
  }

  beginPair(): void {
    this.#writer.beginArray(2);
  }

  /** Another one with what is in here so far. */
  fork(): Chunks {
    const fork = new Chunks();
    fork.#done = [...this.finish()];
    return fork;
  }

  finish(): readonly Buffer[] {
    if (this.#writer.length > 0) this.#done.push(this.#writer.take());
    return this.#done;
  }
}
