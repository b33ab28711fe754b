/**
 * A stream whose system takes what it likes, and which looks at the writer's own memory until then: as
 * a socket does that is full.
 */
import type { ByteStream, StreamHandlers } from '../../src/common/network.ts';

export class SlowStream implements ByteStream {
  readonly remote = 'slow';
  readonly local = 'here';
  handlers: StreamHandlers | undefined;
  ended = false;
  isPaused = false;
  /** How many bytes each write takes at once. */
  room = Number.POSITIVE_INFINITY;
  /** What the system has. */
  taken = '';
  #waiting: Uint8Array[] = [];

  get bufferedBytes(): number {
    return this.#waiting.reduce((sum, { length }) => sum + length, 0);
  }

  attach(handlers: StreamHandlers): void {
    this.handlers = handlers;
  }

  write(bytes: Uint8Array): boolean {
    this.#waiting.push(bytes);
    this.take(this.room);
    return this.bufferedBytes === 0;
  }

  /** The system has `count` bytes more of what waits. */
  take(count: number): void {
    for (let left = count; left > 0 && this.#waiting.length > 0; ) {
      const [next, ...rest] = this.#waiting;
      this.taken += Buffer.from(next!.subarray(0, left)).toString('latin1');
      this.#waiting = next!.length > left ? [next!.subarray(left), ...rest] : rest;
      left -= next!.length;
    }
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  end(): void {
    this.ended = true;
  }

  destroy(error?: Error): void {
    this.handlers?.onClose(error);
  }
}
