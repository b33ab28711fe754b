/**
 * TLS at an HTTP door. One port takes both kinds where it is optional: the first byte of a connection
 * decides. Certificates of clients are not asked for: who may do what is told by the token.
 */
import { constants } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import { createServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { limits } from '../limits.ts';
import { linger } from '../socket-end.ts';
import { firstByte } from '../tls/first-byte.ts';
import type { PeerCredentials } from '../tls/mutual-network.ts';
import { remoteOf } from '../tls/socket-stream.ts';

export interface HttpTls {
  readonly mode: 'optional' | 'required';
  /** Those of now: another object when they were renewed. */
  credentials(): PeerCredentials;
}

type Serve = (this: Server, socket: Socket) => void;

const VERSIONS = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' } as const;
/** A handshake costs the door more than who asks for it. */
const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
const accepted = new WeakMap<Socket, Socket>();

/** The connection as it was accepted: below TLS, where there is some. */
export function acceptedOf(socket: Socket): Socket {
  return accepted.get(socket) ?? socket;
}

/** Before the door listens. */
export function secureDoor(app: FastifyInstance, tls: HttpTls | undefined): void {
  if (tls === undefined) return;
  const door = new SecureDoor(app.server, tls);
  app.addHook('preClose', async () => door.close());
}

class SecureDoor {
  readonly #server: Server;
  readonly #mode: HttpTls['mode'];
  readonly #credentials: () => PeerCredentials;
  readonly #tls: TlsServer;
  /** Of the HTTP server itself. */
  readonly #serve: Serve;
  /** All that are open, by who they are. */
  readonly #open = new Map<string, Socket>();
  #shown: PeerCredentials;

  constructor(server: Server, { mode, credentials }: HttpTls) {
    this.#server = server;
    this.#mode = mode;
    this.#credentials = credentials;
    this.#shown = credentials();
    this.#tls = createServer({
      ...this.#context(),
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: limits.httpRequestMs,
    });
    this.#tls.on('secureConnection', (socket) => this.#secured(socket));
    this.#tls.on('tlsClientError', (_, socket) => socket.destroy());
    // the first is Node.js's own; those behind it count
    this.#serve = server.listeners('connection')[0] as Serve;
    server.off('connection', this.#serve);
    server.prependListener('connection', (socket) => this.#accept(socket));
  }

  close(): void {
    for (const socket of this.#open.values()) socket.destroy();
  }

  #context() {
    const { certificate: cert, key } = this.#shown;
    return { ...VERSIONS, cert, key, secureOptions };
  }

  #accept(socket: Socket): void {
    const remote = remoteOf(socket);
    this.#open.set(remote, socket);
    socket.once('close', () => this.#open.delete(remote));
    socket.on('error', () => {});
    firstByte(socket, limits.httpRequestMs, (speech) => {
      if (speech === 'tls') this.#shakeHands(socket);
      else if (this.#mode === 'optional') this.#serve.call(this.#server, socket);
      else refusePlain(socket);
    });
  }

  #shakeHands(socket: Socket): void {
    const now = this.#credentials();
    if (now !== this.#shown) {
      this.#shown = now;
      this.#tls.setSecureContext(this.#context());
    }
    this.#tls.emit('connection', socket);
  }

  #secured(socket: TLSSocket): void {
    const below = this.#open.get(remoteOf(socket));
    if (below !== undefined) accepted.set(socket, below);
    this.#serve.call(this.#server, socket);
  }
}

function refusePlain(socket: Socket): void {
  const body = JSON.stringify({ message: 'this port speaks TLS alone: ask https://' });
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  socket.end();
  // at once: who does not even read this has nothing to wait for
  linger(socket);
}
