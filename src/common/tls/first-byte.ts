/**
 * What the first byte on a connection says: a TLS handshake begins with 0x16, and nothing else that is
 * spoken here does. So one port takes both.
 */
import type { Socket } from 'node:net';

const TLS_HANDSHAKE = 0x16;

export type Speech = 'tls' | 'plain';

/**
 * Calls `then` once the first byte of `socket` is there, which stays unread; never when the socket
 * ends before, or says nothing for `timeoutMs`: it is destroyed then.
 */
export function firstByte(socket: Socket, timeoutMs: number, then: (speech: Speech) => void): void {
  const destroy = () => socket.destroy();
  const timer = setTimeout(destroy, timeoutMs);
  const done = () => {
    clearTimeout(timer);
    socket.off('readable', look).off('end', destroy).off('error', destroy).off('close', done);
  };
  const look = () => {
    const byte: Buffer | null = socket.read(1);
    if (byte === null) return;
    done();
    socket.unshift(byte);
    then(byte[0] === TLS_HANDSHAKE ? 'tls' : 'plain');
  };
  socket.on('end', destroy).on('error', destroy).on('close', done).on('readable', look);
}
