/** Bodies of the pub/sub channel that wait for their link; at the bound what comes is refused. */
import { limits } from '../../common/limits.ts';
import { channels } from './frame.ts';
import type { Link } from './link.ts';

/** The queue's own memory for one body. */
const BODY_OVERHEAD_BYTES = 64;

export class PostQueue {
  readonly #bytesMax: number;
  #bodies: Buffer[] = [];
  #head = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get length(): number {
    return this.#bodies.length - this.#head;
  }

  /** False when there is no room; an empty queue takes a body of any size that fits a frame. */
  push(body: Buffer): boolean {
    const bytes = body.length + BODY_OVERHEAD_BYTES;
    if (body.length > limits.frameBytesMax) return false;
    if (this.length > 0 && this.#bytes + bytes > this.#bytesMax) return false;
    this.#bodies.push(body);
    this.#bytes += bytes;
    return true;
  }

  /** Gives up what waits, and returns it. */
  clear(): readonly Buffer[] {
    const unsent = this.#bodies.slice(this.#head);
    this.#bodies = [];
    this.#head = 0;
    this.#bytes = 0;
    return unsent;
  }

  /** Writes bodies in order while the link takes them; true when some remain. */
  encode(link: Link): boolean {
    while (this.length > 0 && !link.congested) {
      const body = this.#bodies[this.#head++]!;
      this.#bytes -= body.length + BODY_OVERHEAD_BYTES;
      link.write((w) => w.begin(channels.pubsub).raw(body).end());
    }
    if (this.length === 0) this.clear();
    else if (this.#head >= 1_024) {
      this.#bodies = this.#bodies.slice(this.#head);
      this.#head = 0;
    }
    return this.length > 0;
  }
}
