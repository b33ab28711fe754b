/** A network of one node whose other ends are held by the test: what it feeds is what arrives. */
import type { Address, ByteStream, Network, StreamHandlers } from '../../src/common/network.ts';
import { FrameDecoder } from '../../src/datanode/transport/frame.ts';
import { decodeGreeting } from '../../src/datanode/transport/handshake.ts';
import type { Frame } from './wire-messages.ts';

/** The node's end of a connection, and what the test sees of it. */
export class Wire implements ByteStream {
  readonly remote = 'test:1';
  readonly local = 'test:2';
  readonly bufferedBytes = 0;
  readonly frames: Frame[] = [];
  /** The node has ended or destroyed it. */
  closed = false;
  readonly #decoder = new FrameDecoder();
  #handlers: StreamHandlers | undefined;
  #told = false;

  /** As from the other side; nothing arrives once the node has closed. */
  feed(...chunks: readonly Buffer[]): void {
    for (const chunk of chunks) if (!this.#told) this.#handlers?.onData(chunk);
  }

  /** The other side has gone. */
  hangUp(): void {
    if (this.#told) return;
    this.#told = true;
    this.closed = true;
    this.#handlers?.onClose();
  }

  /** The last refusal that the node sent; undefined: none. */
  refusal(): string | undefined {
    for (const { channel, body } of this.frames.toReversed()) {
      try {
        const greeting = decodeGreeting(channel, body);
        if (greeting.kind === 'refusal') return greeting.text;
      } catch {
        // another frame than a greeting
      }
    }
    return undefined;
  }

  attach(handlers: StreamHandlers): void {
    this.#handlers = handlers;
  }

  write(bytes: Uint8Array): boolean {
    this.#decoder.push(Buffer.from(bytes), (channel, body) => this.frames.push({ channel, body }));
    return true;
  }

  pause(): void {}

  resume(): void {}

  end(): void {
    this.closed = true;
  }

  destroy(error?: Error): void {
    this.closed = true;
    if (this.#told) return;
    this.#told = true;
    setImmediate(() => this.#handlers?.onClose(error));
  }
}

export class WireNetwork implements Network {
  #accept: ((stream: ByteStream) => void) | undefined;
  /** Connections that the node has dialed and nobody has asked for yet. */
  readonly dialed: Wire[] = [];
  readonly #waiting: ((wire: Wire) => void)[] = [];

  listen(_address: Address, onStream: (stream: ByteStream) => void) {
    this.#accept = onStream;
    return Promise.resolve({ port: 1, close: () => Promise.resolve() });
  }

  connect(): Promise<ByteStream> {
    const wire = new Wire();
    // After the node has attached itself; somebody may have begun to wait by then.
    setImmediate(() => {
      const next = this.#waiting.shift();
      if (next) next(wire);
      else this.dialed.push(wire);
    });
    return Promise.resolve(wire);
  }

  /** A connection to the node. */
  dial(): Wire {
    const wire = new Wire();
    if (this.#accept === undefined) throw new Error('the node does not listen');
    this.#accept(wire);
    return wire;
  }

  /** The next connection that the node dials. */
  nextDialed(): Promise<Wire> {
    const wire = this.dialed.shift();
    return wire ? Promise.resolve(wire) : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Lets turns of the event loop pass. */
export async function turns(count = 2): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
