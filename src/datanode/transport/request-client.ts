/**
 * Requests over a link, on the side that asks: the one that dialed. They are answered in any order
 * (`request-server.ts`), or come to an end when they are due, aborted, or the connection ends.
 *
 *   request  u8 1 · varint id · body        answer  u8 2 · varint id · body
 *   failure  u8 3 · varint id · code, text  cancel  u8 4 · varint id
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { type ErrorCode, errorTable, KvorumError } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { BodyReader, badFrame, channels, REQUEST_HEAD_BYTES, requestKinds } from './frame.ts';
import type { Link } from './link.ts';
import type { TransportSettings } from './settings.ts';

interface Pending {
  readonly id: number;
  readonly body: Buffer;
  readonly timeoutMs: number;
  /** On the monotone clock. */
  readonly dueMs: number;
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (error: Error) => void;
  readonly unlisten: () => void;
  /** Who answers parks it: it counts for nothing once it is sent. */
  readonly parks: boolean;
  sent: boolean;
}

/** One per peer and kind of connection, over those one after the other. */
export class RequestClient {
  readonly #node: NodeId;
  readonly #clock: Clock;
  readonly #settings: TransportSettings;
  /** In order of their ids; those not sent are a suffix. */
  readonly #pending = new Map<number, Pending>();
  readonly #unsent: Pending[] = [];
  #unsentBytes = 0;
  /** Those that are not parked, and their bytes. */
  #unanswered = 0;
  #unansweredBytes = 0;
  /** Of those the ones that were sent. */
  #sentBytes = 0;
  #nextId = 1;
  #link: Link | undefined;
  /** One for all: nearly every request is answered long before it is due. */
  #timer: Timer | undefined;
  /** When that looks at them. */
  #looksMs = Number.POSITIVE_INFINITY;

