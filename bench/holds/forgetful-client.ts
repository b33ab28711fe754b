/** A client of commands with replies of many megabytes, in the process that is timed. */
import { connect, type Socket } from 'node:net';

/** A command's name and arguments. */
export type Line = readonly (string | Buffer)[];

/** Reads replies and forgets them: only where the last one ends is looked for. */
export class ForgetfulClient {
  readonly #socket: Socket;
  #tail = '';
  #ended: (() => void) | undefined;
  #failed: ((error: Error) => void) | undefined;
  /** Beginning of what came since the last command was sent. */
  head = '';

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#failed?.(new Error('the node has ended the connection')));
    this.#socket.on('data', (chunk: Buffer) => {
      if (this.head.length < 200) this.head += chunk.toString('latin1', 0, 200);
      this.#tail = (this.#tail + chunk.toString('latin1', Math.max(0, chunk.length - 20))).slice(
        -20,
      );
      if (this.#tail.endsWith('$7\r\nthe end\r\n')) this.#ended?.();
    });
  }

  call(...lines: readonly Line[]): Promise<void> {
    return this.send(encode(lines));
  }

  /**
   * Ends with the reply to the last of `requests`, as `encode` made them; rejects when the first is
   * answered with an error, which would pass as very fast, and when the connection ends, as it does
   * when a write is not carried out within two minutes.
   */
  async send(requests: Buffer): Promise<void> {
    await this.#exchange(requests);
    if (!this.head.startsWith('-')) return;
    const asked = requests.toString('latin1', 0, 100).replace(/[$*]\d+\r\n/g, '');
    const name = asked.split('\r\n').slice(0, 2).join(' ');
    throw new Error(`${name} … is answered with an error: ${this.head.split('\r\n')[0]}`);
  }

  #exchange(requests: Buffer): Promise<void> {
    this.head = '';
    this.#tail = '';
    if (this.#socket.destroyed) return Promise.reject(new Error('the connection has ended'));
    const done = new Promise<void>((resolve, reject) => {
      this.#ended = resolve;
      this.#failed = reject;
    });
    this.#socket.write(requests);
    return done;
  }

  end(): void {
    this.#socket.destroy();
  }
}

export function encode(lines: readonly Line[]): Buffer {
  const parts: Buffer[] = [];
  for (const line of [...lines, ['ECHO', 'the end']]) {
    parts.push(Buffer.from(`*${line.length}\r\n`));
    for (const word of line) {
      parts.push(Buffer.from(`$${Buffer.byteLength(word)}\r\n`), Buffer.from(word));
      parts.push(Buffer.from('\r\n'));
    }
  }
  return Buffer.concat(parts);
}
