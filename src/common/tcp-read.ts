/**
 * Reading from sockets without a buffer per read. Node gives every read a buffer of 64 KiB of its
 * own, whose allocation, page faults and collection cost more than a small request does. Here all
 * sockets of a process read into one buffer, and what arrived is copied out at once: it belongs to
 * whoever gets it.
 */
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';

const READ_BYTES = 65_536;

/**
 * So much unsent, and the socket tells when it has been taken: from here on clients' unread replies
 * are counted, and what is counted must be told of. From Node.js 22 on a socket tells of 64 KiB only.
 */
export const TELLING_BYTES = 16_384;

/** Shared by all sockets: it is full only between a read and the copy in the same callback. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

/** Takes the chunks of one socket; `onChunk` may be set until the turn ends that made the socket. */
export class ChunkReader {
  onChunk: (chunk: Buffer) => void = () => {};

  /** For the options of a socket that connects. */
  readonly onread: OnReadOpts = {
    buffer: readBuffer,
    callback: (count) => {
      this.onChunk(Buffer.from(readBuffer.subarray(0, count)));
      return true;
    },
  };

  /**
   * A socket that reads so, in place of one just accepted (by a server with `pauseOnConnect`).
   * node:net has this option only for sockets that connect, so the accepted connection's handle
   * moves to a socket made with it; a Node.js without such handles goes on with the one accepted.
   */
  adopt(accepted: Socket & { _handle?: object | null }): Socket {
    const handle = accepted._handle;
    if (!handle) {
      accepted.on('data', (chunk: Buffer) => this.onChunk(chunk));
      return accepted;
    }
    accepted._handle = null;
    const { allowHalfOpen } = accepted;
    const options = { handle, onread: this.onread, allowHalfOpen, highWaterMark: TELLING_BYTES };
    const socket = new Socket(options as SocketConstructorOpts);
    // the server counts the accepted one until it is closed
    socket.once('close', () => accepted.destroy());
    return socket;
  }
}
