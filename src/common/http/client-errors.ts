/** What a client is told whose bytes make no request: a status, and `{message}`, as of other failures. */
import type { FastifyReply, FastifyServerOptions } from 'fastify';
import { messageOf, systemCodeOf } from '../errors.ts';
import { limits } from '../limits.ts';

type Handler = NonNullable<FastifyServerOptions['clientErrorHandler']>;
type Answer = FastifyReply['raw'];
type Told = readonly [status: string, message: string];
/** What a socket is being answered, as Node.js notes it: its own handler of these failures looks there too. */
type Answered = Parameters<Handler>[1] & { readonly _httpMessage?: Answer | null };

/** Those that a failure waits for. */
const awaited = new WeakSet<Answer>();

/** An option of fastify: the connection ends with the answer. */
export const clientErrorHandler: Handler = (failure, socket) => tell(failure, socket);

function tell(failure: Error, socket: Answered): void {
  if (systemCodeOf(failure) === 'ECONNRESET' || !socket.writable) return;
  const answer = socket._httpMessage ?? undefined;
  if (answer?.req.complete) return tellBehind(answer, failure, socket);
  if (!answer?.headersSent) socket.write(textOf(toldOf(failure)));
  socket.destroySoon();
}

/** Requests may come in one go: one that came whole before the failure gets the answer it asked for. */
function tellBehind(answer: Answer, failure: Error, socket: Answered): void {
  // what comes meanwhile fails as well
  if (awaited.has(answer)) return;
  awaited.add(answer);
  answer.once('finish', () => tell(failure, socket));
}

function textOf([status, message]: Told): string {
  const body = JSON.stringify({ message });
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

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
