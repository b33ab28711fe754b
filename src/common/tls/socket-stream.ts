/** What is asked of sockets of node:net and node:tls that stand already. */
import type { Socket } from 'node:net';
import { limits } from '../limits.ts';

/** `host:port` of the other side. */
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
