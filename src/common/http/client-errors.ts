/** What a client is told whose bytes make no request: a status, and `{message}`, as of other failures. */
import type { FastifyServerOptions } from 'fastify';
import { messageOf, systemCodeOf } from '../errors.ts';
import { limits } from '../limits.ts';

type Handler = NonNullable<FastifyServerOptions['clientErrorHandler']>;
type Told = readonly [status: string, message: string];

/** An option of fastify: the connection ends with the answer. */
export const clientErrorHandler: Handler = (failure, socket) => {
  if (systemCodeOf(failure) === 'ECONNRESET' || !socket.writable) return;
  const [status, message] = toldOf(failure);
  const body = JSON.stringify({ message });
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
};

function toldOf(failure: Error): Told {
  switch (systemCodeOf(failure)) {
    case 'HPE_HEADER_OVERFLOW':
      return [
        '431 Request Header Fields Too Large',
        `path and headers are longer than ${limits.httpHeaderBytesMax} bytes: send fewer of them`,
      ];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [
        '408 Request Timeout',
        `no whole request came within ${limits.httpRequestMs} ms: send it at once`,
      ];
    default:
      return [
        '400 Bad Request',
        `this is a port for HTTP, and what came is none (${messageOf(failure)})`,
      ];
  }
}
