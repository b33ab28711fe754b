/** What a client is told whose bytes make no request: a status, and `{message}`, as of other failures. */
import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { messageOf, systemCodeOf } from '../errors.ts';
import { limits } from '../limits.ts';

/** An option of fastify: the connection ends with the answer. */
export function clientErrorHandler(failure: Error, socket: Socket): void {
  if (systemCodeOf(failure) === 'ECONNRESET' || !socket.writable) return;
  const [status, message] = toldOf(failure);
  const body = JSON.stringify({ message });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}

function toldOf(failure: Error): readonly [status: number, message: string] {
  switch (systemCodeOf(failure)) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, `path and headers are longer than ${maxHeaderSize} bytes: send fewer of them`];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, `no whole request came within ${limits.httpRequestMs} ms: send it at once`];
    default:
      return [400, `this is a port for HTTP, and what came is none (${messageOf(failure)})`];
  }
}
