/** A plain connection that tells what certainly had no effect from what may have had one. */
import { connect, type Socket } from 'node:net';
import { readReply } from '../src/cli/demo/plain-connection.ts';
import type { Reply } from '../test/linearizability/keyspace.ts';
import type { Place } from '../test/linearizability/places.ts';

const CONNECT_MS = 1_500;
/** Longer than a datanode holds what has no leader, and than it asks for an outcome. */
const ANSWER_MS = 12_000;

/** `isSent` false: no byte of it has left. */
export class Lost extends Error {
  readonly isSent: boolean;

  constructor(message: string, isSent: boolean) {
    super(message);
    this.isSent = isSent;
  }
}

export interface Placed {
  readonly reply: Reply | Error;
  readonly place: Place | undefined;
}

const TAKE = ['DEBUG', 'WITNESS', 'TAKE'];

/** Of what DEBUG WITNESS TAKE answers; undefined for none, and for several. */
function placeOf(reply: Reply | Error): Place | undefined {
  if (!Array.isArray(reply) || reply.length !== 1) return undefined;
  const flat = reply[0] as readonly (string | number)[];
  const field = (name: string) => Number(flat[flat.indexOf(name) + 1]);
  const [group, term, index] = [field('group'), field('term'), field('index')];
  return { group, term, index, upTo: field('up-to'), at: field('at') };
}

interface Waiter {
  resolve(reply: Reply | Error): void;
  reject(failure: Error): void;
}

export class RespConnection {
  readonly address: string;
  readonly #socket: Socket;
  readonly #open: Promise<void>;
  readonly #waiters: Waiter[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #isOpen = false;
  isClosed = false;

  /** `address`: host:port. */
  constructor(address: string) {
    this.address = address;
    const [, host, port] = /^(.*):(\d+)$/.exec(address) ?? [];
    this.#socket = connect({ host: host ?? '', port: Number(port), noDelay: true });
    this.#open = new Promise((resolve, reject) => {
      const late = setTimeout(() => this.#end(`${address}: no connection`), CONNECT_MS);
      this.#socket.once('connect', () => {
        clearTimeout(late);
        this.#isOpen = true;
        // before all else: within a transaction it would be queued
        this.ask(['DEBUG', 'WITNESS', 'ON']).catch(() => {});
        resolve();
      });
      this.#socket.once('close', () => {
        clearTimeout(late);
        reject(new Lost(`${address}: not reached`, false));
      });
    });
    this.#open.catch(() => {});
    this.#socket.on('data', (chunk) => this.#hear(chunk));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#end(`${address} closed the connection`));
  }

  /** Resolves with the reply, error replies included. Rejects with `Lost`. */
  async ask(words: readonly string[], answerMs = ANSWER_MS): Promise<Reply | Error> {
    if (!this.#isOpen) await this.#open;
    if (this.isClosed) throw new Lost(`${this.address} is closed`, false);
    const late = setTimeout(() => this.#end(`${this.address}: no answer in time`), answerMs);
    try {
      return await new Promise<Reply | Error>((resolve, reject) => {
        this.#waiters.push({ resolve, reject });
        const lines = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
        this.#socket.write(`*${words.length}\r\n${lines.join('')}`);
      });
    } finally {
      clearTimeout(late);
    }
  }

  /** The same, and where in the log the command stood, should the node know that. */
  async askPlaced(words: readonly string[]): Promise<Placed> {
    const answered = this.ask(words);
    const place = this.ask(TAKE)
      .then(placeOf)
      .catch(() => undefined);
    return { reply: await answered, place: await place };
  }

  close(): void {
    this.#end('closed');
  }

  #hear(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const read = readReply(this.#bytes, 0);
      if (read === undefined) return;
      this.#bytes = this.#bytes.subarray(read.end);
      this.#waiters.shift()?.resolve(read.reply);
    }
  }

  #end(why: string): void {
    this.isClosed = true;
    this.#socket.destroy();
    for (const { reject } of this.#waiters.splice(0)) reject(new Lost(why, true));
  }
}
