/**
 * Network whose connections are TLS, over node:tls. One port may take both: the first byte of a
 * connection tells a handshake from a request.
 */
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Address, ByteStream, Listener, Network } from '../network.ts';
import { listenForSockets, TcpStream, tcpNetwork } from '../tcp.ts';
import type { ChunkReader } from '../tcp-read.ts';
import type { ShownCredentials } from './credentials.ts';
import { Handshakes, type Newcomer } from './handshakes.ts';
import {
  handshakeProblem,
  SPEAKS_NO_TLS,
  strangerIn,
  type WantedCertificate,
} from './peer-failures.ts';
import { remoteOf } from './socket-stream.ts';
import { checkingOptions, contextOptions } from './tls-context.ts';
import { connectTls } from './tls-dial.ts';
import { isHandshake, PeekedStream } from './tls-peek.ts';
import { TlsStream } from './tls-stream.ts';
import { ToldFailures } from './told-failures.ts';

export interface TlsNetworkOptions {
  /** Looked at for each connection: they may be replaced. */
  readonly credentials: { readonly current: ShownCredentials };
  /** What comes in: plain connections as well, or TLS alone. */
  readonly accepts: 'both' | 'tls';
  readonly dials: 'plain' | 'tls';
  /** Of those that come in. */
  readonly peerCertificates: WantedCertificate;
  /** Where plain connections are taken, one that says nothing is one, and kept; unless this says no. */
  readonly keepsSilent?: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Hears in place of the log why one is not let in. */
  readonly onRefused?: (remote: string, reason: string) => void;
  /** What is counted, for metrics. */
  readonly counts: TlsCounts;
  /** How many connections there may be beside those that are served. */
  room(): number;
  /** How long a handshake may take, and of those who dial beyond their time to connect. */
  readonly handshakeMs?: number;
  /** What is sent to a plain connection that is refused, before it is closed. */
  readonly plainRefusal?: Buffer;
  /** What is sent, encrypted, to who shows no certificate that is trusted. */
  certificateRefusal?(reason: string): Buffer;
}

export interface TlsCounts {
  /** Handshakes of connections that came in, well ended. */
  handshakes: number;
  failures: number;
  /** Plain connections where TLS alone is spoken. */
  plainRefused: number;
}

export function newTlsCounts(): TlsCounts {
  return { handshakes: 0, failures: 0, plainRefused: 0 };
}

type Tell = (text: string, remote: string, reason: string) => void;

/** Node.js keeps the connection beneath so. */
interface WithCarrier {
  readonly _parent?: Socket;
}

export class TlsNetwork implements Network {
  readonly #options: TlsNetworkOptions;
  readonly #handshakes: Handshakes;
  readonly #tell: Tell;

