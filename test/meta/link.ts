/** A TCP link to a port of this machine that can be cut: connections break, new ones are refused. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Link {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  #whole = true;
  /** Bytes that may still come from the far end before the connections break. */
  #budget = Number.POSITIVE_INFINITY;
  #onSpent = () => {};

  private constructor(server: Server, port: number, sockets: Set<Socket>) {
    this.#server = server;
    this.port = port;
    this.#sockets = sockets;
  }

  static async open(target: number): Promise<Link> {
    const sockets = new Set<Socket>();
    let link: Link | undefined;
    const server = createServer((near) => {
      if (link === undefined || !link.#whole) {
        near.destroy();
        return;
      }
      const far = connect({ port: target, host: '127.0.0.1' });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.on('error', () => {});
        one.on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
      }
      near.pipe(far);
      far.on('data', (chunk: Buffer) => link!.#carry(chunk, near));
      far.on('end', () => near.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    link = new Link(server, port, sockets);
    return link;
  }

  /** Breaks what is connected; new connections go through. */
  snap(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  async cut(): Promise<void> {
    this.#whole = false;
    this.snap();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  mend(): void {
    this.#whole = true;
  }

  /** Breaks the connections once, after so many more bytes of the far end, be it in the middle of a message. */
  snapAfter(bytes: number, then: () => void): void {
    this.#budget = bytes;
    this.#onSpent = then;
  }

  async close(): Promise<void> {
    await this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #carry(chunk: Buffer, near: Socket): void {
    if (chunk.length <= this.#budget) {
      this.#budget -= chunk.length;
      near.write(chunk);
      return;
    }
    const part = chunk.subarray(0, this.#budget);
    this.#budget = Number.POSITIVE_INFINITY;
    near.write(part, () => {
      this.snap();
      this.#onSpent();
    });
  }
}
