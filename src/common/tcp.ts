/** Network over node:net. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { limits } from './limits.ts';
import type { Address, ByteStream, Listener, Network, StreamHandlers } from './network.ts';
import { endGently } from './socket-end.ts';
import { ChunkReader, TELLING_BYTES } from './tcp-read.ts';

export const tcpNetwork: Network = { listen, connect: connectTcp };

function listen(address: Address, onStream: (stream: ByteStream) => void): Promise<Listener> {
  return listenForSockets(address, (socket, reader) => onStream(new TcpStream(socket, reader)));
}

/** `onSocket` is given each connection with the reader of its bytes, in the turn that it came in. */
export function listenForSockets(
  address: Address,
  onSocket: (socket: Socket, reader: ChunkReader) => void,
): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const sockets = new Set<Socket>();
    const mark = { highWaterMark: TELLING_BYTES };
    const asks = { keepAlive: true, keepAliveInitialDelay: limits.tcpKeepAliveMs };
    const options = { ...mark, ...asks, noDelay: true, pauseOnConnect: true, allowHalfOpen: true };
    const server = createServer(options, (accepted) => {
      const reader = new ChunkReader();
      const socket = reader.adopt(accepted);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      onSocket(socket, reader);
    });
    server.once('error', reject);
    server.listen({ host: address.host, port: address.port, backlog: 1024 }, () => {
      server.off('error', reject);
      server.on('error', () => {}); // an accept failure (EMFILE) ends that connection only
      resolve({ port: portOf(server), close: () => closeServer(server, sockets) });
    });
  });
}

function portOf(server: Server): number {
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}

function closeServer(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
  });
}

function connectTcp(address: Address, timeoutMs: number): Promise<ByteStream> {
  return new Promise((resolve, reject) => {
    const reader = new ChunkReader();
    const { host, port } = address;
    const options = { noDelay: true, onread: reader.onread, highWaterMark: TELLING_BYTES };
    const socket = connect({ host, port, ...options });
    const where = `${host}:${port}`;
    const timer = setTimeout(() => {
      socket.destroy(new Error(`connect to ${where}: no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    const onFailure = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    socket.once('error', onFailure);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', onFailure);
      resolve(new TcpStream(socket, reader));
    });
  });
}

/** A socket as a stream. */
export class TcpStream implements ByteStream {
  readonly remote: string;
  readonly local: string;
  readonly #socket: Socket;
  readonly #reader: ChunkReader;
  #error: Error | undefined;
  #destroyed = false;

  constructor(socket: Socket, reader: ChunkReader) {
    this.#socket = socket;
    this.#reader = reader;
    this.remote = `${socket.remoteAddress}:${socket.remotePort}`;
    this.local = `${socket.localAddress}:${socket.localPort}`;
    socket.on('error', (error) => {
      this.#error = error;
    });
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  attach(handlers: StreamHandlers): void {
    this.#reader.onChunk = (chunk) => {
      if (!this.#destroyed) handlers.onData(chunk);
    };
    if (handlers.onDrain) this.#socket.on('drain', () => handlers.onDrain?.());
    this.#socket.once('end', () => {
      if (handlers.onEnd === undefined) this.#socket.end();
      else if (!this.#destroyed) handlers.onEnd();
    });
    this.#socket.once('close', () => handlers.onClose(this.#error));
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
