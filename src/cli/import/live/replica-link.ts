/** A link to a Redis as one of its replicas has it: greeting, picture, and the stream that follows. */
import { KvorumError } from '../../../common/errors.ts';
import type { TlsOptions } from '../../../sdk/tls-options.ts';
import type { RedisAddress } from '../target.ts';
import { SocketReader } from './socket-reader.ts';

/** Where in which history a replica is. */
export interface Place {
  readonly history: string;
  readonly offset: number;
}

export type Synced =
  /** A picture follows, and then the stream from `place` on. */
  | { readonly kind: 'full'; readonly place: Place }
  /** The stream goes on where the link broke. */
  | { readonly kind: 'continued'; readonly history: string };

const MARK_BYTES = 40;

/** A Redis, and how TLS is spoken with it; undefined: not at all. */
export type Source = RedisAddress & { readonly how?: TlsOptions | undefined };

export class ReplicaLink {
  readonly #reader: SocketReader;

  private constructor(reader: SocketReader) {
    this.#reader = reader;
  }

  static async open(source: Source): Promise<ReplicaLink> {
    const [address = ''] = source.hosts;
    const colon = address.lastIndexOf(':');
    const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
    const port = Number(address.slice(colon + 1));
    const link = new ReplicaLink(await SocketReader.open(host, port, source.how));
    try {
      await link.#greet(source);
      return link;
    } catch (failure) {
      link.close();
      throw failure;
    }
  }

  /** `from`: where it was; undefined: at the beginning. */
  async sync(from: Place | undefined): Promise<Synced> {
    const place = from === undefined ? ['?', '-1'] : [from.history, String(from.offset + 1)];
    this.#reader.send('PSYNC', ...place);
    const answer = await this.#reader.line();
    const [word, history = '', offset = ''] = answer.split(' ');
    if (word === '+FULLRESYNC') {
      return { kind: 'full', place: { history, offset: Number(offset) } };
    }
    if (word === '+CONTINUE') {
      return { kind: 'continued', history: history || (from?.history ?? '') };
    }
    throw refused('PSYNC', answer);
  }

  /** The picture's bytes to `take`, all of them; how many it has is told first, if that is known. */
  async picture(take: (bytes: Buffer) => Promise<void>): Promise<void> {
    const head = await this.#reader.line();
    const [, length, mark] = /^\$(?:(\d+)|EOF:(.{40}))$/.exec(head) ?? [];
    if (length !== undefined) return this.#counted(Number(length), take);
    if (mark !== undefined) return this.#marked(Buffer.from(mark, 'latin1'), take);
    throw refused('PSYNC', head);
  }

  /** What came of the stream. */
  some(): Promise<Buffer> {
    return this.#reader.some();
  }

  acknowledge(offset: number): void {
    this.#reader.send('REPLCONF', 'ACK', String(offset));
  }

  close(): void {
    this.#reader.close();
  }

  async #greet({ username, password }: RedisAddress): Promise<void> {
    if (password !== undefined) {
      await this.#ask('AUTH', ...(username === undefined ? [] : [username]), password);
    }
    await this.#ask('PING');
    await this.#ask('REPLCONF', 'listening-port', '0');
    await this.#ask('REPLCONF', 'capa', 'eof', 'capa', 'psync2');
  }

  async #ask(...words: readonly string[]): Promise<void> {
    this.#reader.send(...words);
    const answer = await this.#reader.line();
    if (!answer.startsWith('+')) throw refused(words[0]!, answer);
  }

  async #counted(length: number, take: (bytes: Buffer) => Promise<void>): Promise<void> {
    for (let left = length; left > 0; ) {
      const bytes = await this.#reader.some();
      if (bytes.length > left) this.#reader.giveBack(bytes.subarray(left));
      const taken = bytes.subarray(0, left);
      left -= taken.length;
      await take(taken);
    }
  }

  /** Nothing follows the mark before the picture is acknowledged. */
  async #marked(mark: Buffer, take: (bytes: Buffer) => Promise<void>): Promise<void> {
    let tail: Buffer = Buffer.alloc(0);
    for (;;) {
      tail = Buffer.concat([tail, await this.#reader.some()]);
      const end = tail.length - MARK_BYTES;
      if (end < 0) continue;
      await take(tail.subarray(0, end));
      tail = Buffer.from(tail.subarray(end));
      if (tail.equals(mark)) return;
    }
  }
}

function refused(what: string, answer: string): KvorumError {
  return new KvorumError('BAD_ARGUMENT', `the source answers ${what} with ${answer}`);
}
