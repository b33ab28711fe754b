/** A plain connection whose first bytes were looked at, to know that it is one. */
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { StreamHandlers } from '../network.ts';
import { TcpStream } from '../tcp.ts';
import type { ChunkReader } from '../tcp-read.ts';

/** A record of a handshake: no request, and no frame between nodes, begins so. */
const HANDSHAKE = 0x16;

export function isHandshake(first: Buffer): boolean {
  return first[0] === HANDSHAKE;
}

export class PeekedStream extends TcpStream {
  readonly #clock: Pick<Clock, 'endOfTurn'>;
  #handlers: StreamHandlers | undefined;
  #first: Buffer | undefined;
  #isPaused = false;
  #isGone = false;

  /** `first` is what came of a socket that reads on only when that is handed over. */
  constructor(socket: Socket, reader: ChunkReader, first: Buffer, clock: Pick<Clock, 'endOfTurn'>) {
    super(socket, reader);
    this.#first = first;
    this.#clock = clock;
  }

  override attach(handlers: StreamHandlers): void {
    this.#handlers = handlers;
    super.attach(handlers);
    this.#clock.endOfTurn(this.#handOver);
  }

  override pause(): void {
    this.#isPaused = true;
    super.pause();
  }

  override resume(): void {
    this.#isPaused = false;
    if (this.#first === undefined) super.resume();
    else this.#clock.endOfTurn(this.#handOver);
  }

  override destroy(error?: Error): void {
    this.#isGone = true;
    super.destroy(error);
  }

  readonly #handOver = (): void => {
    const first = this.#first;
    if (first === undefined || this.#isPaused || this.#isGone) return;
    this.#first = undefined;
    this.#handlers!.onData(first);
    if (!this.#isPaused && !this.#isGone) super.resume();
  };
}
