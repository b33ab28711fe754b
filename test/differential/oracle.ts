/** A connection, to a stock redis-server or to us, that hands out each reply as the bytes it came in. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Protocol } from '../../src/datanode/resp/reply.ts';

const CRLF = Buffer.from('\r\n');

export class Oracle {
  readonly #socket: Socket;
  readonly #waiting: ((reply: Buffer) => void)[] = [];
  #bytes: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  /** `to`: a socket's path or a port of 127.0.0.1. */
  static async connect(to: string | number, protocol: Protocol): Promise<Oracle> {
    const socket = typeof to === 'string' ? connect(to) : connect(to, '127.0.0.1');
    await once(socket, 'connect');
    const oracle = new Oracle(socket);
    await oracle.call(['HELLO', String(protocol)].map((text) => Buffer.from(text)));
    return oracle;
  }

  call(words: readonly Buffer[]): Promise<Buffer> {
    const parts = words.flatMap((word) => [Buffer.from(`$${word.length}\r\n`), word, CRLF]);
    this.#socket.write(Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts]));
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** In one write. */
  callAll(lines: readonly (readonly Buffer[])[]): Promise<readonly Buffer[]> {
    this.#socket.cork();
    const replies = lines.map((words) => this.call(words));
    this.#socket.uncork();
    return Promise.all(replies);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const end = replyEnd(this.#bytes, 0);
      if (end === undefined) return;
      this.#waiting.shift()!(this.#bytes.subarray(0, end));
      this.#bytes = this.#bytes.subarray(end);
    }
  }
}

const WITH_BYTES = '$!=';
const AGGREGATES: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2, '|': 2 };

/** Where the reply that begins at `at` ends; undefined while it is incomplete. */
export function replyEnd(bytes: Buffer, at: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', at);
  if (lineEnd < 0) return undefined;
  const kind = String.fromCharCode(bytes[at]!);
  const count = Number(bytes.toString('latin1', at + 1, lineEnd));
  let end = lineEnd + 2;
  if (WITH_BYTES.includes(kind)) {
    if (count >= 0) end += count + 2;
    return end <= bytes.length ? end : undefined;
  }
  for (let left = Math.max(0, count) * (AGGREGATES[kind] ?? 0); left > 0; left--) {
    const next = replyEnd(bytes, end);
    if (next === undefined) return undefined;
    end = next;
  }
  return end;
}
