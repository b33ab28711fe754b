/** A RESP client over the simulated network: one command at a time, with a deadline. */
import type { Clock } from '../../src/common/clock.ts';
import type { ByteStream, Network } from '../../src/common/network.ts';
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import type { Word } from './commands/draw.ts';

const DOLLAR = 0x24;
const STAR = 0x2a;

export class SimClient {
  readonly #network: Network;
  readonly #clock: Clock;
  #stream: ByteStream | undefined;
  #received = Buffer.alloc(0);
  #answer: ((reply: Reply | undefined) => void) | undefined;

  constructor(network: Network, clock: Clock) {
    this.#network = network;
    this.#clock = clock;
  }

  /** The reply, or undefined when the connection broke or nothing came in time. */
  async call(
    to: { host: string; port: number },
    words: readonly Word[],
    timeoutMs = 3_000,
  ): Promise<Reply | undefined> {
    const stream = this.#stream ?? (await this.#connect(to));
    if (stream === undefined) return undefined;
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(timeoutMs, () => stream.destroy());
      this.#answer = (reply) => {
        timer.cancel();
        this.#answer = undefined;
        resolve(reply);
      };
      stream.write(encodeRequest(words));
    });
  }

  /** As `call`, but on the connection there is: undefined when it broke. */
  async callOn(words: readonly Word[], timeoutMs: number): Promise<Reply | undefined> {
    if (this.#stream === undefined) return undefined;
    return this.call({ host: '', port: 0 }, words, timeoutMs);
  }

  disconnect(): void {
    this.#stream?.destroy();
  }

  async #connect(to: { host: string; port: number }): Promise<ByteStream | undefined> {
    try {
      const stream = await this.#network.connect(to, 1_000);
      this.#stream = stream;
      this.#received = Buffer.alloc(0);
      stream.attach({
        onData: (chunk) => this.#onData(chunk),
        onClose: () => {
          if (this.#stream === stream) this.#stream = undefined;
          this.#answer?.(undefined);
        },
      });
      return stream;
    } catch {
      return undefined;
    }
  }

  #onData(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    if (!isWhole(this.#received)) return;
    const reply = decodeReply(this.#received);
    this.#received = Buffer.alloc(0);
    this.#answer?.(reply);
  }
}

function encodeRequest(words: readonly Word[]): Buffer {
  const parts = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = Buffer.from(word as string);
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

function isWhole(bytes: Buffer): boolean {
  return replyEnd(bytes, 0) !== -1;
}

/** Where the RESP2 reply that begins at `at` ends; -1: not all of it is there. */
export function replyEnd(bytes: Buffer, at: number): number {
  const line = bytes.indexOf('\r\n', at);
  if (line === -1) return -1;
  let end = line + 2;
  const kind = bytes[at];
  if (kind !== STAR && kind !== DOLLAR) return end;
  const count = Number(bytes.toString('latin1', at + 1, line));
  if (kind === DOLLAR) end += count < 0 ? 0 : count + 2;
  else for (let left = count; left > 0 && end !== -1; left--) end = replyEnd(bytes, end);
  return end > bytes.length ? -1 : end;
}
