/** How a connection ends so that the other side gets all that was sent to it. */
import { type Clock, systemClock } from './clock.ts';
import { limits } from './limits.ts';

type Timers = Pick<Clock, 'setTimer'>;

/** Of a socket, of node:net or node:tls. */
interface Socket {
  end(): unknown;
  destroy(): unknown;
  once(event: 'finish' | 'close', run: () => void): unknown;
}

/** Sends what is queued, however long the other side takes to read it, then closes. */
export function endGently(socket: Socket, clock: Timers = systemClock): void {
  socket.end();
  socket.once('finish', () => linger(socket, clock));
}

/**
 * Reads on for a while, or what was sent is lost with the reset that unread bytes cause; a peer that
 * goes on sending does not keep the socket.
 */
export function linger(socket: Socket, clock: Timers = systemClock): void {
  const timer = clock.setTimer(limits.closeLingerMs, () => socket.destroy());
  socket.once('close', () => timer.cancel());
}
