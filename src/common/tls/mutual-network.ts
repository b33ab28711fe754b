/**
 * Network over node:tls between processes of one cluster: each shows a certificate, and both are
 * checked against one authority; who dials checks the name it dialed as well. One port may take plain
 * connections beside, while a running cluster goes over.
 */
import { constants } from 'node:crypto';
import { createServer, isIP, type Server, type Socket } from 'node:net';
import {
  connect,
  createSecureContext,
  createServer as createTlsServer,
  type SecureContext,
  type Server as TlsServer,
} from 'node:tls';
import { limits } from '../limits.ts';
import type { Address, ByteStream, Listener, Network } from '../network.ts';
import { firstByte } from './first-byte.ts';
import { handshakeProblem, strangerIn } from './peer-failures.ts';
import { endGently, remoteOf, SocketStream } from './socket-stream.ts';

/** What a process shows, and whom it believes; all in PEM. */
export interface PeerCredentials {
  readonly certificate: string;
  readonly key: string;
  readonly authorities: string | undefined;
}

export interface MutualOptions {
  /** Those of now: another object when they were renewed. */
  credentials(): PeerCredentials;
  readonly takesPlain: boolean;
  readonly dialsTls: boolean;
  /** For who dials plain. */
  readonly plain: Network;
  /** Bytes that tell a peer why it is not let in. */
  refusal(reason: string): Buffer;
  onRefused(remote: string, reason: string): void;
}

function pemOf({ certificate, key, authorities = '' }: PeerCredentials) {
  return { cert: certificate, key, ca: authorities };
}

const VERSIONS = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' } as const;
/** A session that is resumed would have been checked some other day. */
const NO_RESUMPTION = { secureOptions: constants.SSL_OP_NO_TICKET };

const contexts = new WeakMap<PeerCredentials, SecureContext>();

/** To read key and certificates costs more than a dial that nobody answers. */
function contextOf(credentials: PeerCredentials): SecureContext {
  const known = contexts.get(credentials);
  if (known !== undefined) return known;
  const made = createSecureContext({ ...VERSIONS, ...pemOf(credentials) });
  contexts.set(credentials, made);
  return made;
}

export function mutualNetwork(options: MutualOptions): Network {
  return {
    listen: (address, onStream) => new MutualListener(options, onStream).open(address),
    connect: (address, timeoutMs) =>
      options.dialsTls
        ? dial(options.credentials(), address, timeoutMs)
        : options.plain.connect(address, timeoutMs),
  };
}

class MutualListener {
  readonly #options: MutualOptions;
  readonly #onStream: (stream: ByteStream) => void;
  readonly #server: Server;
  readonly #tls: TlsServer;
  readonly #sockets = new Set<Socket>();
  /** Those that have not shaken hands, by who they are, the oldest first. */
  readonly #strangers = new Map<string, Socket>();
  #shown: PeerCredentials;

  constructor(options: MutualOptions, onStream: (stream: ByteStream) => void) {
    this.#options = options;
    this.#onStream = onStream;
    const keepAlive = { keepAlive: true, keepAliveInitialDelay: limits.tcpKeepAliveMs };
    this.#server = createServer({ ...keepAlive, noDelay: true, pauseOnConnect: true }, (socket) =>
      this.#accept(socket),
    );
    this.#shown = options.credentials();
    const handshakeTimeout = limits.peerTlsHandshakeMs;
    // it is this listener that looks at what a peer shows: so it can say why it refuses
    const checks = { requestCert: true, rejectUnauthorized: false };
    const how = { ...VERSIONS, ...NO_RESUMPTION, ...checks, handshakeTimeout };
    this.#tls = createTlsServer({ ...how, ...pemOf(this.#shown) });
    this.#tls.on('secureConnection', (socket) => {
      this.#strangers.delete(remoteOf(socket));
      const reason = strangerIn(socket);
      if (reason !== undefined) this.#refuse(socket, reason);
      else this.#onStream(new SocketStream(this.#track(socket)));
    });
    this.#tls.on('tlsClientError', (failure, socket) => {
      options.onRefused(remoteOf(socket), handshakeProblem(failure));
      socket.destroy();
    });
  }

  open({ host, port }: Address): Promise<Listener> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: 1024 }, () => {
        server.off('error', reject);
        server.on('error', () => {}); // an accept failure (EMFILE) ends that connection only
        const bound = server.address();
        const own = typeof bound === 'object' && bound !== null ? bound.port : 0;
        resolve({ port: own, close: () => this.#close() });
      });
    });
  }

  #accept(socket: Socket): void {
    this.#makeRoom();
    const remote = remoteOf(socket);
    this.#strangers.set(remote, this.#track(socket));
    socket.once('close', () => this.#strangers.delete(remote));
    socket.on('error', () => {});
    firstByte(socket, limits.peerTlsHandshakeMs, (speech) => {
      if (speech === 'tls') return this.#shakeHands(socket);
      this.#strangers.delete(remote);
      if (this.#options.takesPlain) this.#onStream(new SocketStream(socket));
      else this.#refuse(socket, 'it speaks no TLS');
    });
  }

  /** Who has longest not shaken hands goes: peers do so at once. */
  #makeRoom(): void {
    if (this.#strangers.size < limits.peerTlsHandshakesMax) return;
    const [oldest] = this.#strangers.values();
    oldest?.destroy();
  }

  #shakeHands(socket: Socket): void {
    const now = this.#options.credentials();
    if (now !== this.#shown) {
      this.#shown = now;
      this.#tls.setSecureContext({ ...VERSIONS, ...NO_RESUMPTION, ...pemOf(now) });
    }
    this.#tls.emit('connection', socket);
  }

  #refuse(socket: Socket, reason: string): void {
    this.#options.onRefused(remoteOf(socket), reason);
    socket.on('error', () => {});
    socket.write(this.#options.refusal(reason));
    socket.resume();
    endGently(socket);
  }

  #track<S extends Socket>(socket: S): S {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  #close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }
}

function dial(
  credentials: PeerCredentials,
  { host, port }: Address,
  timeoutMs: number,
): Promise<ByteStream> {
  return new Promise((resolve, reject) => {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port, ...servername, secureContext: contextOf(credentials) });
    socket.setNoDelay(true);
    const where = `${host}:${port}`;
    const late = (what: string, ms: number) =>
      setTimeout(() => socket.destroy(new Error(`${what} ${where} within ${ms} ms`)), ms);
    let timer = late('no connection to', timeoutMs);
    socket.once('connect', () => {
      clearTimeout(timer);
      timer = late('no TLS handshake with', limits.peerTlsHandshakeMs);
    });
    const onFailure = (failure: Error) => {
      clearTimeout(timer);
      reject(new Error(handshakeProblem(failure), { cause: failure }));
    };
    socket.once('error', onFailure);
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      socket.off('error', onFailure);
      resolve(new SocketStream(socket));
    });
  });
}
