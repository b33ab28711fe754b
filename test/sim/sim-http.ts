/** As much of HTTP/1.1 as a client needs that asks for a path and is answered JSON; over simulated streams. */
import type { Clock } from '../../src/common/clock.ts';
import type { Address, ByteStream, Listener, Network } from '../../src/common/network.ts';
import { onAbort } from '../../src/sdk/abort-signals.ts';
import type { HttpAnswer, HttpGet } from '../../src/sdk/placedriver-source.ts';

export interface Answered {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; undefined: nothing. */
  readonly body?: unknown;
}

const END = '\r\n\r\n';

/** One request per connection. */
export function serveHttp(
  network: Network,
  address: Address,
  answer: (url: URL) => Answered,
): Promise<Listener> {
  return network.listen(address, (stream) => {
    let received = '';
    stream.attach({
      onData: (chunk) => {
        received += chunk.toString('latin1');
        if (!received.includes(END)) return;
        const [, path = '/'] = received.split(' ');
        const { status, headers = {}, body } = answer(new URL(path, 'http://placedriver'));
        const text = Buffer.from(body === undefined ? '' : JSON.stringify(body));
        const lines = Object.entries({ ...headers, 'content-length': text.length });
        const named = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
        const head = `HTTP/1.1 ${status} \r\n${named}${END}`;
        stream.write(Buffer.concat([Buffer.from(head), text]));
      },
      onClose: () => {},
    });
  });
}

/** Rejects when the answer is not there within `timeoutMs`, or when the signal ends it, as fetch does. */
export function simGet(network: Network, clock: Clock, timeoutMs: number): HttpGet {
  return async (url, signal) => {
    let stream: ByteStream | undefined;
    let end = (_: Error) => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    const unlisten = onAbort(signal, () => {
      const why = new Error('the request was ended');
      stream?.destroy(why);
      end(why);
    });
    const { hostname, port, pathname, search } = new URL(url);
    const answer = async () => {
      const beganMs = clock.monotonicMs();
      stream = await network.connect({ host: hostname, port: Number(port) }, timeoutMs);
      const leftMs = Math.max(1, timeoutMs - (clock.monotonicMs() - beganMs));
      return exchange(stream, clock, leftMs, `GET ${pathname}${search} HTTP/1.1${END}`);
    };
    return Promise.race([answer(), ended]).finally(unlisten);
  };
}

function exchange(
  stream: ByteStream,
  clock: Clock,
  timeoutMs: number,
  request: string,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const timer = clock.setTimer(timeoutMs, () => stream.destroy(new Error('no answer in time')));
    stream.attach({
      onData: (chunk) => {
        received = Buffer.concat([received, chunk]);
        const answer = answerIn(received);
        if (answer === undefined) return;
        timer.cancel();
        resolve(answer);
        stream.destroy();
      },
      onClose: (error) => {
        timer.cancel();
        reject(error ?? new Error('the connection has ended'));
      },
    });
    stream.write(Buffer.from(request));
  });
}

/** Undefined while not all of it is there. */
function answerIn(received: Buffer): HttpAnswer | undefined {
  const headEnd = received.indexOf(END);
  if (headEnd === -1) return undefined;
  const head = received.toString('latin1', 0, headEnd);
  const length = Number(/content-length: (\d+)/.exec(head)?.[1]);
  const body = received.subarray(headEnd + END.length);
  if (body.length < length) return undefined;
  const text = body.toString();
  return {
    status: Number(head.split(' ')[1]),
    header: (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1],
    json: async () => JSON.parse(text) as unknown,
  };
}
