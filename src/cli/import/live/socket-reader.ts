/** A connection to a Redis whose replies are read one after the other, with back-pressure. */
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { nodeTls, type TlsOptions } from '../../../sdk/tls-options.ts';

const CONNECT_MS = 10_000;
/** A source that says nothing at all for so long has gone: it pings its replicas every ten seconds. */
const SILENT_MS = 60_000;
const LF = 0x0a;

export class SocketReader {
  readonly #socket: Socket;
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** `tls` undefined: plain. */
  static open(host: string, port: number, tls?: TlsOptions): Promise<SocketReader> {
    return new Promise((resolve, reject) => {
      const to = { host, port };
      const socket = tls ? connectSecurely({ ...to, ...nodeTls(tls) }) : connect(to);
      socket.setNoDelay(true);
      socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('it says nothing')));
      socket.once('error', reject);
      socket.once(tls ? 'secureConnect' : 'connect', () => {
        socket.setTimeout(SILENT_MS);
        resolve(new SocketReader(socket));
      });
    });
  }

  /** As an array of strings. */
  send(...words: readonly (string | Buffer)[]): void {
    const parts = words.flatMap((word) => {
      const bytes = Buffer.from(word as string);
      return [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')];
    });
    this.#socket.write(Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts]));
  }

  /** What came, at least one byte. Rejects when the connection ends. */
  async some(): Promise<Buffer> {
    if (this.#rest.length > 0) {
      const bytes = this.#rest;
      this.#rest = Buffer.alloc(0);
      return bytes;
    }
    const { done, value } = await this.#chunks.next();
    if (done) throw new Error('the source has closed the connection');
    return value as Buffer;
  }

  /** Is read next. */
  giveBack(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([bytes, this.#rest]);
  }

  /** A line that is not empty, without its end. */
  async line(): Promise<string> {
    let bytes: Buffer = Buffer.alloc(0);
    for (;;) {
      const end = bytes.indexOf(LF);
      if (end < 0) {
        if (bytes.length > 65_536) throw new Error('the source answers no line');
        bytes = Buffer.concat([bytes, await this.some()]);
        continue;
      }
      const line = bytes.toString('latin1', 0, end).trimEnd();
      bytes = bytes.subarray(end + 1);
      if (line === '') continue;
      this.giveBack(bytes);
      return line;
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}