  constructor(options: TlsNetworkOptions) {
    this.#options = options;
    this.#handshakes = new Handshakes(options);
    const { clock, logger, onRefused } = options;
    const failures = new ToldFailures(clock, logger);
    this.#tell = (text, remote, reason) => {
      if (onRefused === undefined) failures.tell(text, { remote, reason });
      else onRefused(remote, reason);
    };
  }

  /** Connections that have not said yet who they are. */
  get pending(): number {
    return this.#handshakes.size;
  }

  async listen(address: Address, onStream: (stream: ByteStream) => void): Promise<Listener> {
    const acceptor = new Acceptor(this.#options, this.#handshakes, this.#tell, onStream);
    const onSocket = (socket: Socket, reader: ChunkReader) => acceptor.accept(socket, reader);
    const { port, close } = await listenForSockets(address, onSocket);
    return {
      port,
      close: () => {
        acceptor.close();
        return close();
      },
    };
  }

  connect(address: Address, timeoutMs: number): Promise<ByteStream> {
    if (this.#options.dials === 'plain') return tcpNetwork.connect(address, timeoutMs);
    const { credentials, clock, handshakeMs } = this.#options;
    return connectTls(address, { timeoutMs, handshakeMs, credentials: credentials.current, clock });
  }
}

/** A connection that is not served yet. */
interface Known {
  readonly newcomer: Newcomer;
  readonly remote: string;
  /** It has begun a handshake. */
  asked: boolean;
}

/** The connections of one port. */
class Acceptor {
  readonly #options: TlsNetworkOptions;
  readonly #handshakes: Handshakes;
  readonly #tell: Tell;
  readonly #onStream: (stream: ByteStream) => void;
  readonly #server: Server;
  /** By the connection beneath, until it is served. */
  readonly #newcomers = new Map<Socket, Known>();
  #used: ShownCredentials;

  constructor(
    options: TlsNetworkOptions,
    handshakes: Handshakes,
    tell: Tell,
    onStream: (stream: ByteStream) => void,
  ) {
    this.#options = options;
    this.#handshakes = handshakes;
    this.#tell = tell;
    this.#onStream = onStream;
    this.#used = options.credentials.current;
    this.#server = createServer({
      ...this.#contextOptions(),
      requestCert: options.peerCertificates !== 'ignore',
      // who is refused is told why, and the log too
      rejectUnauthorized: false,
    });
    this.#server.on('secureConnection', (socket) => this.#onSecure(socket));
    this.#server.on('tlsClientError', (error, socket) => this.#onFailure(error, socket));
  }

  accept(socket: Socket, reader: ChunkReader): void {
    const newcomer: Newcomer = {
      begin: () => this.#secure(socket),
      letGo: (reason) => this.#drop(socket, reason),
      isSilent: () => this.#keepSilent(socket, reader),
    };
    const known: Known = { newcomer, remote: remoteOf(socket), asked: false };
    this.#newcomers.set(socket, known);
    socket.on('error', () => {});
    socket.on('close', () => this.#onGone(socket));
    // one that says nothing and goes, as a look whether the port is open
    socket.once('end', () => this.#newcomers.has(socket) && socket.destroy());
    const onFirst = (first: Buffer) => {
      socket.pause();
      if (!isHandshake(first)) return this.#servePlain(socket, reader, first);
      known.asked = true;
      reader.onChunk = () => {};
      socket.unshift(first);
      this.#handshakes.ask(newcomer);
    };
    reader.onChunk = onFirst;
    this.#handshakes.add(newcomer);
  }

  /** Those who are not served yet go, as the port does; nothing is wrong with them. */
  close(): void {
    const newcomers = [...this.#newcomers];
    this.#newcomers.clear();
    for (const [socket] of newcomers) socket.destroy();
    for (const [, { newcomer }] of newcomers) this.#handshakes.remove(newcomer);
  }

  #contextOptions() {
    const { peerCertificates } = this.#options;
    const make = peerCertificates === 'ignore' ? contextOptions : checkingOptions;
    return make(this.#used);
  }

  #secure(socket: Socket): void {
    // its turn came as it went
    if (socket.destroyed) return;
    const { current } = this.#options.credentials;
    if (current !== this.#used) {
      this.#used = current;
      this.#server.setSecureContext(this.#contextOptions());
    }
    // who ends its side before it is served is gone
    socket.allowHalfOpen = false;
    this.#server.emit('connection', socket);
  }

  #servePlain(socket: Socket, reader: ChunkReader, first: Buffer): void {
    this.#forget(socket);
    const { accepts, clock } = this.#options;
    if (accepts === 'tls') return this.#refusePlain(socket, reader);
    this.#onStream(new PeekedStream(socket, reader, first, clock));
  }

  /** Where plain clients are served, one that says nothing yet is one of them. */
  #keepSilent(socket: Socket, reader: ChunkReader): boolean {
    const { accepts, keepsSilent = true } = this.#options;
    if (accepts === 'tls' || !keepsSilent) return false;
    this.#newcomers.delete(socket);
    this.#onStream(new TcpStream(socket, reader));
    return true;
  }

  #refusePlain(socket: Socket, reader: ChunkReader): void {
    const { counts, plainRefusal } = this.#options;
    counts.plainRefused++;
    const stream = new TcpStream(socket, reader);
    stream.attach({ onData: () => {}, onClose: () => {} });
    this.#tell('a plain connection is refused: this port speaks TLS', stream.remote, SPEAKS_NO_TLS);
    if (plainRefusal !== undefined) stream.write(plainRefusal);
    stream.resume();
    stream.end();
  }

  #onSecure(socket: TLSSocket): void {
    const carrier = (socket as WithCarrier)._parent;
    if (carrier !== undefined) this.#forget(carrier);
    socket.allowHalfOpen = true;
    const { counts, certificateRefusal, clock, peerCertificates } = this.#options;
    const stream = new TlsStream(socket, carrier, clock);
    const refused = strangerIn(socket, peerCertificates);
    if (refused === undefined) {
      counts.handshakes++;
      return this.#onStream(stream);
    }
    counts.failures++;
    this.#tell('a TLS connection is refused', stream.remote, refused);
    stream.attach({ onData: () => {}, onClose: () => {} });
    const text = certificateRefusal?.(refused);
    if (text !== undefined) stream.write(text);
    stream.end();
  }

  #onFailure(error: Error, socket: TLSSocket): void {
    const carrier = (socket as WithCarrier)._parent;
    if (carrier === undefined) return;
    const known = this.#forget(carrier);
    // one that was let go, or went away, has been told of
    if (known !== undefined) this.#fail(known.remote, handshakeProblem(error));
    carrier.destroy();
  }

  #onGone(socket: Socket): void {
    const known = this.#forget(socket);
    if (known?.asked) this.#fail(known.remote, 'it went away before the end');
  }

  #drop(socket: Socket, reason: string): void {
    const known = this.#forget(socket);
    if (known !== undefined) this.#fail(known.remote, reason);
    socket.destroy();
  }

  #forget(socket: Socket): Known | undefined {
    const known = this.#newcomers.get(socket);
    if (known === undefined) return undefined;
    this.#newcomers.delete(socket);
    this.#handshakes.remove(known.newcomer);
    return known;
  }

  #fail(remote: string, reason: string): void {
    this.#options.counts.failures++;
    this.#tell('a TLS handshake failed', remote, reason);
  }
}
