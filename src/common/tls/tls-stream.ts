/** A byte stream over a TLS connection whose handshake is done. */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import type { ByteStream, SecuredBy, StreamHandlers } from '../network.ts';
import { endGently } from '../socket-end.ts';
import { TELLING_BYTES } from '../tcp-read.ts';

/** What libuv holds of a connection; a Node.js without such handles holds, as far as we know, all. */
interface WithHandle {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

export class TlsStream implements ByteStream {
  readonly remote: string;
  readonly local: string;
  readonly secured: SecuredBy;
  readonly #socket: TLSSocket;
  /** The connection beneath. */
  readonly #carrier: WithHandle | undefined;
  readonly #clock: Pick<Clock, 'setTimer'>;
  #handlers: StreamHandlers | undefined;
  #error: Error | undefined;
  #destroyed = false;
  #tellsDrain = false;
  /** What OpenSSL took at once, while Node.js has not said so yet. */
  #sealedBytes = 0;

  constructor(socket: TLSSocket, carrier: Socket | undefined, clock: Pick<Clock, 'setTimer'>) {
    this.#socket = socket;
    this.#carrier = carrier as WithHandle | undefined;
    this.#clock = clock;
    this.remote = `${socket.remoteAddress}:${socket.remotePort}`;
    this.local = `${socket.localAddress}:${socket.localPort}`;
    this.secured = securedBy(socket);
    socket.on('error', (error) => {
      this.#error = error;
    });
  }

  /**
   * Node.js says only a turn later that a write is done. What OpenSSL has sealed and the system has
   * taken is done before: nobody looks at those bytes any more.
   */
  get bufferedBytes(): number {
    const { writableLength } = this.#socket;
    if (writableLength === 0 || writableLength !== this.#sealedBytes) return writableLength;
    return this.#carrier?._handle?.writeQueueSize === 0 ? 0 : writableLength;
  }

  attach(handlers: StreamHandlers): void {
    const socket = this.#socket;
    this.#handlers = handlers;
    socket.on('data', (chunk: Buffer) => {
      if (!this.#destroyed) handlers.onData(chunk);
    });
    socket.once('end', () => {
      if (handlers.onEnd === undefined) socket.end();
      else if (!this.#destroyed) handlers.onEnd();
    });
    socket.once('close', () => handlers.onClose(this.#error));
  }

  write(bytes: Uint8Array): boolean {
    const socket = this.#socket;
    if (!socket.writable) return true;
    // what comes while a write is under way waits in Node.js's own queue, unsealed; and of what is
    // large not all is handed to the system at once
    if (socket.writableLength === 0 && bytes.length < TELLING_BYTES) {
      this.#sealedBytes = bytes.length;
    }
    socket.write(bytes, this.#onTaken);
    if (this.bufferedBytes < TELLING_BYTES) return true;
    this.#tellsDrain = true;
    return false;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    endGently(this.#socket, this.#clock);
  }

  destroy(error?: Error): void {
    this.#destroyed = true;
    this.#error ??= error;
    this.#socket.destroy();
  }

  readonly #onTaken = (): void => {
    const { writableLength } = this.#socket;
    this.#sealedBytes = 0;
    if (writableLength > 0 || !this.#tellsDrain || this.#destroyed) return;
    this.#tellsDrain = false;
    this.#handlers?.onDrain?.();
  };
}

function securedBy(socket: TLSSocket): SecuredBy {
  const { name, standardName } = socket.getCipher();
  return {
    protocol: socket.getProtocol() ?? 'TLS',
    cipher: standardName ?? name,
    commonName: socket.authorized ? commonNameOf(socket) : undefined,
  };
}

function commonNameOf(socket: TLSSocket): string | undefined {
  // of a name with several, a list, whatever the types say
  const name: string | readonly string[] | undefined = socket.getPeerCertificate().subject?.CN;
  return typeof name === 'string' && name !== '' ? name : undefined;
}
