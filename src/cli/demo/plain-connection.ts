/**
 * A connection as any Redis client has it, one command at a time, with nothing of the SDK in it:
 * what it reads, anybody would.
 */
import { connect, type Socket } from 'node:net';
import { KvorumError } from '../../common/errors.ts';

/** A reply of RESP2; an error is a rejection. */
export type PlainReply = string | number | null | readonly PlainReply[];

const TIMEOUT_MS = 15_000;

export class PlainConnection {
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #heard: (() => void) | undefined;
  #failure: Error | undefined;

  /** `address`: host:port. What cannot be reached shows in the first `ask`. */
  constructor(address: string) {
    const [, host, port] = /^(.*):(\d+)$/.exec(address) ?? [];
    this.#socket = connect({ host: host ?? '', port: Number(port) });
    this.#socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#heard?.();
    });
    const end = (failure?: Error) => {
      this.#failure ??=
        failure ?? new KvorumError('CONNECTION_LOST', `${address} closed the connection`);
      this.#heard?.();
    };
    this.#socket.on('error', end);
    this.#socket.on('close', () => end());
  }

  /** Sends a command and resolves with its reply; rejects with an error reply, or after 15 s. */
  async ask(...line: readonly string[]): Promise<PlainReply> {
    const words = line.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.#socket.write(`*${line.length}\r\n${words.join('')}`);
    const late = setTimeout(() => {
      this.#socket.destroy(new KvorumError('DEADLINE', `no answer to ${line[0]}`));
    }, TIMEOUT_MS);
    try {
      for (;;) {
        const read = readReply(this.#bytes, 0);
        if (read !== undefined) {
          this.#bytes = this.#bytes.subarray(read.end);
          if (read.reply instanceof Error) throw read.reply;
          return read.reply;
        }
        if (this.#failure !== undefined) throw this.#failure;
        await new Promise<void>((resolve) => {
          this.#heard = resolve;
        });
      }
    } finally {
      clearTimeout(late);
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

interface Read {
  readonly reply: PlainReply | Error;
  readonly end: number;
}

/** The reply that begins at `at`; undefined while it is not there as a whole. Throws for others. */
export function readReply(bytes: Buffer, at: number): Read | undefined {
  const lineEnd = bytes.indexOf('\r\n', at);
  if (lineEnd < 0) return undefined;
  const line = bytes.toString('utf8', at + 1, lineEnd);
  const end = lineEnd + 2;
  switch (bytes.toString('latin1', at, at + 1)) {
    case '+':
      return { reply: line, end };
    case '-':
      return { reply: new Error(line), end };
    case ':':
      return { reply: Number(line), end };
    case '$':
      return readText(bytes, Number(line), end);
    case '*':
      return readItems(bytes, Number(line), end);
    default:
      throw new KvorumError('BAD_FRAME', `no reply begins with ${JSON.stringify(line)}`);
  }
}

function readText(bytes: Buffer, length: number, at: number): Read | undefined {
  if (length < 0) return { reply: null, end: at };
  const end = at + length + 2;
  return bytes.length < end ? undefined : { reply: bytes.toString('utf8', at, end - 2), end };
}

function readItems(bytes: Buffer, count: number, at: number): Read | undefined {
  if (count < 0) return { reply: null, end: at };
  const items: PlainReply[] = [];
  let end = at;
  while (items.length < count) {
    const read = readReply(bytes, end);
    if (read === undefined || read.reply instanceof Error) return read;
    items.push(read.reply);
    end = read.end;
  }
  return { reply: items, end };
}
