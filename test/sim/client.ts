/** A RESP client over the simulated network: one command at a time, with a deadline. */
import type { Clock } from '../../src/common/clock.ts';
import type { ByteStream, Network } from '../../src/common/network.ts';
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import type { Word } from './commands/draw.ts';
import { encodeRequest, replyEnd } from './resp.ts';

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
    if (replyEnd(this.#received, 0) === -1) return;
    const reply = decodeReply(this.#received);
    this.#received = Buffer.alloc(0);
    this.#answer?.(reply);
  }
}