  constructor(node: NodeId, clock: Clock, settings: TransportSettings) {
    this.#node = node;
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Of the bodies of all that was asked and has no answer, but for what is parked. */
  get unansweredBytes(): number {
    return this.#unansweredBytes;
  }

  attach(link: Link): void {
    this.#link = link;
  }

  /** The connection ended: nothing of it is answered any more. */
  detach(): void {
    this.#link = undefined;
    this.#unsent.length = 0;
    this.#unsentBytes = 0;
    // one for all of a kind: there may be tens of thousands
    const text = `connection to ${this.#node} ended`;
    const lost = new KvorumError('CONNECTION_LOST', text);
    const unsent = new KvorumError('PEER_UNREACHABLE', text);
    for (const pending of [...this.#pending.values()]) {
      this.#settle(pending);
      pending.reject(pending.sent ? lost : unsent);
    }
    this.#stopLooking();
  }

  request(
    body: Buffer,
    timeoutMs: number,
    signal?: AbortSignal,
    parks: boolean = false,
  ): Promise<Buffer> {
    const refusal = this.#refusal(body, signal, parks);
    if (refusal) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const onAbort = () => this.#abort(pending);
      const dueMs = this.#clock.monotonicMs() + timeoutMs;
      const pending: Pending = {
        id,
        body,
        resolve,
        reject,
        timeoutMs,
        dueMs,
        unlisten: () => signal?.removeEventListener('abort', onAbort),
        parks,
        sent: false,
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#pending.set(id, pending);
      if (!parks) {
        this.#unanswered++;
        this.#unansweredBytes += body.length;
      }
      this.#unsent.push(pending);
      this.#unsentBytes += body.length + REQUEST_HEAD_BYTES;
      this.#lookAt(dueMs);
      this.#link?.requestFlush();
    });
  }

  /**
   * Writes what waits; true when the link became congested before all was written. What the peer has
   * to answer is kept below what makes it stop reading: raft messages travel on the same connection,
   * among them those that what it has to answer may wait for.
   */
  flush(link: Link): boolean {
    let done = 0;
    let isFull = false;
    for (const pending of this.#unsent) {
      isFull = !this.#fitsWindow(pending);
      if (isFull || link.congested) break;
      done++;
      this.#unsentBytes -= pending.body.length + REQUEST_HEAD_BYTES;
      if (!this.#pending.has(pending.id)) continue; // cancelled or expired while it waited
      pending.sent = true;
      if (!pending.parks) this.#sentBytes += pending.body.length;
      link.write((w) => {
        w.begin(channels.request).u8(requestKinds.request).varint(pending.id).raw(pending.body);
        w.end();
      });
    }
    this.#unsent.splice(0, done);
    return this.#unsent.length > 0 && !isFull;
  }

  /** One of any size is sent when nothing else has to be answered. */
  #fitsWindow({ body, parks }: Pending): boolean {
    if (parks || this.#sentBytes === 0) return true;
    return this.#sentBytes + body.length <= this.#settings.queueBytesMax / 2;
  }

  onFrame(body: Buffer): void {
    const reader = new BodyReader(body);
    const kind = reader.u8();
    const pending = this.#pending.get(reader.varint());
    if (kind === requestKinds.answer) {
      if (pending === undefined) return; // the asker has gone
      this.#settle(pending);
      pending.resolve(reader.rest());
    } else if (kind === requestKinds.failure) {
      const [code, text] = [errorCode(reader.text()), reader.text()];
      if (pending) this.#fail(pending, code, text);
    } else {
      throw badFrame(`request frame ${kind} toward the asking side`);
    }
  }

  #refusal(body: Buffer, signal: AbortSignal | undefined, parks: boolean): KvorumError | undefined {
    if (signal?.aborted) return new KvorumError('CANCELLED', 'aborted before it was sent');
    if (this.#link === undefined) {
      return new KvorumError('PEER_UNREACHABLE', `no connection to ${this.#node}`);
    }
    if (body.length + REQUEST_HEAD_BYTES > limits.frameBytesMax) {
      const text = `${body.length} bytes do not fit the ${limits.frameBytesMax} of a frame`;
      return new KvorumError('TOO_LARGE', `a request to ${this.#node} was not sent: ${text}`);
    }
    if (
      (!parks && this.#unanswered >= this.#settings.requestsMax) ||
      this.#unsent.length >= this.#settings.requestsMax ||
      (this.#unsent.length > 0 && this.#unsentBytes + body.length > this.#settings.queueBytesMax)
    ) {
      return new KvorumError('BUSY', `too many requests to ${this.#node} are unanswered`);
    }
    return undefined;
  }

  #abort(pending: Pending): void {
    this.#cancel(pending);
    const code = pending.sent ? 'OUTCOME_UNKNOWN' : 'CANCELLED';
    this.#fail(pending, code, 'aborted by the caller');
  }

  #lookAt(dueMs: number): void {
    if (dueMs >= this.#looksMs) return;
    this.#stopLooking();
    this.#looksMs = dueMs;
    // timers know whole milliseconds: one that is due in less would not move a clock that nothing else moves
    const delayMs = Math.max(1, Math.ceil(dueMs - this.#clock.monotonicMs()));
    this.#timer = this.#clock.setTimer(delayMs, this.#look);
  }

  #stopLooking(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#looksMs = Number.POSITIVE_INFINITY;
  }

  readonly #look = (): void => {
    this.#stopLooking();
    const nowMs = this.#clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const pending of [...this.#pending.values()]) {
      if (pending.dueMs <= nowMs) this.#expire(pending);
      else nextMs = Math.min(nextMs, pending.dueMs);
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#lookAt(nextMs);
  };

  #expire(pending: Pending): void {
    this.#cancel(pending);
    const code = pending.sent ? 'DEADLINE' : 'PEER_UNREACHABLE';
    this.#fail(pending, code, `no answer from ${this.#node} within ${pending.timeoutMs} ms`);
  }

  #cancel(pending: Pending): void {
    if (!pending.sent) return;
    this.#link?.write((w) => {
      w.begin(channels.request).u8(requestKinds.cancel).varint(pending.id);
      w.end();
    });
  }

  #fail(pending: Pending, code: ErrorCode, text: string): void {
    this.#settle(pending);
    pending.reject(new KvorumError(code, text));
  }

  #settle(pending: Pending): void {
    this.#pending.delete(pending.id);
    pending.unlisten();
    if (pending.parks) return;
    this.#unanswered--;
    this.#unansweredBytes -= pending.body.length;
    if (!pending.sent) return;
    this.#sentBytes -= pending.body.length;
    if (this.#unsent.length > 0) this.#link?.requestFlush();
  }
}

/** A code from the wire; one this version does not know may mean anything. */
export function errorCode(text: string): ErrorCode {
  return Object.hasOwn(errorTable, text) ? (text as ErrorCode) : 'OUTCOME_UNKNOWN';
}
