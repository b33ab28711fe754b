/** What is asked of sockets of node:net and node:tls that stand already. */
import type { Socket } from 'node:net';

/** `host:port` of the other side. */
export function remoteOf(socket: Socket): string {
  return `${socket.remoteAddress}:${socket.remotePort}`;
}
