/** One connection of a load: requests in order, an answer each, pipelined as far as they are given. */
import { connect, type Socket } from 'node:net';
import Parser from 'redis-parser';

export class RespClient {
  readonly #socket: Socket;
  /** Told in the order of the requests. */
  #waiting: ((failure: Error | undefined, reply: unknown) => void)[] = [];
  #head = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const parser = new Parser({
      returnReply: (reply: unknown) => this.#answer(undefined, reply),
      returnError: (error: Error) => this.#answer(error, undefined),
      returnFatalError: (error: Error) => socket.destroy(error),
    });
    socket.on('data', (chunk) => parser.execute(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server has closed the connection')));
  }

  static open(host: string, port: number): Promise<RespClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RespClient(socket));
      });
    });
  }

  /** `bytes` is one request in RESP. */
  send(bytes: string, done: (failure: Error | undefined, reply: unknown) => void): void {
    if (this.#socket.destroyed) return done(new Error('the connection is closed'), undefined);
    this.#waiting.push(done);
    this.#socket.write(bytes, 'latin1');
  }

  ask(...words: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.send(request(...words), (failure, reply) =>
        failure ? reject(failure) : resolve(reply),
      );
    });
  }

  /** Whoever waits for an answer is told that there will be none. */
  close(): void {
    this.#socket.destroy();
    this.#fail(new Error('the connection was closed'));
  }

  #answer(failure: Error | undefined, reply: unknown): void {
    const done = this.#waiting[this.#head++];
    if (this.#head > 1_024 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    done?.(failure, reply);
  }

  #fail(error: Error): void {
    const waiting = this.#waiting.slice(this.#head);
    this.#waiting = [];
    this.#head = 0;
    for (const done of waiting) done(error, undefined);
  }
}

export function request(...words: readonly string[]): string {
  const bulks = words.map((word) => `$${word.length}\r\n${word}\r\n`);
  return `*${words.length}\r\n${bulks.join('')}`;
}
