/** A ByteStream over a socket of node:net or node:tls that stands already. */
import type { Socket } from 'node:net';
import { limits } from '../limits.ts';
import type { ByteStream, StreamHandlers } from '../network.ts';

export class SocketStream implements ByteStream {
  readonly remote: string;
  readonly local: string;
  readonly #socket: Socket;
  #error: Error | undefined;
  #destroyed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.remote = remoteOf(socket);
    this.local = `${socket.localAddress}:${socket.localPort}`;
    socket.on('error', (error) => {
      this.#error ??= error;
    });
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  attach(handlers: StreamHandlers): void {
    const socket = this.#socket;
    socket.on('data', (chunk: Buffer) => {
      if (!this.#destroyed) handlers.onData(chunk);
    });
    if (handlers.onDrain) socket.on('drain', () => handlers.onDrain?.());
    socket.once('end', () => {
      if (handlers.onEnd === undefined) socket.end();
      else if (!this.#destroyed) handlers.onEnd();
    });
    socket.once('close', () => handlers.onClose(this.#error));
  }

  write(bytes: Uint8Array): boolean {
    return this.#socket.writable ? this.#socket.write(bytes) : true;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    endGently(this.#socket);
  }

  destroy(error?: Error): void {
    this.#destroyed = true;
    this.#error ??= error;
    this.#socket.destroy();
  }
}

export function remoteOf(socket: Socket): string {
  return `${socket.remoteAddress}:${socket.remotePort}`;
}

/**
 * Sends what is queued, then closes. What comes is read for a while, or what was sent is lost with the
 * reset that unread bytes cause; a peer that goes on sending does not keep the socket.
 */
export function endGently(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), limits.closeLingerMs);
  socket.once('close', () => clearTimeout(timer));
}
