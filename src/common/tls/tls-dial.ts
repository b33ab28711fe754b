/** Dials over TLS; the name or address that is dialed has to be in the certificate that is shown. */
import { connect as connectPlain } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { hostPort } from '../host-port.ts';
import type { Address, ByteStream } from '../network.ts';
import { TELLING_BYTES } from '../tcp-read.ts';
import type { ShownCredentials } from './credentials.ts';
import { isAddress } from './is-address.ts';
import { handshakeProblem } from './peer-failures.ts';
import { secureContextOf } from './tls-context.ts';
import { TlsStream } from './tls-stream.ts';

export interface TlsDial {
  readonly timeoutMs: number;
  /** Of the handshake alone; undefined: `timeoutMs` is for both. */
  readonly handshakeMs: number | undefined;
  readonly credentials: ShownCredentials;
  readonly clock: Clock;
}

export async function connectTls(address: Address, dial: TlsDial): Promise<ByteStream> {
  const { host, port } = address;
  // throws for what cannot be used, so before there is a connection
  const secureContext = secureContextOf(dial.credentials);
  const carrier = connectPlain({ host, port, noDelay: true });
  const socket = connect({
    ...{ socket: carrier, host, secureContext },
    ...(!isAddress(host) && { servername: host }),
    highWaterMark: TELLING_BYTES,
  } as ConnectionOptions);
  const endTimes = boundTimes(socket, hostPort(address), dial);
  return new Promise((resolve, reject) => {
    const onFailure = (failure: Error) => {
      endTimes();
      const problem = handshakeProblem(failure);
      // what the system says keeps its code
      reject(problem === messageOf(failure) ? failure : new Error(problem, { cause: failure }));
    };
    socket.once('error', onFailure);
    socket.once('secureConnect', () => {
      endTimes();
      socket.off('error', onFailure);
      resolve(new TlsStream(socket, carrier, dial.clock));
    });
  });
}

/** Ends an attempt that takes too long, until what it returns is called. */
function boundTimes(socket: TLSSocket, where: string, dial: TlsDial): () => void {
  const { clock, timeoutMs, handshakeMs } = dial;
  const endIn = (ms: number, text: string) =>
    clock.setTimer(ms, () => socket.destroy(new Error(`${text} within ${ms} ms`)));
  let timer = endIn(timeoutMs, `connect to ${where}: no answer`);
  const onConnect = () => {
    timer.cancel();
    timer = endIn(handshakeMs!, `no TLS handshake with ${where}`);
  };
  if (handshakeMs !== undefined) socket.once('connect', onConnect);
  return () => {
    socket.off('connect', onConnect);
    timer.cancel();
  };
}
