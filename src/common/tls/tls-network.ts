/**
 * Network whose connections are TLS, over node:tls. One port may take both: the first byte of a
 * connection tells a handshake from a request.
 */
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import {
  type ConnectionOptions,
  connect,
  createServer,
  type Server,
  type TLSSocket,
} from 'node:tls';
import type { Clock } from '../clock.ts';
import { messageOf, systemCodeOf } from '../errors.ts';
import { hostPort } from '../host-port.ts';
import type { Logger } from '../log.ts';
import type { Address, ByteStream, Listener, Network } from '../network.ts';
import { listenForSockets, TcpStream, tcpNetwork } from '../tcp.ts';
import { type ChunkReader, TELLING_BYTES } from '../tcp-read.ts';
import type { Credentials } from './credentials.ts';
import { Handshakes, type Newcomer } from './handshakes.ts';
import { contextOptions, secureContextOf } from './tls-context.ts';
import { isHandshake, PeekedStream } from './tls-peek.ts';
import { TlsStream } from './tls-stream.ts';
import { ToldFailures } from './told-failures.ts';

export interface TlsNetworkOptions {
  /** Looked at for each connection: they may be replaced. */
  readonly credentials: { readonly current: Credentials };
  /** What comes in: plain connections as well, or TLS alone. */
  readonly accepts: 'both' | 'tls';
  readonly dials: 'plain' | 'tls';
  /** Of those that come in; who shows one that no authority signed is refused with `optional`, too. */
  readonly peerCertificates: 'ignore' | 'optional' | 'required';
  readonly clock: Clock;
  readonly logger: Logger;
  /** What is counted, for metrics. */
  readonly counts: TlsCounts;
  /** How many connections there may be beside those that are served. */
  room(): number;
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

/** Node.js keeps the connection beneath so. */
interface WithCarrier {
  readonly _parent?: Socket;
}

export class TlsNetwork implements Network {
  readonly #options: TlsNetworkOptions;
  readonly #handshakes: Handshakes;
  readonly #failures: ToldFailures;

  constructor(options: TlsNetworkOptions) {
    this.#options = options;
    this.#handshakes = new Handshakes(options);
    this.#failures = new ToldFailures(options.clock, options.logger);
  }

  /** Connections that have not said yet who they are. */
  get pending(): number {
    return this.#handshakes.size;
  }

  listen(address: Address, onStream: (stream: ByteStream) => void): Promise<Listener> {
    const acceptor = new Acceptor(this.#options, this.#handshakes, this.#failures, onStream);
    return listenForSockets(address, (socket, reader) => acceptor.accept(socket, reader));
  }

  connect(address: Address, timeoutMs: number): Promise<ByteStream> {
    if (this.#options.dials === 'plain') return tcpNetwork.connect(address, timeoutMs);
    const { credentials, clock } = this.#options;
    return connectTls(address, timeoutMs, credentials.current, clock);
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
  readonly #failures: ToldFailures;
  readonly #onStream: (stream: ByteStream) => void;
  readonly #server: Server;
  /** By the connection beneath, until it is served. */
  readonly #newcomers = new Map<Socket, Known>();
  #used: Credentials;

  constructor(
    options: TlsNetworkOptions,
    handshakes: Handshakes,
    failures: ToldFailures,
    onStream: (stream: ByteStream) => void,
  ) {
    this.#options = options;
    this.#handshakes = handshakes;
    this.#failures = failures;
    this.#onStream = onStream;
    this.#used = options.credentials.current;
    this.#server = createServer({
      ...contextOptions(this.#used),
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
    const remote = `${socket.remoteAddress}:${socket.remotePort}`;
    const known: Known = { newcomer, remote, asked: false };
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

  #secure(socket: Socket): void {
    const { current } = this.#options.credentials;
    if (current !== this.#used) {
      this.#used = current;
      this.#server.setSecureContext(contextOptions(current));
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
    if (this.#options.accepts === 'tls') return false;
    this.#newcomers.delete(socket);
    this.#onStream(new TcpStream(socket, reader));
    return true;
  }

  #refusePlain(socket: Socket, reader: ChunkReader): void {
    const { counts, plainRefusal } = this.#options;
    counts.plainRefused++;
    const stream = new TcpStream(socket, reader);
    stream.attach({ onData: () => {}, onClose: () => {} });
    this.#tell('a plain connection is refused: this port speaks TLS', stream.remote, 'plain bytes');
    if (plainRefusal !== undefined) stream.write(plainRefusal);
    stream.resume();
    stream.end();
  }

  #onSecure(socket: TLSSocket): void {
    const carrier = (socket as WithCarrier)._parent;
    if (carrier !== undefined) this.#forget(carrier);
    socket.allowHalfOpen = true;
    const { counts, certificateRefusal, clock } = this.#options;
    const stream = new TlsStream(socket, carrier, clock);
    const refused = this.#refusalOf(socket);
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

  #refusalOf(socket: TLSSocket): string | undefined {
    const { peerCertificates } = this.#options;
    if (peerCertificates === 'ignore' || socket.authorized) return undefined;
    const hasShown = Object.keys(socket.getPeerCertificate()).length > 0;
    if (!hasShown) return peerCertificates === 'optional' ? undefined : 'no certificate was shown';
    return `its certificate is not trusted (${messageOf(socket.authorizationError)})`;
  }

  #onFailure(error: Error, socket: TLSSocket): void {
    const carrier = (socket as WithCarrier)._parent;
    if (carrier === undefined) return;
    const known = this.#forget(carrier);
    // one that was let go, or went away, has been told of
    if (known !== undefined) this.#fail(known.remote, reasonOf(error));
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

  #tell(text: string, remote: string, reason: string): void {
    this.#failures.tell(text, { remote, reason });
  }
}

/** OpenSSL's own words without where in its source they were said. */
function reasonOf(error: Error & { readonly reason?: string }): string {
  const code = systemCodeOf(error);
  return error.reason ?? (code === undefined ? messageOf(error) : `${messageOf(error)} (${code})`);
}

function connectTls(
  address: Address,
  timeoutMs: number,
  credentials: Credentials,
  clock: Clock,
): Promise<ByteStream> {
  return new Promise((resolve, reject) => {
    const { host, port } = address;
    const carrier = connectPlain({ host, port, noDelay: true });
    const socket = connect({
      ...{ socket: carrier, host, secureContext: secureContextOf(credentials) },
      ...(isIP(host) === 0 && { servername: host }),
      highWaterMark: TELLING_BYTES,
    } as ConnectionOptions);
    const where = hostPort(address);
    const timer = clock.setTimer(timeoutMs, () => {
      socket.destroy(new Error(`connect to ${where}: no answer within ${timeoutMs} ms`));
    });
    const onFailure = (error: Error) => {
      timer.cancel();
      reject(error);
    };
    socket.once('error', onFailure);
    socket.once('secureConnect', () => {
      timer.cancel();
      socket.off('error', onFailure);
      resolve(new TlsStream(socket, carrier, clock));
    });
  });
}
