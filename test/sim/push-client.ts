/** A RESP client that sends lines without waiting for each other's replies, and hears pushes between them. */
import type { Clock } from '../../src/common/clock.ts';
import type { ByteStream, Network } from '../../src/common/network.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { encodeRequest, ReplyReader } from './resp.ts';

const CONNECT_MS = 1_000;

export interface PushHandlers {
  /** In RESP2, a message to who has subscribed. */
  onPush(items: readonly Reply[]): void;
  /** It broke, or was closed. */
  onEnd(): void;
}

type Take = (reply: Reply | undefined) => void;

export class PushClient {
  readonly #stream: ByteStream;
  readonly #clock: Clock;
  readonly #handlers: PushHandlers;
  readonly #reader = new ReplyReader();
  #waiting: Take[] = [];
  isOpen = true;

  private constructor(stream: ByteStream, clock: Clock, handlers: PushHandlers) {
    this.#stream = stream;
    this.#clock = clock;
    this.#handlers = handlers;
    stream.attach({ onData: (chunk) => this.#onData(chunk), onClose: () => this.#onClose() });
  }

  static async open(
    network: Network,
    clock: Clock,
    to: { readonly host: string; readonly port: number },
    handlers: PushHandlers,
  ): Promise<PushClient | undefined> {
    try {
      return new PushClient(await network.connect(to, CONNECT_MS), clock, handlers);
    } catch {
      return undefined;
    }
  }

  /**
   * In one write. Each reply is given to `take` in the order of the bytes: what is pushed behind it has not
   * been heard yet. Resolves with them; undefined: the connection broke, as it does when time is over.
   */
  send(
    lines: readonly (readonly string[])[],
    withinMs: number,
    take: (reply: Reply, at: number) => void = () => {},
  ): Promise<readonly (Reply | undefined)[]> {
    const timer = this.#clock.setTimer(withinMs, () => this.close());
    const replies = lines.map(
      (_, at) =>
        new Promise<Reply | undefined>((resolve) => {
          this.#waiting.push((reply) => {
            if (reply !== undefined) take(reply, at);
            resolve(reply);
          });
        }),
    );
    if (this.isOpen) this.#stream.write(Buffer.concat(lines.map((line) => encodeRequest(line))));
    else this.#onClose();
    return Promise.all(replies).finally(() => timer.cancel());
  }

  close(): void {
    this.#stream.destroy();
  }

  #onData(chunk: Buffer): void {
    for (const reply of this.#reader.take(chunk)) {
      if (reply.kind === 'push') this.#handlers.onPush(reply.items);
      else if (this.#waiting.length > 0) this.#waiting.shift()!(reply);
      else if (reply.kind === 'array') this.#handlers.onPush(reply.items);
    }
  }

  #onClose(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (this.isOpen) this.#handlers.onEnd();
    this.isOpen = false;
    for (const take of waiting) take(undefined);
  }
}
