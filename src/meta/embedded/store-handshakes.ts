/**
 * Connections to the store's port that have not shaken hands: a bounded number, of which the oldest makes
 * room, so that whoever opens connections and says nothing neither takes all open files of the process
 * nor keeps its nodes out. How long a handshake may take is with the credentials (`store-tls.ts`).
 */
import type { EventEmitter } from 'node:events';
import type { Server } from '@grpc/grpc-js';
import { limits } from '../../common/limits.ts';

/** Of a connection of Node.js that is not encrypted yet. */
interface Newcomer {
  once(event: 'close', heard: () => void): unknown;
  destroy(): unknown;
}

/** gRPC keeps its listeners to itself. */
interface WithListeners {
  readonly http2Servers: ReadonlyMap<EventEmitter, unknown>;
}

/** A connection once it is encrypted: Node.js keeps the one beneath so. */
interface Secured {
  readonly _parent?: Newcomer;
}

/** Of a server that listens, over TLS. */
export function boundHandshakes(server: Server): void {
  const { http2Servers } = server as unknown as WithListeners;
  for (const listener of http2Servers.keys()) boundOf(listener);
}

function boundOf(listener: EventEmitter): void {
  /** The oldest first. */
  const newcomers = new Set<Newcomer>();
  listener.on('connection', (socket: Newcomer) => {
    newcomers.add(socket);
    socket.once('close', () => newcomers.delete(socket));
    if (newcomers.size <= limits.peerTlsHandshakesMax) return;
    const [oldest] = newcomers;
    newcomers.delete(oldest!);
    oldest!.destroy();
  });
  listener.on('secureConnection', ({ _parent: below }: Secured) => {
    if (below !== undefined) newcomers.delete(below);
  });
}
