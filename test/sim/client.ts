/** A RESP client over the simulated network: one command at a time, with a deadline. */
import type { Clock } from '../../src/common/clock.ts';
import type { ByteStream, Network } from '../../src/common/network.ts';
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';

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
    words: readonly string[],
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
      const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
      stream.write(Buffer.from(`*${words.length}\r\n${parts.join('')}`));
    });
  }

  /** As `call`, but on the connection there is: undefined when it broke. */
  async callOn(words: readonly string[], timeoutMs: number): Promise<Reply | undefined> {
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

/** The replies asked for here are single lines, bulk strings, and arrays of single lines. */
function isWhole(bytes: Buffer): boolean {
  const line = bytes.indexOf('\r\n');
  if (line === -1) return false;
  const count = Number(bytes.toString('latin1', 1, line));
  if (bytes[0] === STAR)
    return bytes.toString('latin1').split('\r\n').length > Math.max(0, count) + 1;
  if (bytes[0] !== DOLLAR) return true;
  return count < 0 || bytes.length >= line + 2 + count + 2;
}
